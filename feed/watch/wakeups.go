package watch

import (
	"maps"

	"ratescope/model/handoff"
)

// names is a set of limiters' names.
type names map[string]bool

// wakeups collects the names of limiters to be read, until an order takes them. It is safe for
// concurrent use.
type wakeups struct{ *handoff.Latest[names] }

func newWakeups() wakeups {
	return wakeups{handoff.New(func(held *names, newer names) { maps.Copy(*held, newer) })}
}

// add adds the name of a limiter.
func (w wakeups) add(name string) { w.Put(names{name: true}) }

// take returns the collected names, in no order, and removes them.
func (w wakeups) take() []string {
	held, _ := w.TryTake()
	list := make([]string, 0, len(held))
	for n := range held {
		list = append(list, n)
	}
	return list
}
