package track

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// TestABurstIsCountedBeforeItLeaks: a burst into an empty bucket counts in full at the next
// reading, though some of it leaked by then. GCRA keeps no time of the burst, so that what has
// leaked is missing: its rate is a lower bound.
func TestABurstIsCountedBeforeItLeaks(t *testing.T) {
	limit := limiter.Limit{Count: 100, Window: time.Minute} // 0.6 s a unit
	for algorithm, want := range map[limiter.Algorithm]int64{limiter.TokenBucket: 5, limiter.LeakyBucket: 5, limiter.GCRA: 3} {
		l := New("k", nil, false, nil)
		l.aim.target.Algorithm, l.aim.target.Limit, l.aim.target.Window, l.aim.target.LimitKnown = algorithm, limit, limit.Window, true
		state := limiter.State{Algorithm: algorithm}
		state.Take(noon, limit, l.aim.target.Convention, 1)
		b := &valueDecoder{last: state.Clone(), known: true}
		l.since = noon.Add(10 * time.Second)
		for range 5 {
			state.Take(noon.Add(11*time.Second), limit, l.aim.target.Convention, 1)
		}
		got := int64(0)
		for _, a := range b.rise(noon.Add(12500*time.Millisecond), l, state) {
			got += a.N
		}
		if got != want {
			t.Errorf("%s: a burst of 5 counts as %d 1.5 s later, want %d", algorithm, got, want)
		}
	}
}

// TestABusyBucketIsCountedToTheUnit, also where a unit takes no whole number of microseconds to come back.
func TestABusyBucketIsCountedToTheUnit(t *testing.T) {
	limit := limiter.Limit{Count: 12, Window: 4 * time.Second} // 1/3 s a unit
	for _, algorithm := range []limiter.Algorithm{limiter.TokenBucket, limiter.LeakyBucket, limiter.GCRA} {
		l := New("k", nil, false, nil)
		l.aim.target.Algorithm, l.aim.target.Limit, l.aim.target.Window, l.aim.target.LimitKnown = algorithm, limit, limit.Window, true
		state := limiter.State{Algorithm: algorithm}
		state.Take(noon, limit, l.aim.target.Convention, 6)
		b := &valueDecoder{last: state.Clone(), known: true}
		l.since = noon
		var got, want int64
		for i := range 60 {
			at := noon.Add(time.Duration(1+i) * 217 * time.Millisecond)
			before := state.Clone()
			if n := int64(1 + i%2); i%3 > 0 && state.Take(at, limit, l.aim.target.Convention, n).Allowed {
				want += n
			} else {
				state = before
			}
			for _, a := range b.rise(at.Add(100*time.Millisecond), l, state) {
				got += a.N
			}
			b.last = state.Clone()
		}
		if got != want || want < 30 {
			t.Errorf("%s: %d units are counted of %d", algorithm, got, want)
		}
	}
}

// lookAt gives a tracker of one counter with an expiry its next reading, without a server.
func lookAt(t *testing.T, l *Tracker, now limiter.Instant, n int64, ttl time.Duration) model.Reading {
	t.Helper()
	return lookWith(t, l, now, n, ttl, nil)
}

// lookWith is lookAt with what was learned of other limiters.
func lookWith(t *testing.T, l *Tracker, now limiter.Instant, n int64, ttl time.Duration, learned *Engine) model.Reading {
	t.Helper()
	client := redis.NewClient(&redis.Options{}) // which connects when a pipeline is sent, and none is
	defer client.Close()
	p := client.Pipeline()
	for range 2 {
		l.Ask(&Query{Ctx: t.Context(), Pipe: p, Now: now, Inferred: learned})
		for _, c := range p.Cmds() {
			switch c := c.(type) {
			case *redis.StringCmd:
				c.SetVal(strconv.FormatInt(n, 10))
			case *redis.DurationCmd:
				c.SetVal(ttl)
			}
		}
		r, outcome, err := l.Take(now, 0)
		if err == nil && outcome == Ready {
			return r
		} else if err != nil || outcome != Again { // for what stands beside a counter that has reached its limit
			t.Fatalf("%v, %v", outcome, err)
		}
	}
	t.Fatal("it is asked a third time")
	return model.Reading{}
}

// TestCounterBeginsAnew: every request is told once of a counter whose window began with its
// first one, also where its owner sets the expiry anew with every request, or where the
// server was interrupted between the answers about the expiry and the time.
func TestCounterBeginsAnew(t *testing.T) {
	const w = time.Minute
	l := New("k", nil, false, nil)
	l.Attach(decode.Found{Key: "k", Name: "k", Type: "string", Kind: decode.Single})
	lookAt(t, l, noon, 3, w)
	for _, c := range []struct {
		what     string
		after    time.Duration // noon
		n        int64
		ttl      time.Duration
		reported int64
	}{
		{"one more", 10 * time.Second, 4, 50 * time.Second, 1},
		{"interrupted for 300 ms before TIME", 20*time.Second + 300*time.Millisecond, 5, 40 * time.Second, 1},
		{"nothing more", 21 * time.Second, 5, 39 * time.Second, 0},
		{"one more, with the expiry set anew", 30 * time.Second, 6, w, 1},
		{"two more, likewise", 50 * time.Second, 8, w, 2},
		{"deleted and begun again with fewer", 55 * time.Second, 2, w, 2},
		{"expired, and begun again with more", 116 * time.Second, 5, w - time.Second, 5},
	} {
		var reported int64
		for _, a := range lookAt(t, l, noon.Add(c.after), c.n, c.ttl).Arrivals {
			reported += a.N
		}
		if reported != c.reported {
			t.Errorf("%s: %d units told, want %d", c.what, reported, c.reported)
		}
	}
}

