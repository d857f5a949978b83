package lab

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/model/format"
)

// assembly is a Subject of several logs, each with a limit of its own: two limits for one client, or nodes that each
// decide about the requests that reach them.
type assembly struct {
	*shape
	limits []limiter.Limit
	logs   []limiter.State
	sent   int
}

// shape says what an assembly is made of.
type shape struct {
	rule string // what it does, a sentence
	each string // what one of its logs is called before its number; "" it is called by its limit
	// limits returns the limit of each log under that of a setup.
	limits func(l limiter.Limit) []limiter.Limit
	// asked returns the logs that decide about a request, the n-th from 0, sent at an instant; nil is all of them.
	asked func(n int, at limiter.Instant, l limiter.Limit) []int
	// oneByOne charges a log before the next one is asked, so that a request that the next one denies stays charged.
	oneByOne bool
	// apart is set where a denial with room in the true window of the limit is no mistake: another limit asks for it.
	apart bool
}

// nodes is how many servers share the requests of a client in nodes/shares and nodes/whole.
const nodes = 4

// shapes are the assemblies that a scenario may name as candidates.
var shapes = map[string]*shape{
	"two-limits": {rule: "admitted where both limits have room, and charged to both or to none", limits: withShort, apart: true},
	"two-limits/one-by-one": {rule: "the long limit is charged before the short one is asked", limits: withShort,
		apart: true, oneByOne: true},
	"nodes/shares": {rule: "each node admits its share; a connection stays at its node for half a window", each: "node",
		limits: func(l limiter.Limit) []limiter.Limit { return eachNode(l, share(l)) },
		asked: func(_ int, at limiter.Instant, l limiter.Limit) []int {
			return []int{int(at/max(limiter.Instant(l.Window.Microseconds()/2), 1)) % nodes}
		}},
	"nodes/whole": {rule: "each node admits the whole limit; requests go to one node after the other", each: "node",
		limits: func(l limiter.Limit) []limiter.Limit { return eachNode(l, l.Count) },
		asked:  func(n int, _ limiter.Instant, _ limiter.Limit) []int { return []int{n % nodes} }},
}

// share is what each node admits of a limit where it has a share.
func share(l limiter.Limit) int64 { return max(l.Count/nodes, 1) }

// shortLimit is the second limit of a client that has two: three tenths of the first in a tenth of its window.
func shortLimit(l limiter.Limit) limiter.Limit {
	return limiter.Limit{Count: max(l.Count*3/10, 1), Window: max(l.Window/10, time.Millisecond)}
}

func withShort(l limiter.Limit) []limiter.Limit { return []limiter.Limit{l, shortLimit(l)} }

func eachNode(l limiter.Limit, count int64) []limiter.Limit {
	one := limiter.Limit{Count: count, Window: l.Window}
	return []limiter.Limit{one, one, one, one}
}

// Reset implements Subject.
func (a *assembly) Reset(l limiter.Limit) error {
	a.limits, a.sent = a.shape.limits(l), 0
	a.logs = make([]limiter.State, len(a.limits))
	for i := range a.logs {
		a.logs[i].Algorithm = limiter.SlidingLog
	}
	return nil
}

// Admit implements Subject. What it ran is a line for each log that was asked.
func (a *assembly) Admit(at limiter.Instant, cost int64) (admitted bool, ran []Command, err error) {
	var asked []int
	if a.asked != nil {
		asked = a.asked(a.sent, at, a.limits[0])
	} else {
		for i := range a.logs {
			asked = append(asked, i)
		}
	}
	a.sent++
	admitted = true
	for _, i := range asked {
		d := a.logs[i].Peek(at, a.limits[i], limiter.Convention{}, cost)
		admitted = admitted && d.Allowed
		name := fmt.Sprintf("%s %d", a.each, i+1)
		if a.each == "" {
			name = fmt.Sprintf("%d in %s", a.limits[i].Count, format.Length(a.limits[i].Window))
		}
		ran = append(ran, Command{Text: fmt.Sprintf("%s: %d of %d used", name, d.Used, a.limits[i].Count), Answer: map[bool]string{
			true: "room", false: "no room"}[d.Allowed]})
		if a.oneByOne && !admitted {
			break
		}
		if a.oneByOne {
			a.logs[i].Take(at, a.limits[i], limiter.Convention{}, cost)
		}
	}
	if admitted && !a.oneByOne {
		for _, i := range asked {
			a.logs[i].Take(at, a.limits[i], limiter.Convention{}, cost)
		}
	}
	return admitted, ran, nil
}
