package track_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/feed/track"
	"ratescope/limiter"
	"ratescope/model"
)

// TestLogLimits infers the limits of logs that deny, and none of logs that deny nothing, or count what is denied.
func TestLogLimits(t *testing.T) {
	const window = 20 * time.Second
	random := rand.New(rand.NewPCG(11, 11))
	demand := map[string]func(i int, tick int) bool{
		"at random":      func(i, _ int) bool { return random.IntN(3+i) == 0 },
		"in bursts":      func(i, tick int) bool { return tick%(40+7*i) < 12 },
		"at one pace":    func(_, tick int) bool { return tick%8 == 0 },
		"by the page":    func(i, tick int) bool { return (tick+31*i)%90 < 5 },
		"by two at once": func(i, tick int) bool { return random.IntN(9+i) == 0 },
	}
	for _, c := range []struct {
		demand  string
		limit   int64
		charged bool
		sure    bool
	}{
		{"at random", 5, false, true}, {"at random", 12, false, true}, {"at random", 1 << 40, false, false}, {"at random", 12, true, false},
		{"in bursts", 1 << 40, false, false}, {"at one pace", 1 << 40, false, false}, {"by the page", 1 << 40, false, false},
		{"by two at once", 7, false, true}, {"by two at once", 1 << 40, false, false},
	} {
		var e track.Engine
		logs := make([][]limiter.Entry, 6)
		for tick := range 3000 { // ten minutes
			now := start.Add(time.Duration(tick) * 200 * time.Millisecond)
			for i := range logs {
				if demand[c.demand](i, tick) {
					at := now.Add(-time.Duration(random.IntN(200)) * time.Millisecond)
					for len(logs[i]) > 0 && logs[i][0].At <= at.Add(-window) {
						logs[i] = logs[i][1:]
					}
					if room := int64(len(logs[i])) < c.limit; room || c.charged {
						logs[i] = append(logs[i], limiter.Entry{At: at, Count: 1})
					}
				}
				if len(logs[i]) == 0 || tick%3 != i%3 {
					continue
				}
				r := &model.Reading{Key: fmt.Sprint("x:", i), Pattern: "x:*", Type: "zset", At: now.Add(time.Millisecond), TTL: window}
				r.Target.Algorithm, r.State.Log = limiter.SlidingLog, append([]limiter.Entry(nil), logs[i]...)
				e.Learn(r, track.Span{Start: logs[i][0].At})
			}
		}
		got := e.Terms("x:*")
		if got.Limit.Sure != c.sure || c.sure && got.Limit.Value != c.limit {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestNamedWindows infers the limit of counters whose names say their windows, each of which is a key of its own.
func TestNamedWindows(t *testing.T) {
	const window = 10 * time.Second
	random := rand.New(rand.NewPCG(12, 12))
	for _, limit := range []int64{6, 1 << 40} {
		var e track.Engine
		counts := map[string]int64{}
		for tick := range 6000 { // ten minutes
			now := start.Add(time.Duration(tick) * 100 * time.Millisecond)
			begins := now.Floor(window)
			for i := range 5 {
				for _, of := range []limiter.Instant{begins.Add(-window), begins} {
					key := fmt.Sprintf("x:%d:%d", i, int64(of)/window.Microseconds())
					if of == begins && random.IntN(4+i) == 0 && counts[key] < limit {
						counts[key]++
					}
					if counts[key] == 0 || tick%5 != i {
						continue
					}
					r := &model.Reading{Key: key, Pattern: "x:*:*", Type: "string", At: now, TTL: of.Add(2 * window).Sub(now)}
					if r.Target.Algorithm, r.State.Current = limiter.FixedWindow, counts[key]; of != begins {
						r.Type = "none"
					}
					e.Learn(r, track.Span{Start: of, End: of.Add(window)})
				}
			}
		}
		got := e.Terms("x:*:*")
		if !got.Window.Sure || got.Window.Value != window || got.Limit.Sure != (limit == 6) || limit == 6 && got.Limit.Value != 6 {
			t.Errorf("%d: %+v", limit, got)
		}
	}
}

// TestSigns: what a key shows holds for its pattern, and for a while alone.
func TestSigns(t *testing.T) {
	var e track.Engine
	leases := track.Sign{Pattern: "sem:*", Leases: true}
	if e.Show(leases, start); !e.Fresh() || e.Fresh() {
		t.Error("a sign is fresh once")
	}
	if e.Show(leases, start.Add(time.Second)); e.Fresh() {
		t.Error("a sign that holds is no fresh one")
	}
	for at, want := range map[time.Duration]bool{30 * time.Second: true, 2 * time.Minute: false} {
		if got := e.Shown(leases, start.Add(at)); got != want {
			t.Errorf("after %v it is shown: %v", at, got)
		}
	}
	if e.Shown(track.Sign{Pattern: "sem:*"}, start) || e.Shown(track.Sign{Pattern: "log:*", Leases: true}, start) {
		t.Error("it is shown of others")
	}
	if e.Show(leases, start.Add(3*time.Minute)); !e.Fresh() {
		t.Error("a sign that comes back is fresh")
	}
	for i := range 2000 {
		e.Show(track.Sign{Pattern: fmt.Sprint("of many:", i)}, start)
	}
	if e.Show(leases, start.Add(4*time.Minute)); !e.Shown(leases, start.Add(4*time.Minute+30*time.Second)) {
		t.Error("a sign that is shown again does not last where many are known")
	}
}
