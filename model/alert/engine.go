package alert

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// Rule is an alert of the configuration.
type Rule struct {
	Name     string
	Severity string
	When     Condition
	For      time.Duration // how long When must hold before the alert fires; 0 at once
	// Clear is how long When must not hold before the alert ends. A key at its limit frees a
	// slot and loses it many times a second. 0 means For, but 2 to 30 seconds.
	Clear  time.Duration
	Covers func(key string) bool // which keys a rule about keys is for; nil every key
}

const (
	minClear = 2 * time.Second
	maxClear = 30 * time.Second

	// between is the time between two evaluations, of the server's clock.
	between = 200 * time.Millisecond
)

// Event is an alert that begins or ends.
type Event struct {
	Rule     string
	Severity string
	When     Condition
	Firing   bool // else it is resolved
	Key      string
	OfKey    bool // else it is about the server and Key is ""
	Value    float64
	Target   model.Target    // of the key
	Since    limiter.Instant // from which on the condition held
	At       limiter.Instant
	Server   string
	Total    int    // of Forgotten: how many limits there were
	AtLeast  bool   // it held when the key was first read, so that Since is not known, but no later
	Reason   string // of NoData and Sick: what is wrong, one clause

	looked limiter.Instant // of Faulty: when the key was read
}

// id names a state: one rule about one key, or about the server.
type id struct {
	rule int
	key  string
}

// state is how far a condition has come.
type state struct {
	begun   limiter.Instant // since when it holds; 0 it does not
	cleared limiter.Instant // since when it does not hold while the alert fires; 0 it holds
	firing  bool
	atLeast bool // of begun, as in Event
	last    Event

	first, seen limiter.Instant // when it first held and when it was last evaluated, of one that does not fire yet
	held        time.Duration   // how much of that time it held
}

// Engine evaluates rules. Make one with NewEngine. It is not safe for concurrent use.
type Engine struct {
	rules  []Rule
	board  model.Board
	states map[id]*state
	clock  clock
	next   limiter.Instant
	live   bool
}

// NewEngine returns an engine that has seen nothing yet.
func NewEngine(rules []Rule) *Engine {
	return &Engine{rules: rules, states: map[id]*state{}, board: model.Board{Rough: true}}
}

// SetRules puts other rules in place, as after the configuration has changed. It returns
// the ends of the alerts whose rules are gone. The others go on.
func (e *Engine) SetRules(rules []Rule) []Event {
	place := make(map[string]int, len(rules))
	for i, r := range rules {
		place[r.Name] = i
	}
	var ended []Event
	kept := map[id]*state{}
	for n, s := range e.states {
		was := e.rules[n.rule]
		if i, still := place[was.Name]; still && rules[i].When == was.When && (rules[i].Covers == nil || rules[i].Covers(n.key)) {
			kept[id{i, n.key}] = s
		} else if s.firing {
			ended = append(ended, e.resolve(s))
		}
	}
	e.rules, e.states = rules, kept
	order(ended)
	return ended
}

// Put takes in a batch and returns what begins or ends with it.
func (e *Engine) Put(b model.Batch) []Event {
	e.board.Apply(b)
	now := e.clock.tick(&b)
	if live := b.Server.Link == model.Live; live != e.live {
		e.live = live
	} else if now < e.next && now >= e.next.Add(-between) {
		return nil
	}
	e.next = now.Add(between)
	e.board.Refresh(now)
	var events []Event
	seen := make(map[id]bool, len(e.states))
	for i := range e.rules {
		e.evaluate(i, func(key string, holds bool, ev Event) {
			n := id{i, key}
			seen[n] = true
			if ev, changed := e.step(n, holds, ev); changed {
				events = append(events, ev)
			}
		})
	}
	for n, s := range e.states { // keys that are gone, and figures that are not known any more
		if seen[n] || !e.live && e.rules[n.rule].When.Metric != NoData {
			continue
		}
		if ev, changed := e.step(n, false, s.last); changed {
			events = append(events, ev)
		}
	}
	order(events)
	return events
}

// Firing returns the alerts that fire now, by rule and key.
func (e *Engine) Firing() []Event {
	firing := collect.Only(slices.Collect(maps.Values(e.states)), func(s *state) bool { return s.firing })
	list := collect.Map(firing, func(s *state) Event { return s.last })
	order(list)
	return list
}

func order(events []Event) {
	slices.SortFunc(events, func(a, b Event) int { return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Key, b.Key)) })
}

// faultLasts is how long the readings of a key must say that its limiter does not work: its program may be between
// two of its writes, for as long as a busy machine or a slow link lets it wait.
const faultLasts = 2 * time.Second

// A log at its limit breathes: it frees a slot and loses it. One that is there for this share of this time fires,
// although it is never there for as long as its rule asks.
const (
	breath    = 0.8
	breathing = 2 * time.Minute
)

