package lab_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/lab"
)

// teller knows by the definitions alone what the numbers in the sentences of a lesson are.
type teller struct {
	*plain
	charged  bool
	members  bool   // a sorted set of milliseconds
	queues   bool   // what is admitted goes on when what is before it has drained
	patient  bool   // waits are asked for
	admitted *plain // what was admitted, in true time
	sent     int64
	parts    []*plain // of an assembly, in place of plain
	zero     int64
	fates    []bool // of the requests that were sent, by their numbers
	waits    []int64
}

func newTeller(s lab.Setup, c lab.Candidate) *teller {
	if c.Scripted() {
		return newAssembledTeller(s, c)
	}
	terms := c.Convention(s.Convention)
	name := c.Algorithm.String()
	if c.Algorithm == limiter.SlidingWindow {
		name += map[convention.Rounding]string{convention.Floor: "/floor", convention.Exact: "/exact",
			convention.Nearest: "/round"}[terms.Rounding]
	}
	p := &plain{name: name, limit: s.Limit.Count, w: s.Limit.Window.Microseconds(), burst: s.Limit.Burst,
		closed: terms.Edge == convention.Closed, below: terms.Rule == convention.Below && !c.Algorithm.Bursts()}
	if p.burst == 0 {
		p.burst = p.limit
	}
	if c.Algorithm.Bursts() {
		p.amount = new(big.Rat)
	}
	true := &plain{name: "sliding-log", w: p.w, closed: p.closed}
	l := &teller{plain: p, charged: terms.Denied == convention.Charged && !c.Algorithm.Bursts(), admitted: true,
		members: c.Fault == lab.CollidingMembers, queues: c.Variant == "queue"}
	if c.Fault == lab.SecondsAsMillis {
		p.w *= 1000
	}
	return l
}

// newAssembledTeller knows the assemblies.
func newAssembledTeller(s lab.Setup, c lab.Candidate) *teller {
	n, w := s.Limit.Count, s.Limit.Window.Microseconds()
	one := func(n, w int64) *plain { return &plain{name: "sliding-log", limit: n, w: w} }
	l := &teller{plain: &plain{name: c.String(), w: w}, admitted: one(0, w), zero: int64(s.Zero)}
	l.admitted.closed = s.Convention.Edge == convention.Closed
	switch c.String() {
	case "nodes/shares":
		n = max(n/4, 1)
		fallthrough
	case "nodes/whole":
		l.parts = []*plain{one(n, w), one(n, w), one(n, w), one(n, w)}
	default:
		l.parts = []*plain{one(n, w), one(max(n*3/10, 1), w/10)}
	}
	return l
}

// hearParts decides about a request at the parts of an assembly.
func (l *teller) hearParts(a lab.Arrival) {
	now, parts, allowed := int64(a.At), l.parts, true
	if strings.HasPrefix(l.name, "nodes/") {
		node := int(2*(now-l.zero)/l.w) % 4
		parts = parts[node : node+1]
	}
	for _, p := range parts {
		allowed = allowed && p.admits(now, a.Cost)
		if allowed && l.name == "two-limits/one-by-one" {
			p.admit(now, a.Cost)
		}
	}
	if l.sent++; !allowed {
		return
	}
	l.admitted.admit(now, a.Cost)
	for _, p := range parts {
		if l.name != "two-limits/one-by-one" {
			p.admit(now, a.Cost)
		}
	}
}

// ok says whether a request fits: without a limit all do.
func (l *teller) ok(now, n int64) bool { return l.limit == 0 || l.admits(now, n) }

// hear decides about request i of the story.
func (l *teller) hear(a lab.Arrival) {
	if l.parts != nil {
		l.hearParts(a)
		return
	}
	now, n := int64(a.At), a.Cost
	if l.members {
		now -= now % 1000
	}
	allowed := l.ok(now, n)
	l.sent++
	l.fates = append(l.fates, allowed)
	wait := int64(0)
	if !allowed && l.patient && (n <= l.limit || l.bursts() && n <= l.burst) {
		for lo, hi := now, now+4*l.w; lo < hi; {
			mid := lo + (hi-lo)/2
			if l.ok(mid, n) {
				hi = mid
			} else {
				lo = mid + 1
			}
			wait = hi - now
		}
	}
	l.waits = append(l.waits, wait)
	turn := int64(a.At)
	if l.queues && l.limit > 0 {
		wait := l.used(now)
		wait.Mul(wait, big.NewRat(l.w, l.limit))
		turn += new(big.Int).Div(new(big.Int).Add(wait.Num(), new(big.Int).Sub(wait.Denom(), big.NewInt(1))), wait.Denom()).Int64()
	}
	switch {
	case allowed && l.members && len(l.times) > 0 && l.times[len(l.times)-1] == now:
	case allowed && l.members:
		l.admit(now, 1)
	case allowed || l.charged && (n <= l.limit):
		l.admit(now, n)
	}
	if allowed {
		l.admitted.admit(turn, n)
	}
}

