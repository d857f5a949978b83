package model_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

func TestOrderCheck(t *testing.T) {
	recorded := func(at int, rate float64) model.Order {
		return model.Order{N: at, Cost: 1, Rate: rate, Shape: model.Shape{Kind: model.Recorded, At: make([]time.Duration, at)}}
	}
	for _, tc := range []struct {
		name  string
		order model.Order
		ok    bool
	}{
		{"one", model.Order{N: 1, Cost: 1}, true},
		{"as many as there may be", model.Order{N: model.MaxRequests, Cost: 7, Rate: model.MaxRate}, true},
		{"a rate until stopped", model.Order{Cost: 1, Rate: 5}, true},
		{"none at all", model.Order{Cost: 1}, false},
		{"too many", model.Order{N: model.MaxRequests + 1, Cost: 1}, false},
		{"negative", model.Order{N: -1, Cost: 1, Rate: 1}, false},
		{"without cost", model.Order{N: 1}, false},
		{"too fast", model.Order{N: 1, Cost: 1, Rate: model.MaxRate + 0.5}, false},
		{"backwards", model.Order{N: 1, Cost: 1, Rate: -1}, false},
		{"no number", model.Order{N: 1, Cost: 1, Rate: math.NaN()}, false},
		{"recorded", recorded(model.MaxRate, 0), true},
		{"recorded, too fast", recorded(model.MaxRate+1, 0), false},
		{"recorded, and a rate", recorded(2, 5), false},
		{"recorded, and a number", model.Order{N: 5, Cost: 1, Shape: model.Shape{Kind: model.Recorded}}, false},
	} {
		if err := tc.order.Check(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestParseRate(t *testing.T) {
	for in, want := range map[string]float64{"5/s": 5, "10/500ms": 20, "90/1m": 1.5} {
		if got, err := model.ParseRate(in); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "5", "0/s", "-1/s", "fast/s", "5/0s"} {
		if got, err := model.ParseRate(in); err == nil {
			t.Errorf("%q is %v", in, got)
		}
	}
}

func TestAim(t *testing.T) {
	limit := limiter.Limit{Count: 5, Window: time.Minute}
	known := model.Target{Algorithm: limiter.StreamCounter, Limit: limit, LimitKnown: true, Window: time.Minute}
	auto := known
	auto.Algorithm = limiter.Unknown
	noWindow := known
	noWindow.Window = 0
	otherWindow := known
	otherWindow.Window = time.Hour
	foreign, single := known, known
	foreign.Algorithm, foreign.Layout.Unit = limiter.GCRA, time.Second
	single.Algorithm, single.Convention.Alignment = limiter.FixedWindow, convention.FirstRequest
	for _, tc := range []struct {
		name    string
		reading model.Reading
		want    limiter.Algorithm
		window  time.Duration
	}{
		{"as the rule says", model.Reading{Type: "stream", Target: known}, limiter.StreamCounter, time.Minute},
		{"a new key", model.Reading{Type: "none", Target: auto}, limiter.SlidingLog, time.Minute},
		{"a new key with a rule", model.Reading{Type: "none", Target: known}, limiter.StreamCounter, time.Minute},
		{"the limit's window", model.Reading{Type: "stream", Target: noWindow}, limiter.StreamCounter, time.Minute},
		{"the key's window", model.Reading{Type: "stream", Target: otherWindow}, limiter.StreamCounter, time.Hour},
		{"not told", model.Reading{Type: "string", Target: auto}, limiter.Unknown, 0},
		{"without limit", model.Reading{Type: "stream"}, limiter.Unknown, 0},
		{"scores that are no times", model.Reading{Type: "zset", Target: known, Notes: []model.Note{model.GarbageScore}}, limiter.Unknown, 0},
		{"a TAT of another program", model.Reading{Type: "string", Target: foreign}, limiter.Unknown, 0},
		{"a counter that never ends", model.Reading{Type: "string", Target: single, Notes: []model.Note{model.NoExpiry}}, limiter.Unknown, 0},
		{"a counter that ends", model.Reading{Type: "string", Target: single}, limiter.FixedWindow, time.Minute},
		{"a log that never ends", model.Reading{Type: "stream", Target: known, Notes: []model.Note{model.NoExpiry}}, limiter.StreamCounter, time.Minute},
		{"unreadable", model.Reading{Type: "list", Target: known, Err: "it is a list"}, limiter.Unknown, 0},
	} {
		target, err := tc.reading.Aim()
		if (err == nil) != (tc.want != limiter.Unknown) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err == nil && (target.Algorithm != tc.want || target.Window != tc.window || target.Limit.Window != tc.window) {
			t.Errorf("%s: %+v", tc.name, target)
		}
	}
}

// TestAimAtOthers refuses keys that other programs keep with the reason, whether the limit is known
// or not, and what is only likely, as a queue's sorted set of times.
func TestAimAtOthers(t *testing.T) {
	for library, why := range map[string]string{
		"apisix":   "what is left",
		"redisson": "packed permits", "bucket4j": "serialized", "bullmq": "a queue", "rate-limit-redis": "not known exactly",
	} {
		for _, limit := range []bool{true, false} {
			r := model.Reading{Type: "string", Target: model.Target{
				Algorithm: limiter.TokenBucket, Library: library, Evidence: model.Known, LimitKnown: limit,
				Limit: limiter.Limit{Count: 5, Window: time.Minute}, Window: time.Minute,
			}}
			if _, err := r.Aim(); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), library) {
				t.Errorf("%s, its limit known: %v: %v", library, limit, err)
			}
		}
	}
	retry := model.Reading{Type: "zset", Target: model.Target{Algorithm: limiter.SlidingLog, Evidence: model.Likely, LimitKnown: true, Limit: limiter.Limit{Count: 5, Window: time.Minute}, Window: time.Minute}}
	if _, err := retry.Aim(); err == nil || !strings.Contains(err.Error(), "nothing but the form of its value") {
		t.Errorf("Sidekiq's retry set: %v", err)
	}
}

// TestAimAtASerializedCount refuses to count up what INCRBY would not, and names the script that is missing.
func TestAimAtASerializedCount(t *testing.T) {
	r := model.Reading{Key: "njs:rl:alice", Type: "string", TTL: time.Minute, Target: model.Target{
		Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 6, Window: 30 * time.Second}, LimitKnown: true,
		Window: 30 * time.Second, Described: true, Script: &model.Script{Plain: "INCRBY"},
	}}
	if _, err := r.Aim(); err != nil {
		t.Errorf("a plain count: %v", err)
	}
	for change, why := range map[model.Change]string{{Kind: model.Free}: "", {Kind: model.Give, Units: 1}: "how its program changes its keys"} {
		if _, err := r.AimChange(change); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", change, err, why)
		}
	}
	r.Target.Script = nil
	if _, err := r.AimChange(model.Change{Kind: model.Free}); err == nil || strings.Contains(err.Error(), "script") {
		t.Errorf("a change does not need a script: %v", err)
	}
	r.Target.Script = &model.Script{Plain: "INCRBY"}
	r.Notes = []model.Note{model.Serialized}
	if _, err := r.Aim(); err == nil || !strings.Contains(err.Error(), "script: {file") {
		t.Errorf("one with its type: %v", err)
	}
}
