package scenario_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/redisstore"
	"ratescope/limiter/scenario"
)

func TestVectors(t *testing.T) {
	file, err := os.Open("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := scenario.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 27 {
		t.Fatalf("%d scenarios, want 27", len(all))
	}
	mini := miniredis.RunT(t)
	small := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	t.Cleanup(func() { _ = small.Close() })
	t.Run("memory", func(t *testing.T) { runAll(t, all, nil) })
	t.Run("embedded", func(t *testing.T) { runAll(t, all, small) })
	t.Run("redis", func(t *testing.T) {
		client := servertest.Client(t)
		runAll(t, all, client)
		if left, err := client.Keys(context.Background(), "*").Result(); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
	})
}

func runAll(t *testing.T, all []scenario.Scenario, store redisstore.Client) {
	for _, s := range all {
		r, err := scenario.Run(context.Background(), s, store)
		if err != nil {
			t.Errorf("%s: %v", s.ID, err)
			continue
		}
		kept := s.Algorithm != limiter.SlidingWindow || s.Convention.Alignment != convention.FirstRequest || store == nil
		switch {
		case !kept && r.Status != scenario.NotOnStore:
			t.Errorf("%s: %+v, want not on this store", s.ID, r)
		case kept && r.Status != scenario.Pass:
			t.Errorf("%s: %+v", s.ID, r)
		}
	}
}

// TestMismatch makes sure that a wrong expectation is noticed, in every field.
func TestMismatch(t *testing.T) {
	head := `{"id":"x","algorithm":"sliding-log","limit":1,"window_ms":1000,"steps":[{"t_ms":0},`
	for _, step := range []string{
		`{"t_ms":1,"expect":"allow"}`, `{"t_ms":1,"remaining":1}`, `{"t_ms":1,"count":2}`,
		`{"t_ms":1,"retry_after_ms":998}`, `{"t_ms":1,"reset_after_ms":1000}`, `{"t_ms":1,"retry_after_ms":-1}`,
	} {
		all, err := scenario.Load(strings.NewReader(head + step + "]}"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := scenario.Run(context.Background(), all[0], nil)
		if err != nil || r.Status != scenario.Mismatch || r.Step != 2 || r.Want == "" || r.Got == "" {
			t.Errorf("%s: %+v, %v", step, r, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	ok := `"algorithm":"gcra","limit":1,"window_ms":1000,"steps":[{"t_ms":0}]`
	for _, c := range []struct{ text, says string }{
		{``, "empty"},
		{`[{]`, "line 1 is not JSON"},
		{`{"id":"a",` + ok + `,"limitt":3}`, `scenario a: unknown field "limitt"`},
		{`{"id":"a","algorithm":"gcra","limit":1,"window_ms":1000,"steps":[{"t_ms":0,"expext":"allow"}]}`, `unknown field "expext"`},
		{`{"id":"a","algorithm":"gcra","limit":1,"window_ms":1000,"steps":[{"t_ms":0,"expect":"yes"}]}`, "step 1: expect"},
		{`{"id":"a","algorithm":"gcra","limit":1,"window_ms":1000,"steps":[]}`, "no steps"},
		{`{"id":"a","algorithm":"abacus","limit":1,"window_ms":1000,"steps":[{"t_ms":0}]}`, "unknown algorithm"},
		{`{"id":"a","algorithm":"gcra","limit":-1,"window_ms":1000,"steps":[{"t_ms":0}]}`, "out of range"},
		{`{"id":"a","algorithm":"gcra","limit":1,"window_ms":1000,"convention":{"edge":"open"},"steps":[{"t_ms":0}]}`, "convention edge"},
		{`{"id":"a","algorithm":"gcra","limit":1,"window_ms":1000,"emission_interval_ms":7,"steps":[{"t_ms":0}]}`, "emission_interval_ms"},
		{`[{"id":"a",` + ok + `},{"id":"a",` + ok + `}]`, "used twice"},
		{`[{` + ok + `}]`, "number 1"},
	} {
		_, err := scenario.Load(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
	if all, err := scenario.Load(strings.NewReader(`{"id":"a",` + ok + `,"text":["x"],"goal":{},"traffic":7}`)); err != nil ||
		len(all) != 1 {
		t.Errorf("a lesson: %v, %v", all, err)
	}
}

// TestParseWords: the words of every convention are read back.
func TestParseWords(t *testing.T) {
	for i := range 2 * 2 * 3 * 2 * 2 * 2 * 2 {
		c := limiter.Convention{
			Edge: convention.Edge(i % 2), Alignment: convention.Alignment(i / 2 % 2),
			Rounding: convention.Rounding(i / 4 % 3), Rule: convention.Rule(i / 12 % 2),
			Denied: convention.Denied(i / 24 % 2), Refill: convention.Refill(i / 48 % 2), Block: time.Duration(i/96) * 90 * time.Second,
		}
		if got, err := scenario.ParseWords(scenario.Describe(c)); err != nil || got != c {
			t.Errorf("%+v reads back from %q as %+v, %v", c, scenario.Describe(c), got, err)
		}
	}
	for _, bad := range []string{"closd", "closed,charged", "block", "block -1s", "closed, "} {
		if c, err := scenario.ParseWords(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, c)
		}
	}
}

// TestFileRoundTrip: what NewFile writes is read back as it was.
func TestFileRoundTrip(t *testing.T) {
	for _, words := range []string{"", "closed, charged", "below, block 1.5s", "block 250µs"} {
		want, err := scenario.ParseWords(words)
		if err != nil {
			t.Fatal(err)
		}
		f := scenario.NewFile("a", limiter.GCRA, limiter.Limit{Count: 3, Window: time.Minute, Burst: 2}, want)
		f.Add(time.Second, 1, "allow")
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		all, err := scenario.Load(bytes.NewReader(text))
		if err != nil || len(all) != 1 || all[0].Convention != want || all[0].Limit.Burst != 2 {
			t.Errorf("%q was read back as %+v, %v", words, all, err)
		}
	}
}

// TestMillisRound reads instants that no double holds exactly, which once lost their last
// microsecond: the request at the window's very edge was then still inside it.
func TestMillisRound(t *testing.T) {
	const story = `{"id": "edge", "algorithm": "sliding-log", "limit": 1, "window_ms": 4.35, "convention": {"block_ms": 0},
		"steps": [{"t_ms": 0.001, "expect": "allow"}, {"t_ms": 4.35, "expect": "deny"}, {"t_ms": 4.351, "expect": "allow"},
			{"t_ms": 1e300}]}`
	all, err := scenario.Load(strings.NewReader("[" + story + "]"))
	if err != nil {
		t.Fatal(err)
	}
	s := all[0]
	if s.Limit.Window != 4350*time.Microsecond || s.Steps[2].At != 4351*time.Microsecond || s.Steps[3].At < 100*365*24*time.Hour {
		t.Errorf("window %v, step at %v, the last at %v", s.Limit.Window, s.Steps[2].At, s.Steps[3].At)
	}
	s.Steps = s.Steps[:3]
	if r, err := scenario.Run(context.Background(), s, nil); err != nil || r.Status != scenario.Pass {
		t.Errorf("%+v, %v", r, err)
	}
}
