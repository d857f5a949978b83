package lab

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Working is a decision as a teacher writes it on the board.
type Working struct {
	Rule    string   // in symbols
	Numbers []string // the same with the numbers of the moment, line by line
	Verdict string   // admitted or denied, and what follows
	Sum     string   // the line that decides, for where there is room for one only
}

// Explain writes down why contender c decided as it did at m.
func Explain(c Contender, m Moment, s Setup) Working {
	e := newExplainer(c, m, s)
	var w Working
	switch c.Algorithm {
	case limiter.FixedWindow:
		w = e.fixed()
	case limiter.SlidingLog, limiter.StreamCounter:
		w = e.log()
	case limiter.SlidingWindow:
		w = e.sliding()
	case limiter.GCRA:
		w = e.gcra()
	case limiter.TokenBucket, limiter.LeakyBucket:
		w = e.bucket()
	}
	if s.Limit.Count == 0 {
		w.Rule, w.Sum = "limit 0: count, and deny nothing", fmt.Sprintf("used = %d", e.look.Used)
		w.Numbers = []string{w.Sum}
	}
	w.Verdict = e.verdict()
	return w
}

// explainer has the numbers of one decision at hand.
type explainer struct {
	c     Contender
	m     Moment
	s     Setup
	terms limiter.Convention
	limit limiter.Limit
	at    limiter.Instant  // the time that the contender goes by
	look  limiter.Decision // a peek of cost 0 before the request
}

func newExplainer(c Contender, m Moment, s Setup) explainer {
	e := explainer{c: c, m: m, s: s, terms: c.Convention(s.Convention), limit: s.Limit, at: m.Arrival.At}
	switch c.Fault {
	case ClientClock:
		e.at = clientClock(e.at, m.Number, &s)
	case SecondsAsMillis:
		e.limit.Window = reach(c, s.Limit)
	}
	before := m.Before.Clone()
	e.look = before.Peek(e.at, e.limit, e.terms, 0)
	return e
}

// sign compares as the rule does.
func (e *explainer) sign(fits bool) string {
	if fits {
		return "<="
	}
	return ">"
}

func (e *explainer) fits() bool { return e.m.Decision.Allowed }

// sum writes "7 + 1 = 8 <= 10", or "7 < 10" where the rule does not look at the cost.
func (e *explainer) sum(used float64) string {
	if e.terms.Rule == limiter.Below {
		sign := "<"
		if !e.fits() {
			sign = ">="
		}
		return fmt.Sprintf("%s %s %d", Number(used), sign, e.limit.Count)
	}
	n := float64(e.m.Arrival.Cost)
	return fmt.Sprintf("%s + %s = %s %s %d", Number(used), Number(n), Number(used+n), e.sign(e.fits()), e.limit.Count)
}

// rule writes the rule for what is used, by its name.
func (e *explainer) rule(used string) string {
	if e.terms.Rule == limiter.Below {
		return used + " < limit"
	}
	return used + " + n <= limit"
}

func (e *explainer) fixed() Working {
	sum := e.sum(float64(e.look.Current))
	return Working{
		Rule: e.rule("current"),
		Numbers: []string{
			fmt.Sprintf("window %s to %s, elapsed %s", e.clock(e.look.Start), e.clock(e.look.End), Seconds(e.at.Sub(e.look.Start))),
			fmt.Sprintf("current = %d", e.look.Current),
			sum,
		},
		Sum: sum,
	}
}

func (e *explainer) log() Working {
	open := "("
	if e.terms.Edge == limiter.Closed {
		open = "["
	}
	sum := e.sum(float64(e.look.Used))
	w := Working{
		Rule: e.rule("count in " + open + "now - W, now]"),
		Numbers: []string{
			fmt.Sprintf("%s%s, %s] holds %d", open, e.clock(e.at.Add(-e.limit.Window)), e.clock(e.at), e.look.Used),
			sum,
		},
		Sum: sum,
	}
	switch e.c.Fault {
	case CollidingMembers:
		w.Numbers = append(w.Numbers, "members are milliseconds: equal ones are one entry")
	case SecondsAsMillis:
		w.Numbers = append(w.Numbers, fmt.Sprintf("seconds minus %d ms: the window is %s long", e.s.Limit.Window.Milliseconds(), Seconds(e.limit.Window)))
	}
	return w
}

