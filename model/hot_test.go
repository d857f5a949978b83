package model

import (
	"math"
	"strconv"
	"testing"
	"time"

	"ratescope/limiter"
)

func known(v float64) Measure { return Measure{Known: true, V: v} }

// TestHottest merges what is read with what is heard: each key once, the largest share of
// anything first, and nothing made of what is not known.
func TestHottest(t *testing.T) {
	at := limiter.Instant(1_795_000_000_000_000)
	var b Board
	batch := Batch{At: at, Server: Server{Link: Live}}
	for i, n := range []int64{60, 6, 0} { // a minute's window: 1, 0.1 and 0 a second
		r := Reading{Key: "k" + strconv.Itoa(i), Type: "zset", At: at, ExactKnown: true,
			Target: Target{Algorithm: limiter.SlidingLog, Window: time.Minute, LimitKnown: true, Limit: limiter.Limit{Count: 100, Window: time.Minute}}}
		if n > 0 {
			r.State = limiter.State{Algorithm: limiter.SlidingLog, Log: []limiter.Entry{{At: at.Add(-time.Second), Count: n}}}
		}
		batch.Readings = append(batch.Readings, r)
	}
	batch.HotKeys = &HotKeys{At: at, Writes: known(10), Missed: known(0.1), Keys: []HotKey{
		{Key: "attacker", Writes: known(5), WritesBy: 1},
		{Key: "k1", CPU: known(0.9), Counter: known(7)},
		{Key: "odd", Writes: known(math.NaN()), Net: known(-3)},
	}}
	b.Apply(batch)
	top := b.Hottest(10)
	var names []string
	for _, h := range top {
		names = append(names, h.Key)
	}
	if got := len(names); got != 5 || names[0] != "k1" || names[1] != "attacker" || names[2] != "k0" {
		t.Fatalf("ranking %v", names)
	}
	if h := top[0]; !h.Watched || math.Abs(h.Rate.V-0.1) > 1e-9 || !h.Counter.Known || h.Share != 1 {
		t.Errorf("what is read and heard of one key: %+v", h)
	}
	if h := top[1]; h.Watched || h.Rate.Known || h.Utilization.Known || h.Share != 0.5 {
		t.Errorf("a key that is not read: %+v", h)
	}
	for _, h := range top {
		if math.IsNaN(h.Share) || h.Share < 0 || h.Share > 1 {
			t.Errorf("%s has the share %v", h.Key, h.Share)
		}
	}
	if len(b.Hottest(2)) != 2 || len(b.Hottest(-1)) != 0 {
		t.Error("n is not heeded")
	}
	b.Apply(Batch{At: at, Server: Server{Link: Live}}) // no news of heat: the old stays
	if len(b.HotKeys.Keys) != 3 {
		t.Error("what was heard is forgotten by a batch without news")
	}
}

// TestLeftOut: a key that is no longer watched leaves the board without a word, for it is
// still on the server; a merge keeps it in if it was read again since.
func TestLeftOut(t *testing.T) {
	at := limiter.Instant(1_795_000_000_000_000)
	var b Board
	first := Batch{At: at, Server: Server{Link: Live}, Sweep: Sweep{Passes: 1}, Readings: []Reading{{Key: "a", At: at}, {Key: "b", At: at}}}
	first.Merge(Batch{At: at, Server: Server{Link: Live}, Sweep: Sweep{Passes: 1}, LeftOut: []string{"a", "b"}})
	if len(first.Readings) != 0 || len(first.LeftOut) != 2 {
		t.Fatalf("%+v", first)
	}
	first.Merge(Batch{At: at, Server: Server{Link: Live}, Sweep: Sweep{Passes: 1}, Readings: []Reading{{Key: "b", At: at}, {Key: "c", At: at}}})
	if len(first.Readings) != 2 || len(first.LeftOut) != 1 || first.LeftOut[0] != "a" {
		t.Fatalf("%+v", first)
	}
	b.Apply(Batch{At: at, Server: Server{Link: Live}, Sweep: Sweep{Passes: 1}, Readings: []Reading{{Key: "a", At: at}}})
	b.Apply(first)
	if b.Key("a") != nil || b.Key("b") == nil || len(b.Alerts()) != 2 { // b and c appeared
		t.Errorf("a: %v, alerts %+v", b.Key("a"), b.Alerts())
	}
}
