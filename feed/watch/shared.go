package watch

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"ratescope/limiter"
	"ratescope/model/handoff"
)

// shared holds the state that the reader shares with other goroutines. It is safe for concurrent use.
type shared struct {
	focus     focus
	wakeups   wakeups // limiters to read at once
	announced wakeups // limiters to read at the next refresh
	facts     facts
}

// news takes the names of the limiters that an order of kind k is to read.
func (s *shared) news(k orderKind) []string {
	names := s.wakeups.take()
	if k == orderFull {
		names = append(names, s.announced.take()...)
	}
	return names
}

// facts holds what the goroutines beside the reader need to know about the server. It is safe for concurrent use.
type facts struct {
	offset atomic.Int64 // of the server's clock from this machine's, in ns
	rtt    atomic.Int64 // in ns
	away   atomic.Bool  // the server does not answer
	live   atomic.Bool  // the latest result held an answer
	noTime atomic.Bool  // TIME cannot date a reading: it is forbidden, or there are several servers

	charged atomic.Int64 // server time that this process has used, in ns

	version, policy atomic.Value // strings: the server's version, and its maxmemory-policy
}

// now returns the present time by the server's clock.
func (f *facts) now() limiter.Instant {
	return limiter.InstantOf(time.Now().Add(time.Duration(f.offset.Load())))
}

// focus holds the place of each key on screen, counted from 1. It is safe for concurrent use.
type focus struct {
	at atomic.Pointer[map[string]int]
}

func (f *focus) set(keys []string) {
	place := make(map[string]int, len(keys))
	for i, k := range keys {
		place[k] = i + 1
	}
	f.at.Store(&place)
}

// places returns the places, which must not be changed.
func (f *focus) places() map[string]int {
	if at := f.at.Load(); at != nil {
		return *at
	}
	return nil
}

// names is a set of limiters' names.
type names map[string]bool

// wakeups collects the names of limiters to be read, until an order takes them. It is safe for concurrent use.
type wakeups struct{ *handoff.Latest[names] }

func newWakeups() wakeups {
	return wakeups{handoff.New(func(held *names, newer names) { maps.Copy(*held, newer) })}
}

// add adds the name of a limiter.
func (w wakeups) add(name string) { w.Put(names{name: true}) }

// take returns the collected names, in no order, and removes them.
func (w wakeups) take() []string {
	held, _ := w.TryTake()
	return slices.Collect(maps.Keys(held))
}
