package lab

import (
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// assembly is a Subject of several logs, each with a limit of its own: two limits for one client, or nodes that each
// decide about the requests that reach them.
type assembly struct {
	*shape
	zero   limiter.Instant
	limits []limiter.Limit
	logs   []limiter.State
}

// shape says what an assembly is made of.
type shape struct {
	rule string // what it does, a sentence
	// limits returns the limit of each log under that of a setup.
	limits func(l limiter.Limit) []limiter.Limit
	// routed lets one log decide about a request, that of the node to which the client is connected.
	routed bool
	// oneByOne charges a log before the next one is asked, so that a request that the next one denies stays charged.
	oneByOne bool
	// apart is set where a denial with room in the true window of the limit is no mistake: another limit asks for it.
	apart bool
}

// nodes is how many servers share the requests of a client in nodes/shares and nodes/whole. The client is connected to the
// first one when the story begins, and to the next one after each half of a window.
const nodes = 4

// shapes are the assemblies that a scenario may name as candidates.
var shapes = map[string]*shape{
	"two-limits": {rule: "admitted where both limits have room, and charged to both or to none", limits: withShort, apart: true},
	"two-limits/one-by-one": {rule: "the long limit is charged before the short one is asked", limits: withShort,
		apart: true, oneByOne: true},
	"nodes/shares": {rule: "each node admits its share; a connection stays at its node for half a window", routed: true,
		limits: func(l limiter.Limit) []limiter.Limit { return eachNode(l, share(l)) }},
	"nodes/whole": {rule: "each node admits the whole limit; a connection stays at its node for half a window", routed: true,
		limits: func(l limiter.Limit) []limiter.Limit { return eachNode(l, l.Count) }},
}

// share is what each node admits of a limit where it has a share.
func share(l limiter.Limit) int64 { return max(l.Count/nodes, 1) }

// shortLimit is the second limit of a client that has two: three tenths of the first in a tenth of its window.
func shortLimit(l limiter.Limit) limiter.Limit {
	return limiter.Limit{Count: max(l.Count*3/10, 1), Window: max(l.Window/10, time.Millisecond)}
}

func withShort(l limiter.Limit) []limiter.Limit { return []limiter.Limit{l, shortLimit(l)} }

func eachNode(l limiter.Limit, count int64) []limiter.Limit {
	return slices.Repeat([]limiter.Limit{{Count: count, Window: l.Window}}, nodes)
}

// Reset implements Subject.
func (a *assembly) Reset(l limiter.Limit, zero limiter.Instant) error {
	a.limits, a.zero = a.shape.limits(l), zero
	a.logs = make([]limiter.State, len(a.limits))
	for i := range a.logs {
		a.logs[i].Algorithm = limiter.SlidingLog
	}
	return nil
}

// asked returns the first and the last of the logs that decide about a request at an instant.
func (a *assembly) asked(at limiter.Instant) (first, last int) {
	if !a.routed {
		return 0, len(a.logs) - 1
	}
	node := nodeAt(at.Sub(a.zero), a.limits[0].Window)
	return node, node
}

// log returns a log as it is at an instant.
func (a *assembly) log(i int, at limiter.Instant) AssemblyLog {
	p := AssemblyLog{Used: a.logs[i].Peek(at, a.limits[i], limiter.Convention{}, 0).Used, Limit: a.limits[i].Count}
	if p.Name = fmt.Sprintf("%d in %s", p.Limit, format.Length(a.limits[i].Window)); a.routed {
		p.Name = fmt.Sprintf("node %d", i+1)
	}
	return p
}

// Admit implements Subject. What it ran is a line for each log that was asked.
func (a *assembly) Admit(at limiter.Instant, cost int64) (admitted bool, ran []Command, err error) {
	first, last := a.asked(at)
	var before []AssemblyLog
	admitted = true
	for i := first; i <= last && (admitted || !a.oneByOne); i++ {
		d := a.logs[i].Peek(at, a.limits[i], limiter.Convention{}, cost)
		admitted = admitted && d.Allowed
		before = append(before, a.log(i, at))
		ran = append(ran, Command{Answer: collect.If(d.Allowed, "room", "no room")})
		if a.oneByOne && admitted {
			a.logs[i].Take(at, a.limits[i], limiter.Convention{}, cost)
		}
	}
	for k, was := range before {
		if admitted && !a.oneByOne {
			a.logs[first+k].Take(at, a.limits[first+k], limiter.Convention{}, cost)
		}
		ran[k].Text = fmt.Sprintf("%s: was %d, now %d of %d", was.Name, was.Used, a.log(first+k, at).Used, was.Limit)
	}
	return admitted, ran, nil
}

// AssemblyLog is one log of an assembly at a moment.
type AssemblyLog struct {
	Name        string
	Used, Limit int64
	Here        bool // the client is connected to this node
}

// Logs returns the logs of candidate i as they are now; nil unless it is an assembly.
func (r *Run) Logs(i int) (list []AssemblyLog) {
	n, script := r.runners[i].script, r.setup.Candidates[i].Script
	if n == nil || n.shape == nil {
		return nil
	}
	script.mu.Lock()
	defer script.mu.Unlock()
	_ = script.lead(n) // an assembly does not fail
	a := script.subject.(*assembly)
	first, _ := a.asked(r.now)
	for k := range a.logs {
		p := a.log(k, r.now)
		p.Here = a.routed && k == first
		list = append(list, p)
	}
	return list
}

// Node returns the number of the node, from 1, to which the client of candidate i is connected at an instant; 0 where there
// are no nodes.
func (s Setup) Node(i int, at limiter.Instant) int {
	if script := s.Candidates[i].Script; script == nil || script.shape == nil || !script.shape.routed {
		return 0
	}
	return nodeAt(at.Sub(s.Zero), s.Limit.Window) + 1
}

// nodeAt returns the index of the node to which a client is connected so long after the beginning of the story.
func nodeAt(after, window time.Duration) int { return int(2*max(after, 0)/window) % nodes }
