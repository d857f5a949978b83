package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"ratescope/feed/script"
	"ratescope/feed/script/sandbox"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
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
	t.Parallel()
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	for _, c := range []struct {
		algorithm limiter.Algorithm
		terms     limiter.Convention
	}{
		{limiter.FixedWindow, limiter.Convention{}},
		{limiter.FixedWindow, limiter.Convention{Alignment: convention.FirstRequest}},
		{limiter.SlidingLog, limiter.Convention{}},
		{limiter.SlidingLog, limiter.Convention{Edge: convention.Closed}},
		{limiter.SlidingWindow, limiter.Convention{}},
		{limiter.SlidingWindow, limiter.Convention{Rounding: convention.Exact}},
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
			if !r.OK() {
				t.Errorf("%+v", r.Findings)
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

// TestAStageRunsForSeveralScreens: screens that run scripts at the same time get each its own commands.
func TestAStageRunsForSeveralScreens(t *testing.T) {
	var on sandbox.Stage
	defer on.Close()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 20 {
				text := fmt.Sprintf("redis.call('INCRBY', KEYS[1], %d) return redis.call('GET', KEYS[1])", n+i)
				ran, err := on.Run(2_000_000_000_000_000, [][]string{{"SET", "k", "100"}}, []string{"EVAL", text, "1", "k"})
				if want := fmt.Sprint(100 + n + i); err != nil || len(ran) != 2 || ran[1].Answer != want || ran[1].Line != 1 {
					t.Errorf("%+v %v, want %s", ran, err, want)
				}
			}
		})
	}
	all.Wait()
	for _, words := range [][]string{nil, {"EVAL", "return 1", "2", "k"}, {"EVAL", "no Lua", "0"}} {
		if _, err := on.Run(1, nil, words); err == nil {
			t.Errorf("%q is run", words)
		}
	}
}

// TestNumbersAreRead: a text that Redis's interpreter reads as a number is one here.
func TestNumbersAreRead(t *testing.T) {
	s, err := sandbox.New(sandbox.Script{Text: "return tonumber('1e-06') == 0.000001 and tonumber('10', 2) == 2 and tonumber(' 5 ') == 5 and " +
		"tonumber(7) == 7 and not tonumber('x') and not tonumber('') and tonumber('-1.5') == -1.5 and 1 or 0", Call: script.Default})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if a := s.Admit(1e15, 1); a.Err != nil || !a.Admitted {
		t.Errorf("%+v", a)
	}
}

// TestManyStepsAreNoFault: how long a script may run is counted in its steps: a loop of a million is carried out, and one without an end is
// stopped, also where the script catches its errors.
func TestManyStepsAreNoFault(t *testing.T) {
	t.Parallel()
	for text, ends := range map[string]bool{
		"local n = 0 for i = 1, 1000000 do n = n + i end return 1": true,
		"while true do end": false,
		"while true do pcall(function() while true do end end) end": false,
		"local function f() return f() end return f()":              false,
	} {
		s, err := sandbox.New(sandbox.Script{Text: text, Call: script.Default})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if a := s.Admit(1e15, 1); errors.Is(a.Err, bench.ErrEndless) == ends {
			t.Errorf("%s: %v", text, a.Err)
		}
	}
}