// most returns the most that was admitted in a true window, and from when to when the first such one lasts.
func (l *teller) most() (most, span int64) {
	first, n := 0, int64(0)
	for i, at := range l.admitted.times {
		gone := at - l.admitted.w // the latest instant that the window ending at at does not hold
		if l.admitted.closed {
			gone--
		}
		for n += l.admitted.costs[i]; l.admitted.times[first] <= gone; first++ {
			n -= l.admitted.costs[first]
		}
		if n > most {
			most, span = n, at-l.admitted.times[first]
		}
	}
	return most, span
}

// seconds writes microseconds as the sentences do.
func seconds(micros int64) string {
	return strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64) + " s"
}

// TestSentencesRecomputed plays every lesson under random terms and holds each number in its text, task, hint and closing
// sentence to what the definitions say.
func TestSentencesRecomputed(t *testing.T) {
	all := lab.Lessons()
	names := regexp.MustCompile(`\{[^{}]*\}`)
	random, numbers, reached := rand.New(rand.NewPCG(33, 2)), 0, map[string]bool{}
	for _, l := range all {
		rounds := 60
		if len(l.Traffic) > 0 {
			rounds = 12
		}
		for round := range rounds {
			s := l.Setup()
			own := round%4 == 0
			if !own {
				s.Limit.Count = 1 + random.Int64N(12)
				s.Limit.Window = []time.Duration{500 * time.Millisecond, 2 * time.Second, 7 * time.Second, 10 * time.Second,
					time.Minute}[random.IntN(5)]
				if len(l.Traffic) == 0 && l.Skew == 0 && s.Candidates[0].Fault == lab.NoFault {
					s.Convention.Rule = []convention.Rule{convention.Fits, convention.Below}[random.IntN(2)]
					s.Convention.Edge = []convention.Edge{convention.HalfOpen, convention.Closed}[random.IntN(2)]
				}
			}
			run := under(t, l, s)
			tellers := map[string]*teller{}
			for _, c := range s.Candidates {
				if c.Fault != lab.ClientClock { // whose log depends on how a store takes a clock that goes back
					tellers[c.String()] = newTeller(s, c)
					tellers[c.String()].patient = l.Goal.Kind == lab.GoalJustInTime
				}
			}
			heard := 0
			tell := func() {
				for ; heard < run.Decided(); heard++ {
					a, v := run.Arrival(heard)
					for i, c := range s.Candidates {
						if v.Sent(i) && tellers[c.String()] != nil {
							tellers[c.String()].hear(a)
						}
					}
				}
			}
			steps := l.Solution()
			for k := range 14 {
				if own && k < len(steps) { // the lesson's own way to its goal
					run.SeekTo(s.Zero.Add(steps[k].At))
					for range steps[k].Repeat {
						if steps[k].Cost > 0 {
							run.Fire(steps[k].Cost)
						}
					}
				} else if !own {
					for range random.IntN(int(min(s.Limit.Count, 12)) + 2) {
						run.Fire(1)
					}
					run.AdvanceTo(run.Now().Add(time.Duration(random.Int64N(int64(s.Limit.Window/2)/1000)) * time.Microsecond))
				}
			}
			tell()
			p := l.Goal.Progress(run)
			reached[l.ID] = reached[l.ID] || p.Reached
			said := l.Paragraphs(run)
			if changed := s.Convention != l.Setup().Convention; changed != (len(said) > len(l.Text)) {
				t.Fatalf("%s: with terms changed %v the text is %q", l.ID, changed, said)
			}
			hint, apart := strings.CutPrefix(l.Hint(run), "As the lesson counts, before w changed it: ")
			if apart != (s.Convention != l.Setup().Convention) {
				t.Fatalf("%s: with terms changed %v the hint is %q", l.ID, !apart, l.Hint(run))
			}
			texts, raws := append(said[:len(l.Text):len(l.Text)], l.Task(run), hint), append(slices.Clone(l.Text), l.Goal.Say, l.Goal.Hint)
			if p.Reached {
				texts, raws = append(texts, p.Then), append(raws, l.Goal.Then)
			}
			for i, raw := range raws {
				terms := s
				text, stepped := strings.CutPrefix(texts[i],
					fmt.Sprintf("Under %d in %s: ", l.Limit.Count, seconds(l.Limit.Window.Microseconds())))
				if stepped {
					terms = l.Setup()
				}
				pattern := ""
				var of []string
				at := 0
				for _, m := range names.FindAllStringIndex(raw, -1) {
					pattern += regexp.QuoteMeta(raw[at:m[0]]) + `(.+?)`
					of, at = append(of, raw[m[0]+1:m[1]-1]), m[1]
				}
				found := regexp.MustCompile("^" + pattern + regexp.QuoteMeta(raw[at:]) + "$").FindStringSubmatch(text)
				if found == nil {
					t.Fatalf("%s: %q is not %q", l.ID, text, raw)
				}
				for k, name := range of {
					want, known := sentenceNumber(&l, run, terms, tellers, p, name)
					if !known {
						continue
					}
					if numbers++; found[k+1] != want {
						t.Errorf("%s, %d in %v, closed %v, below %v, at %v: {%s} is %q, want %q, in %q", l.ID, s.Limit.Count,
							s.Limit.Window, s.Convention.Edge == convention.Closed, s.Convention.Rule == convention.Below, run.Elapsed(),
							name, found[k+1], want, text)
					}
				}
			}
			if t.Failed() {
				return
			}
		}
		if !reached[l.ID] && l.Goal.Kind != lab.GoalCheapest {
			t.Errorf("%s was never reached: its closing sentence was not compared", l.ID)
		}
	}
	if t.Logf("%d numbers", numbers); numbers < 3000 {
		t.Errorf("only %d numbers were compared", numbers)
	}
}

