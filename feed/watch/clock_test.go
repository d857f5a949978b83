package watch

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestClock: however slow and lopsided the ways are, the true offset lies within the
// uncertainty of the estimate, which is that of the fastest round trip.
func TestClock(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, truth := range []time.Duration{0, 1234567 * time.Microsecond, -40 * time.Second} {
		var c clock
		if c.uncertainty() != 0 {
			t.Errorf("the uncertainty before the first answer is %v, want 0", c.uncertainty())
		}
		at := time.Unix(1_795_000_000, 0)
		for range 500 {
			there, back := time.Duration(r.IntN(30_000))*time.Microsecond, time.Duration(r.IntN(30_000))*time.Microsecond
			answer := at.Add(there).Add(truth)
			c.observe(at, at.Add(there+back), answer, answer, true)
			if off := (c.offset - truth).Abs(); off > c.uncertainty()+time.Microsecond {
				t.Fatalf("the offset is %v off, and %v is said", off, c.uncertainty())
			}
			at = at.Add(10 * time.Millisecond) // all within boundsLast
		}
		if c.uncertainty() > 3*time.Millisecond {
			t.Errorf("after 500 round trips of 0 to 60 ms the uncertainty is %v", c.uncertainty())
		}
	}
}

// TestALinkThatBecomesSlowLeavesTheClock: where only the way back becomes longer, fast round trips of before say more
// of the two clocks than slow ones of now.
func TestALinkThatBecomesSlowLeavesTheClock(t *testing.T) {
	var c clock
	at := time.Unix(1_795_000_000, 0)
	for _, way := range []time.Duration{5 * time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond} {
		for begun := at; at.Sub(begun) < 2*time.Minute; at = at.Add(way + 200*time.Millisecond) {
			c.observe(at, at.Add(way), at, at, true)
		}
		if c.offset.Abs() > 5*time.Millisecond || c.uncertainty() > 100*time.Millisecond {
			t.Errorf("after two minutes at %v the clock is said to be off by %v ±%v", way, c.offset, c.uncertainty())
		}
	}
}

// TestRTTFollowsTheWay: two slow answers in a row are the round trip, one alone is not, however long the
// pipelines are; and what lies between the first TIME and the last is no part of it.
func TestRTTFollowsTheWay(t *testing.T) {
	var c clock
	at := time.Unix(1_795_000_000, 0)
	look := func(way, server time.Duration) {
		first := at.Add(way / 2)
		c.observe(at, at.Add(way+server), first, first.Add(server), true)
		at = at.Add(way + server + 50*time.Millisecond)
	}
	for range 40 {
		look(20*time.Millisecond, 300*time.Millisecond)
	}
	if got := c.rtt(); got != 20*time.Millisecond {
		t.Fatalf("the round trip is %v, want 20ms", got)
	}
	look(1500*time.Millisecond, 0)
	if got := c.rtt(); got != 20*time.Millisecond {
		t.Errorf("after one slow answer the round trip is %v", got)
	}
	if got := c.bound(); got != 750*time.Millisecond {
		t.Errorf("after one slow answer, the next ones are waited for as if the round trip were %v", got)
	}
	look(1500*time.Millisecond, 0)
	look(1500*time.Millisecond, 0)
	if got := c.rtt(); got != 1500*time.Millisecond {
		t.Errorf("after three slow answers the round trip is %v", got)
	}
}

// TestClockThatIsSet: an hour forth and an hour back are followed by the next answer.
func TestClockThatIsSet(t *testing.T) {
	var c clock
	at, truth := time.Unix(1_795_000_000, 0), time.Duration(0)
	look := func() {
		there := at.Add(5 * time.Millisecond).Add(truth)
		c.observe(at, at.Add(10*time.Millisecond), there, there, true)
		at = at.Add(100 * time.Millisecond)
	}
	for _, truth = range []time.Duration{0, time.Hour, 0, -time.Hour} {
		before := c.offset
		if look(); (c.offset - truth).Abs() > c.uncertainty() {
			t.Errorf("the clock is %v ahead, and %v is said, %v at most off", truth, c.offset, c.uncertainty())
		}
		want := ""
		if truth > before+time.Minute {
			want = "the server's clock was set forward by 1 h 00 m: windows and expiries go by it"
		} else if truth < before-time.Minute {
			want = "the server's clock was set back by 1 h 00 m: windows and expiries go by it"
		}
		if got := c.lack(at); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	if got := c.lack(at.Add(jumpShown)); got != "" {
		t.Errorf("later it still says %q", got)
	}
}