func (e *explainer) sliding() Working {
	product := float64(e.look.Previous) * e.look.Weight
	rounded := product
	how := ""
	switch e.terms.Rounding {
	case limiter.Floor:
		rounded, how = math.Floor(product), ", floor "
	case limiter.Round:
		rounded, how = math.Floor(product+0.5), ", round "
	}
	if how != "" {
		how += Number(rounded)
	}
	weight := model.ShownWeight(e.look.Previous, e.look.Weight, 3) // Number has three decimals
	if n := Number(e.look.Weight); len(n) < len(weight) && n == strconv.FormatFloat(e.look.Weight, 'f', -1, 64) {
		weight = n // as it is: 1, 0.5
	}
	n := float64(e.m.Arrival.Cost)
	total := rounded + float64(e.look.Current)
	sum := fmt.Sprintf("%s + %d + %s = %s %s %d", Number(rounded), e.look.Current, Number(n), Number(total+n), e.sign(e.fits()), e.limit.Count)
	if e.terms.Rule == limiter.Below {
		sum = fmt.Sprintf("%s + %d = %s", Number(rounded), e.look.Current, e.sum(total))
	}
	return Working{
		Rule: e.rule("previous × weight + current"),
		Numbers: []string{
			fmt.Sprintf("weight = 1 - %s/%s = %s", Seconds(e.at.Sub(e.look.Start)), Seconds(e.limit.Window), weight),
			fmt.Sprintf("%d × %s = %s%s", e.look.Previous, weight, Number(product), how),
			sum,
		},
		Sum: sum,
	}
}

// bursts says whether the algorithm has a burst and a rate, and knows no charge for what
// was denied.
func (e *explainer) bursts() bool {
	a := e.c.Algorithm
	return a == limiter.GCRA || a == limiter.TokenBucket || a == limiter.LeakyBucket
}

// interval is the emission interval, rounded for reading.
func (e *explainer) interval() time.Duration {
	return e.limit.Window / time.Duration(max(e.limit.Count, 1))
}

// burst is how much fits at once.
func (e *explainer) burst() int64 {
	if e.limit.Burst > 0 {
		return e.limit.Burst
	}
	return e.limit.Count
}

func (e *explainer) gcra() Working {
	ahead := max(e.m.Before.TAT.Sub(e.at), 0)
	step, n := e.interval(), time.Duration(e.m.Arrival.Cost)
	most := step * time.Duration(e.burst())
	sum := fmt.Sprintf("%s + %d × %s = %s %s %s", Seconds(ahead), n, Seconds(step), Seconds(ahead+n*step), e.sign(e.fits()), Seconds(most))
	return Working{
		Rule: "max(TAT, now) + n × T <= now + B × T",
		Numbers: []string{
			fmt.Sprintf("T = %s/%d = %s, B = %d", Seconds(e.limit.Window), e.limit.Count, Seconds(step), e.burst()),
			fmt.Sprintf("TAT is %s ahead of now, %s is tolerated", Seconds(ahead), Seconds(most)),
			sum,
		},
		Sum: sum,
	}
}

func (e *explainer) bucket() Working {
	before := e.m.Before.Clone()
	level := before.LevelAt(e.at, e.limit, e.terms)
	perSecond := Number(float64(e.limit.Count)/e.limit.Window.Seconds()) + "/s"
	n := e.m.Arrival.Cost
	if e.c.Algorithm == limiter.LeakyBucket {
		sum := fmt.Sprintf("%s + %d = %s %s %d", Number(level), n, Number(level+float64(n)), e.sign(e.fits()), e.burst())
		return Working{
			Rule:    "level + n <= B, draining at L/W",
			Numbers: []string{fmt.Sprintf("drains at %s, B = %d", perSecond, e.burst()), "level = " + Number(level), sum},
			Sum:     sum,
		}
	}
	sign := ">="
	if !e.fits() {
		sign = "<"
	}
	how := "refills at " + perSecond
	if e.terms.Refill == limiter.Interval {
		how = fmt.Sprintf("refills %d each %s", e.limit.Count, Seconds(e.limit.Window))
	}
	sum := fmt.Sprintf("%s tokens %s %d", Number(level), sign, n)
	return Working{
		Rule:    "tokens >= n, refilling at L/W up to B",
		Numbers: []string{fmt.Sprintf("%s, B = %d", how, e.burst()), "tokens = " + Number(level), sum},
		Sum:     sum,
	}
}

