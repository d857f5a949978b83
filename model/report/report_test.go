package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/exp/golden"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// at is 15 s into a minute, in the middle of a millisecond.
var at = limiter.Instant(1_800_000_015_000_250)

func target(a limiter.Algorithm, n int64, w time.Duration) model.Target {
	return model.Target{Algorithm: a, Limit: limiter.Limit{Count: n, Window: w}, LimitKnown: true, Window: w}
}

// shop is a batch with one key of each kind.
func shop() model.Batch {
	counter := model.Reading{
		Key: "rl:login:alice", Type: "string", At: at, PreviousKnown: true, TTL: 105 * time.Second,
		Target: target(limiter.SlidingWindow, 50, time.Minute),
		State:  limiter.State{Algorithm: limiter.SlidingWindow, Start: at.Floor(time.Minute), Previous: 42, Current: 18},
		Denied: model.Count{Known: true, N: 7},
	}
	log := model.Reading{
		Key: "rl:api:bob", Type: "zset", At: at, PreviousKnown: true, ExactKnown: true, TTL: model.Forever,
		Target: target(limiter.SlidingLog, 3, 10*time.Second),
		State: limiter.State{Algorithm: limiter.SlidingLog, Log: []limiter.Entry{
			{At: at.Add(-14 * time.Second), Count: 1}, {At: at.Add(-8 * time.Second), Count: 1},
			{At: at.Add(-2*time.Second - 500*time.Microsecond), Count: 2},
		}},
		Notes: []model.Note{model.NoExpiry},
	}
	fixed := model.Reading{
		Key: "rl:export", Type: "string", At: at, TTL: 45 * time.Second,
		Target: target(limiter.FixedWindow, 100, time.Minute),
		State:  limiter.State{Algorithm: limiter.FixedWindow, Start: at.Floor(time.Minute), Current: 25},
	}
	unknown := model.Reading{
		Key: "events", Type: "stream", At: at, TTL: 30 * time.Second,
		Target: model.Target{Algorithm: limiter.StreamCounter, Inferred: true},
		Notes:  []model.Note{model.UnknownLimit, model.UnknownWindow},
	}
	absent := model.Reading{
		Key: "rl:new", Type: "none", At: at, PreviousKnown: true, ExactKnown: true,
		Target: target(limiter.SlidingLog, 10, time.Second),
		State:  limiter.State{Algorithm: limiter.SlidingLog},
	}
	wrong := model.Reading{
		Key: "rl:list\x1b[31m\xff限", Type: "list", At: at, TTL: model.Forever,
		Target: target(limiter.SlidingLog, 10, time.Second),
		Err:    "it is a list and the rule says sliding-log, which is a zset", Notes: []model.Note{model.WrongType},
	}
	return model.Batch{
		At:       at,
		Server:   model.Server{Target: "redis://localhost:6379", Link: model.Live},
		Readings: []model.Reading{counter, wrong, log, fixed, unknown, absent},
	}
}

