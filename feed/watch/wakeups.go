package watch

import (
	"maps"

	"ratescope/model/handoff"
)

// names is a set of limiters' names.
type names map[string]bool

// wakeups gathers the names of limiters of which there is news, until they are read. It is
// safe for concurrent use.
type wakeups struct{ *handoff.Latest[names] }

func newWakeups() wakeups {
	return wakeups{handoff.New(func(held *names, newer names) { maps.Copy(*held, newer) })}
}

// add notes news of a limiter.
func (w wakeups) add(name string) { w.Put(names{name: true}) }

// take returns the names that have gathered.
func (w wakeups) take() []string {
	held, _ := w.TryTake()
	list := make([]string, 0, len(held))
	for n := range held {
		list = append(list, n)
	}
	return list
}