// TestCountedAtTheLimit: what a counter counts at its limit was denied, and after that the units above the limit are those that
// were. Before, nothing says whether a request that passed the limit was admitted, as one of a high cost may be.
func TestCountedAtTheLimit(t *testing.T) {
	const w = time.Minute
	rule := config.Rule{Match: "k*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 5, Window: w}, LimitKnown: true}
	l := New("k", &rule, false, nil)
	l.Attach(decode.Found{Key: "k", Name: "k", Type: "string", Kind: decode.Single})
	for _, c := range []struct {
		after            time.Duration // noon
		n                int64
		ttl              time.Duration
		admitted, denied int64 // arrivals
		known            bool
	}{
		{0, 3, w, 0, 0, false},
		{time.Second, 6, w - time.Second, 3, 0, false},
		{2 * time.Second, 6, w - 2*time.Second, 0, 0, false},
		{3 * time.Second, 8, w - 3*time.Second, 0, 2, true},
		{4 * time.Second, 8, w - 4*time.Second, 0, 0, true},
		{70 * time.Second, 4, w - 9*time.Second, 4, 0, true},
		{71 * time.Second, 9, w - 10*time.Second, 1, 4, true},
	} {
		r := lookAt(t, l, noon.Add(c.after), c.n, c.ttl)
		came := map[bool]int64{}
		for _, a := range r.Arrivals {
			came[a.Denied] += a.N
		}
		if want := (model.Count{Known: c.known, N: max(c.n-5, 0)}); came[false] != c.admitted || came[true] != c.denied ||
			r.Denied.Known != c.known || c.known && r.Denied != want {
			t.Errorf("after %v: admitted %d and denied %d arrived, %v denied; want %d, %d, %v", c.after, came[false], came[true], r.Denied,
				c.admitted, c.denied, want)
		}
	}
}

// TestRateOfARenewedCounter: how fast a counter fills is not known by its expiry where requests set that anew.
func TestRateOfARenewedCounter(t *testing.T) {
	const w = 10 * time.Second
	rule := config.Rule{Match: "k*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 5, Window: w}, LimitKnown: true}
	l := New("k", &rule, false, nil)
	l.Attach(decode.Found{Key: "k", Name: "k", Type: "string", Kind: decode.Single})
	for i, c := range []struct {
		after time.Duration // noon
		n     int64
		ttl   time.Duration
		known bool
	}{
		{time.Second, 1, 9 * time.Second, true},
		{1300 * time.Millisecond, 2, 9 * time.Second, true}, // a pause would look so
		{2 * time.Second, 3, w, false},
		{3 * time.Second, 3, 9 * time.Second, false},
		{13 * time.Second, 1, 9500 * time.Millisecond, true}, // a new window
	} {
		r := lookAt(t, l, noon.Add(c.after), c.n, c.ttl)
		if g := r.Gauge(r.At); g.RateKnown != c.known {
			t.Errorf("reading %d: the rate is %g, known %t, want %t", i, g.Rate, g.RateKnown, c.known)
		}
	}
}

// TestNoFigureBeforeItsNeighboursAreKnown: of counters that are read at once one asks whether this user may look beside them, and the
// others have no figures before the answer. A key that cannot be read gives none, so that another asks.
func TestNoFigureBeforeItsNeighboursAreKnown(t *testing.T) {
	client := redis.NewClient(&redis.Options{}) // which connects when a pipeline is sent, and none is
	defer client.Close()
	access := &Access{}
	ask := func(l *Tracker, err error) {
		p := client.Pipeline()
		l.Ask(&Query{Ctx: t.Context(), Pipe: p, Now: noon, Beside: access})
		for _, cmd := range p.Cmds() {
			switch cmd := cmd.(type) {
			case *redis.StringCmd:
				cmd.SetVal("3")
			case *redis.DurationCmd:
				cmd.SetVal(10 * time.Second)
			}
			cmd.SetErr(err)
		}
	}
	unreadable, first, second := toldByMatch("rl:0"), toldByMatch("rl:1"), toldByMatch("rl:2")
	ask(unreadable, refusal("NOPERM this user has no permissions to access one of the keys used as arguments"))
	ask(first, nil)
	ask(second, nil)
	for i, step := range []struct {
		l    *Tracker
		want Outcome
	}{{unreadable, Ready}, {first, Again}, {second, Again}, {first, Ready}, {second, Ready}} {
		if i >= 3 { // as a round does
			ask(step.l, nil)
		}
		if r, got, err := step.l.Take(noon, 0); err != nil || got != step.want {
			t.Errorf("step %d: %v, want %v, %v: %+v", i+1, got, step.want, err, r.Gauge(noon).Used)
		}
	}
}

// TestTooFewFields: a bucket of which a server answers with too few values cannot be read.
func TestTooFewFields(t *testing.T) {
	for _, values := range [][]any{nil, {"1"}} {
		b, l := &valueDecoder{pair: redis.NewSliceCmd(t.Context())}, New("k", nil, false, nil)
		b.pair.SetVal(values)
		if err := b.readHash(time.Minute, l, &limiter.State{}); err != nil || l.look.wrong == "" {
			t.Errorf("%v: %v", values, err)
		}
	}
}