// verdict says what was decided and what follows from it.
func (e *explainer) verdict() string {
	d := e.m.Decision
	switch {
	case d.Allowed && e.limit.Count == 0:
		return fmt.Sprintf("admitted: %d counted", d.Used)
	case d.Allowed:
		return fmt.Sprintf("admitted: room for %d more, as new in %s", d.Remaining, Seconds(d.ResetAfter))
	case d.RetryAfter == limiter.Never:
		return "denied: never admitted, for it costs more than there ever is"
	}
	return fmt.Sprintf("denied: next slot in %s, at %s", Seconds(d.RetryAfter), e.clock(e.m.Arrival.At.Add(d.RetryAfter)))
}

// clock writes an instant as the time of the story.
func (e *explainer) clock(t limiter.Instant) string { return Seconds(t.Sub(e.s.Zero)) }

// Number writes a value with as few decimals as tell it, at most three.
func Number(v float64) string {
	v = math.Round(v*1000) / 1000
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Seconds writes a time in seconds with milliseconds, or less where there are none. What
// is finer is rounded up, so that waiting that long is enough.
func Seconds(d time.Duration) string {
	ms := math.Ceil(float64(d) / float64(time.Millisecond))
	return strconv.FormatFloat(ms/1000, 'f', -1, 64) + " s"
}

// Keeps says what a contender holds about the key, line by line, at an instant.
func Keeps(c Contender, state limiter.State, at limiter.Instant, s Setup) []string {
	clock := func(t limiter.Instant) string { return Seconds(t.Sub(s.Zero)) }
	switch c.Algorithm {
	case limiter.FixedWindow:
		if state.Current == 0 {
			return []string{"nothing"}
		}
		return []string{fmt.Sprintf("a counter: %d in the window from %s", state.Current, clock(state.Start))}
	case limiter.SlidingWindow:
		if state.Current == 0 && state.Previous == 0 {
			return []string{"nothing"}
		}
		return []string{
			fmt.Sprintf("previous: %d", state.Previous),
			fmt.Sprintf("current: %d in the window from %s", state.Current, clock(state.Start)),
		}
	case limiter.GCRA:
		if state.TAT == 0 {
			return []string{"nothing"}
		}
		return []string{fmt.Sprintf("TAT: %s, %s from now", clock(state.TAT), Seconds(state.TAT.Sub(at)))}
	case limiter.TokenBucket, limiter.LeakyBucket:
		if state.Filled == 0 {
			return []string{"nothing"}
		}
		what := "tokens"
		if c.Algorithm == limiter.LeakyBucket {
			what = "level"
		}
		return []string{fmt.Sprintf("%s: %s at %s", what, Number(state.Level), clock(state.Filled))}
	}
	return keepsLog(state.Log, clock)
}

// keepsLog lists the newest entries of a log.
func keepsLog(log []limiter.Entry, clock func(limiter.Instant) string) []string {
	if len(log) == 0 {
		return []string{"nothing"}
	}
	lines := []string{fmt.Sprintf("a log of %d entries, the newest:", len(log))}
	if len(log) == 1 {
		lines[0] = "a log of 1 entry:"
	}
	for i := len(log) - 1; i >= max(0, len(log)-4); i-- {
		line := clock(log[i].At)
		if log[i].Count != 1 {
			line += fmt.Sprintf(" × %d", log[i].Count)
		}
		lines = append(lines, line)
	}
	return lines
}