// sentenceNumber returns what a name in a sentence stands for, by the definitions; false where this test does not know.
func sentenceNumber(l *lab.Lesson, run *lab.Run, s lab.Setup, tellers map[string]*teller, p lab.Progress, name string) (string, bool) {
	limit, w, zero := s.Limit.Count, s.Limit.Window.Microseconds(), int64(run.Setup().Zero)
	number := func(n int64) (string, bool) { return strconv.FormatInt(n, 10), true }
	goal, now := l.Goal, int64(run.Now())
	if name == "end" {
		return seconds(int64(l.Steps[len(l.Steps)-1].At / time.Microsecond)), true
	}
	of := tellers[goal.Of]
	kind, which, named := strings.Cut(name, ":")
	if named {
		other := tellers[which]
		if other == nil {
			return "", false
		}
		most, span := other.most()
		switch kind {
		case "most":
			return number(most)
		case "most-span":
			return seconds(span), true
		case "admitted":
			return number(int64(len(other.admitted.times)))
		case "denied":
			return number(other.sent - int64(len(other.admitted.times)))
		case "used":
			used := other.used(now)
			return number(new(big.Int).Quo(used.Num(), used.Denom()).Int64())
		}
		return "", false
	}
	switch name {
	case "limit":
		return number(limit)
	case "2*limit":
		return number(2 * limit)
	case "nodes":
		return "4", true
	case "share":
		return number(max(limit/4, 1))
	case "short":
		return fmt.Sprintf("%d in %s", max(limit*3/10, 1), seconds(w/10)), true
	case "window":
		return seconds(w), true
	case "long-window":
		return seconds(1000 * w), true
	case "interval":
		return seconds((2*w + limit) / (2 * max(limit, 1))), limit > 0
	case "skew":
		return seconds(l.Skew.Microseconds()), true
	case "silence":
		return seconds(int64(goal.Windows*float64(w)+500) / 1000 * 1000), true
	case "within":
		return seconds(int64(goal.WithinMS * 1000)), true
	case "edge":
		return seconds(now/w*w + w - zero), s.Limit == run.Setup().Limit
	case "value":
		n := map[string]int64{"2*limit": 2 * limit, "2*limit-1": 2*limit - 1, "burst+limit-1": 2*limit - 1, "limit": limit,
			"3*share": 3 * max(limit/4, 1), "limit+2": limit + 2, "": goal.Value}[goal.ValueOf]
		return number(n)
	}
	if !p.Reached || of == nil {
		return "", false
	}
	// The request that reached the goal is the last one of its instant that could have.
	at := -1
	sent := 0
	before := -1 // the one of the user's before it
	for i := range run.Decided() {
		a, v := run.Arrival(i)
		if !v.Sent(slices.IndexFunc(run.Setup().Candidates, func(c lab.Candidate) bool { return c.String() == goal.Of })) {
			continue
		}
		if a.Fired && a.At == p.At && at < 0 {
			at = sent
		}
		if a.Fired && a.At < p.At {
			before = sent
		}
		sent++
	}
	switch name {
	case "wait":
		if goal.Kind == lab.GoalJustInTime && before >= 0 && at >= 0 && !of.fates[before] {
			return seconds(of.waits[before]), true
		}
	case "span":
		if goal.Kind == lab.GoalJustInTime && before >= 0 && !of.fates[before] {
			var sentAt limiter.Instant
			for i := range run.Decided() {
				if a, _ := run.Arrival(i); a.Fired && a.At < p.At {
					sentAt = a.At
				}
			}
			return seconds(int64(p.At-sentAt) - of.waits[before]), true
		}
	}
	return "", false
}