// step brings one state forward, and returns an event when an alert begins or ends.
func (e *Engine) step(n id, holds bool, ev Event) (Event, bool) {
	rule, now, s := &e.rules[n.rule], e.clock.now, e.states[n]
	if s == nil {
		if !holds {
			return ev, false
		}
		s = &state{}
		e.states[n] = s
	}
	ev.Rule, ev.Severity, ev.When, ev.At, ev.Server = rule.Name, rule.Severity, rule.When, now, e.board.Server.Target
	ev.AtLeast = ev.AtLeast && s.begun == 0 || s.atLeast
	if s.begun > now { // the server's clock was set back
		s.begun = now
	}
	s.cleared = min(s.cleared, now)
	if s.first == 0 || s.seen > now {
		s.first, s.held = now, 0
	} else if s.begun > 0 {
		s.held += now.Sub(s.seen)
	}
	s.seen = now
	switch {
	case holds && s.firing:
		s.cleared = 0
		ev.Since, ev.Firing = s.begun, true
		s.last = ev
	case holds:
		looked, lasts := now, rule.For
		if rule.When.Metric == Faulty {
			looked, lasts = ev.looked, max(rule.For, faultLasts)
		}
		s.begun, s.atLeast = cmp.Or(s.begun, looked), ev.AtLeast
		breathes := rule.When.Metric == Utilization && now.Sub(s.first) >= max(rule.For, breathing)
		if breathes {
			s.begun = s.first
		}
		if breathes || looked.Sub(s.begun) >= lasts {
			s.firing = true
			ev.Since, ev.Firing = s.begun, true
			s.last = ev
			return ev, true
		}
	case !s.firing:
		if s.begun, s.atLeast = 0, false; rule.When.Metric != Utilization || s.held.Seconds() < breath*now.Sub(s.first).Seconds() {
			delete(e.states, n)
		}
	case s.cleared == 0:
		s.cleared = now
		fallthrough
	default:
		if now.Sub(s.cleared) >= cmp.Or(rule.Clear, min(max(rule.For, minClear), maxClear)) {
			delete(e.states, n)
			s.last.Value = ev.Value
			return e.resolve(s), true
		}
	}
	return ev, false
}

func (e *Engine) resolve(s *state) Event {
	ev := s.last
	ev.Firing, ev.At = false, e.clock.now
	return ev
}

// evaluate tells of every key that a rule is for, or of the server, whether its condition holds. What is not known is not told.
func (e *Engine) evaluate(i int, tell func(key string, holds bool, ev Event)) {
	rule := &e.rules[i]
	if !rule.When.Metric.ofKey() {
		if v, known, ev := e.ofServer(rule.When.Metric); known {
			ev.Value = v
			tell("", rule.When.holds(v), ev)
		}
		return
	}
	if !e.live {
		return
	}
	for name, k := range e.board.Keys() {
		if k.Gone || k.Reading.Target.Evidence == model.Likely || rule.Covers != nil && !rule.Covers(name) {
			continue
		}
		ev := Event{Key: name, OfKey: true, Target: k.Reading.Target}
		if rule.When.Metric == Faulty {
			ev.Reason, ev.looked = k.Reading.Fault(), k.Reading.At
			ev.Value = collect.If(ev.Reason != "", 1.0, 0)
			tell(name, ev.Reason != "", ev)
			continue
		}
		if v, known := ofKey(rule.When.Metric, k); known {
			ev.Value, ev.AtLeast = v, rule.When.Metric == Utilization && k.SoFromTheFirst()
			tell(name, rule.When.holds(v), ev)
		}
	}
}

// clock is the server's. While the server is away it goes on by this machine's.
type clock struct {
	now   limiter.Instant
	local time.Time
}

func (c *clock) tick(b *model.Batch) limiter.Instant {
	switch passed := b.Local.Sub(c.local); {
	case b.Server.Link == model.Live || c.now == 0:
		c.now = b.At
	case passed > 0 && !c.local.IsZero():
		c.now = c.now.Add(passed)
	}
	c.local = b.Local
	return c.now
}

// Sample returns an event of a rule that did not happen, for a test of its delivery.
func Sample(r Rule, firing bool, now time.Time) Event {
	at := limiter.InstantOf(now)
	e := Event{Rule: r.Name, Severity: r.Severity, When: r.When, Firing: firing, Value: r.When.Value, Since: at.Add(-r.For), At: at,
		Server: "a server", Reason: "nothing is wrong", Total: 1}
	if r.When.Metric.ofKey() {
		e.Key, e.OfKey = "a:key", true
		e.Target = model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 100, Window: time.Minute}, LimitKnown: true,
			Window: time.Minute}
	}
	return e
}
