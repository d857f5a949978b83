package sandbox_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"ratescope/feed/script"
	"ratescope/feed/script/sandbox"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model/bench"
)

// own returns the script by which this program's store decides, as one of a user: it answers by the first
// number of the store's reply.
func own(t *testing.T, a limiter.Algorithm, c limiter.Convention, limit limiter.Limit) sandbox.Script {
	t.Helper()
	words, err := redisstore.Call(a, "alice", limit, 1, redisstore.WithConvention(c), redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(words[2])
	if err != nil {
		t.Fatal(err)
	}
	call, err := script.Parse(words[3:3+n], words[3+n:], ">=1")
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Script{Text: "local function decide()\n" + words[1] + "\nend\nreturn tonumber(string.match(decide(), '^-?%d+'))", Call: call, Limit: limit}
}

// TestOwnScripts: the scripts of this program are named for what they are, without a fault, and a real server
// confirms it.
func TestOwnScripts(t *testing.T) {
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	for _, c := range []struct {
		algorithm limiter.Algorithm
		terms     limiter.Convention
	}{
		{limiter.FixedWindow, limiter.Convention{}},
		{limiter.FixedWindow, limiter.Convention{Alignment: limiter.AlignFirstRequest}},
		{limiter.SlidingLog, limiter.Convention{}},
		{limiter.SlidingLog, limiter.Convention{Edge: limiter.EdgeClosed}},
		{limiter.SlidingWindow, limiter.Convention{}},
		{limiter.SlidingWindow, limiter.Convention{Rounding: limiter.RoundExact}},
		{limiter.StreamCounter, limiter.Convention{}},
		{limiter.GCRA, limiter.Convention{}},
		{limiter.TokenBucket, limiter.Convention{}},
		{limiter.LeakyBucket, limiter.Convention{}},
	} {
		t.Run(c.algorithm.String(), func(t *testing.T) {
			s := own(t, c.algorithm, c.terms, limit)
			here, err := sandbox.New(s)
			if err != nil {
				t.Fatal(err)
			}
			defer here.Close()
			r, err := bench.Check(here, bench.Options{Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			id := r.Identity
			if r.Name() != c.algorithm.String() || !id.Exact || r.Limit.Count != 10 || r.Limit.Window != limit.Window || id.Terms.Edge != c.terms.Edge ||
				id.Terms.Alignment != c.terms.Alignment {
				t.Errorf("%s %+v, limit %+v", r.Name(), id, r.Limit)
			}
			for _, f := range r.Findings { // counters have the beginning of their names in KEYS
				if f.Fault && (f.ID != bench.UndeclaredKey || c.algorithm != limiter.FixedWindow && c.algorithm != limiter.SlidingWindow) {
					t.Errorf("%+v", f)
				}
			}
			there, err := sandbox.NewOn(context.Background(), servertest.Client(t), false, s)
			if err != nil {
				t.Fatal(err)
			}
			defer there.Close()
			if err := r.Confirm(here, there, "it"); err != nil {
				t.Fatal(err)
			}
			if r.Worst.Confirmed != "confirmed on it" {
				t.Errorf("the worst window: %s", r.Worst.Confirmed)
			}
		})
	}
}