func TestSnapshot(t *testing.T) {
	s := report.SnapshotOf(shop(), report.Options{})
	for name, print := range map[string]func(*bytes.Buffer) error{
		"json":  func(b *bytes.Buffer) error { return report.WriteJSON(b, s) },
		"table": func(b *bytes.Buffer) error { b.WriteString(s.String()); return nil },
		"masked": func(b *bytes.Buffer) error {
			b.WriteString(report.SnapshotOf(shop(), report.Options{Mask: true}).String())
			return nil
		},
		"empty": func(b *bytes.Buffer) error {
			return report.WriteJSON(b, report.SnapshotOf(model.Batch{At: at}, report.Options{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := print(&b); err != nil {
				t.Fatal(err)
			}
			golden.RequireEqual(t, b.Bytes())
		})
	}
}

// TestSnapshotOfASample: where of very many keys that are likely limiters only some were looked at, the
// number of the others is given, and a list of the likely ones is not complete.
func TestSnapshotOfASample(t *testing.T) {
	b := model.Batch{At: at, Sweep: model.Sweep{Passes: 1, Keys: 20_000, Total: 20_000, Skipped: 15_000, Sampled: 12_000}}
	for _, likely := range []bool{false, true} {
		if got := report.SnapshotOf(b, report.Options{Likely: likely}).Seen; got.Sampled != 12_000 || got.Complete == likely {
			t.Errorf("with likely ones %v: %+v", likely, got)
		}
	}
}

func TestPeek(t *testing.T) {
	readings := shop().Readings
	countOnly := readings[2]
	countOnly.Target.Limit.Count = 0
	busy := readings[0]
	busy.Target = target(limiter.SlidingWindow, 20_000, 10*time.Second)
	busy.State = limiter.State{Algorithm: limiter.SlidingWindow, Start: at.Add(-340 * time.Millisecond), Previous: 19_300, Current: 700}
	burst := model.Reading{
		Key: "rl:burst", Type: "string", At: at, TTL: model.Forever,
		Target: target(limiter.GCRA, 10, time.Minute),
		State:  limiter.State{Algorithm: limiter.GCRA, TAT: at.Add(18 * time.Second)},
	}
	burst.Target.Limit.Burst = 3
	noAlgorithm := readings[4]
	noAlgorithm.Target = target(limiter.Unknown, 5, time.Second)
	for _, tc := range []struct {
		name    string
		reading model.Reading
		allowed any
	}{
		{"admitted", readings[0], true},
		{"denied", readings[2], false},
		{"unknown", readings[4], nil},
		{"no-algorithm", noAlgorithm, nil},
		{"absent", readings[5], true},
		{"count-only", countOnly, true},
		{"busy", busy, true},
		{"burst", burst, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := report.PeekOf(&tc.reading, at, 1, report.Options{})
			var raw bytes.Buffer
			golden.RequireEqual(t, p.String())
			if err := report.WriteJSON(&raw, p); err != nil {
				t.Fatal(err)
			}
			var object map[string]any
			if err := json.Unmarshal(raw.Bytes(), &object); err != nil {
				t.Fatal(err)
			}
			if got, present := object["allowed"]; !present || got != tc.allowed {
				t.Errorf("allowed is %v, want %v in %s", got, tc.allowed, raw.String())
			}
			if object["key"] != tc.reading.Key {
				t.Errorf("the key's own fields are not beside allowed: %s", raw.String())
			}
		})
	}
}

func TestColumns(t *testing.T) {
	c := report.NewColumns("name", ">n")
	c.Add("限流", "1")
	c.Add("a", "1000")
	c.Add("lonely")
	want := "name       n\n限流       1\na       1000\nlonely\n"
	if got := c.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNotANumberIsNull(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := report.Finite(true, f); got != nil {
			t.Errorf("%v has the JSON number %v", f, *got)
		}
	}
}

// FuzzSnapshot holds both forms to what the package promises, whatever a server says.
func FuzzSnapshot(f *testing.F) {
	f.Add("rl:a", "zset", "", int64(100), int64(60_000), int64(3), int64(-1))
	f.Add("\x1b]0;t\x07\xff\u202e", "none", "bad \x1b[31m", int64(0), int64(0), int64(0), int64(0))
	f.Add("a\nb", "str\ning", "x", int64(math.MaxInt64), int64(1), int64(math.MaxInt64), int64(1))
	f.Add(strings.Repeat("👩\u200d💻", 300), "list", "", int64(-1), int64(math.MaxInt32), int64(-5), int64(7))
	f.Fuzz(func(t *testing.T, name, kind, trouble string, limit, windowMS, used, ttlMS int64) {
		w := time.Duration(windowMS%math.MaxInt32) * time.Millisecond
		b := model.Batch{At: at, Server: model.Server{Target: name}}
		for _, a := range append(limiter.Algorithms(), limiter.Unknown) {
			b.Readings = append(b.Readings, model.Reading{
				Key: name + a.String(), Type: kind, At: at, Err: trouble, TTL: time.Duration(ttlMS%math.MaxInt32) * time.Millisecond,
				Target: model.Target{Algorithm: a, Limit: limiter.Limit{Count: limit, Window: w}, LimitKnown: limit >= 0, Window: w},
				State: limiter.State{Algorithm: a, Start: at.Floor(w), Previous: used, Current: used,
					Log: []limiter.Entry{{At: at.Add(-w / 2), Count: used}}},
				PreviousKnown: true, ExactKnown: used%2 == 0,
			})
		}
		s := report.SnapshotOf(b, report.Options{})
		var raw bytes.Buffer
		if err := report.WriteJSON(&raw, s); err != nil {
			t.Fatal(err)
		}
		table := s.String()
		harmless(t, raw.String())
		harmless(t, table)
		if n := strings.Count(table, "\n"); n != len(b.Readings)+3 {
			t.Fatalf("%d keys make a table of %d lines:\n%s", len(b.Readings), n, table)
		}
		var back struct{ Keys []struct{ Key string } }
		if err := json.Unmarshal(raw.Bytes(), &back); err != nil {
			t.Fatalf("%v in %s", err, raw.String())
		}
		for i, k := range back.Keys {
			if want := string(s.Keys[i].Key); utf8.ValidString(want) && k.Key != want {
				t.Fatalf("the key %q came back as %q", want, k.Key)
			}
		}
	})
}

// harmless fails for text that a terminal would not just print.
func harmless(t *testing.T, s string) {
	t.Helper()
	for _, line := range strings.Split(s, "\n") {
		if got := strings.ReplaceAll(safetext.Clean(line), `\\`, `\`); got != line {
			t.Fatalf("a terminal would obey or hide something in %q", line)
		}
	}
}

// TestMembersHoldTheKey: the members of a limiter name its key too, also where it is kept in other keys.
func TestMembersHoldTheKey(t *testing.T) {
	for want, members := range map[string][]string{
		"rl:a": nil, "rl:a rl:a:block": {"rl:a", "rl:a:block"}, "rl:a {rl:a}:sw:0 {rl:a}:sw:60000": {"{rl:a}:sw:0", "{rl:a}:sw:60000"},
	} {
		k := report.KeyOf(&model.Reading{Key: "rl:a", Members: members}, at, report.Options{})
		var got []string
		for _, m := range k.Members {
			got = append(got, string(m))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("members are %q, want %q", got, want)
		}
	}
}
