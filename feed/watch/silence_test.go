package watch

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"ratescope/model"
)

// TestSilence: a server is silent from the order, or from its latest bytes, on; what this process stood
// still for is no silence of the server.
func TestSilence(t *testing.T) {
	const refresh = 200 * time.Millisecond
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		name  string
		heard map[int]int // at a refresh: when bytes had last come
		ticks []int       // refreshes, in ms after the order
		want  int         // in ms
	}{
		{"a server that hangs", nil, []int{150, 350, 550, 750, 950, 1150}, 1150},
		{"a busy machine", nil, []int{150, 500, 820, 1190}, 1190},
		{"a process that stood still for three seconds", nil, []int{150, 3350, 3550}, 150 + 450 + 200},
		{"one that stood still twice", nil, []int{2000, 4000}, 2 * 450},
		{"bytes that came meanwhile", map[int]int{3350: 3340}, []int{150, 3350, 3550}, 210},
	} {
		s, since, got := silence{every: refresh}, 0, time.Duration(0)
		for _, tick := range c.ticks {
			since = max(since, c.heard[tick])
			got = s.lasts(at(tick), at(since))
		}
		if want := time.Duration(c.want) * time.Millisecond; got != want {
			t.Errorf("%s: silent for %v, want %v", c.name, got, want)
		}
	}
	s := silence{every: refresh}
	s.lasts(at(1000), at(0))
	if got := s.lasts(at(5100), at(5000)); got != 100*time.Millisecond {
		t.Errorf("an order of its own after a silence: %v, want 100ms", got)
	}
}

// TestOneNodeIsNoSilence: an order that waits for a node of a cluster ends well before the cluster
// counts as silent; one server counts as silent before its order ends.
func TestOneNodeIsNoSilence(t *testing.T) {
	for _, trip := range []time.Duration{time.Millisecond, 300 * time.Millisecond} {
		for _, cluster := range []bool{true, false} {
			l := &link{cluster: cluster}
			l.clock.observe(epoch, epoch.Add(trip), epoch, epoch, true)
			most, limit := l.answerLimit(), silenceLimit(cluster, l.clock.rtt())
			if early := limit < most+silentAfter/2; early == cluster {
				t.Errorf("cluster %v, %v away: an order takes %v at most, and the server is silent after %v", cluster, trip, most, limit)
			}
		}
	}
}

// TestSilentIsTold: the batches tell a server that does not answer in time from one that refuses.
func TestSilentIsTold(t *testing.T) {
	var got model.Server
	e := &emitter{emit: func(b model.Batch) { got = b.Server }, begun: epoch}
	for _, c := range []struct {
		err    error
		silent bool
	}{{errSilent, true}, {nil, false}, {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), false}, {errSilent, false}, {nil, false}, {errSilent, true}} {
		if c.err != nil {
			e.lost(c.err)
			e.send(epoch, nil, nil)
		} else {
			e.take(epoch, result{kind: orderFull})
		}
		if got.Silent != c.silent || (got.Err == "") != (c.err == nil) {
			t.Errorf("after %v: silent %v, want %v; %q", c.err, got.Silent, c.silent, got.Err)
		}
	}
}
