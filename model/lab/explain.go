package lab

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
)

// Working is a decision as a teacher writes it on the board.
type Working struct {
	Rule    string    // in symbols
	Numbers []string  // the same with the numbers of the moment, line by line; the last one decides
	Verdict string    // admitted or denied, and what follows
	Terms   []Meaning // of the rule, those that stand for a part of the picture
}

// Meaning is a name in a rule, with the stretch of time that it stands for: what came from one instant to
// the other, both included, or what has to pass.
type Meaning struct {
	Name     string // as the rule has it
	From, To limiter.Instant
	Count    int64 // what counts of the requests in it; -1 where it is no count
	Means    string
}

// Sum returns the line that decides, for where there is room for one only.
func (w Working) Sum() string { return w.Numbers[len(w.Numbers)-1] }

// Explain writes down why the candidate decided as it did.
func (m Moment) Explain() Working {
	if m.script != nil {
		return m.script.explain(m.setup)
	}
	c := m.Candidate
	e := explainer{Moment: m, terms: c.Convention(m.setup.Convention), limit: m.setup.Limit,
		at: clockOf(c, m.Arrival.At, m.Number, m.setup)}
	e.limit.Window = c.Reach(e.limit)
	before := m.Before.Clone()
	e.look = before.Peek(e.at, e.limit, e.terms, 0)
	var w Working
	switch describe.KindOf(c.Algorithm) {
	case describe.Window:
		w = e.fixed()
	case describe.Log:
		w = e.log()
	case describe.Weighted:
		w = e.sliding()
	case describe.Arrival:
		w = e.gcra()
	case describe.Bucket:
		w = e.bucket()
	}
	own := Meaning{Name: "+ n", From: e.at, To: e.at, Count: -1, Means: "n: this request, of cost " + strconv.FormatInt(m.Arrival.Cost, 10)}
	w.Terms = slices.DeleteFunc(append(w.Terms, own), func(t Meaning) bool {
		return e.at != m.Arrival.At || !strings.Contains(w.Rule, t.Name) // a clock of its own has no place on the lane
	})
	if m.setup.Limit.Count == 0 {
		w.Terms = nil
		w.Rule = "limit 0: count, and deny nothing"
		w.Numbers = []string{fmt.Sprintf("used = %d", e.look.Used)}
		if estimate := Number(e.look.Estimate); describe.KindOf(c.Algorithm) == describe.Weighted && estimate != fmt.Sprint(e.look.Used) {
			w.Numbers[0] += ", for " + estimate + " in whole requests"
		}
	}
	w.Verdict = e.verdict()
	return w
}

// explainer has the numbers of one decision at hand.
type explainer struct {
	Moment
	terms limiter.Convention
	limit limiter.Limit
	at    limiter.Instant  // the time that the candidate goes by
	look  limiter.Decision // a peek of cost 0 before the request
}

// sum writes "7 + 1 = 8 <= 10", or "7 < 10" where the rule does not look at the cost. What
// is used has as many decimals as the comparison needs.
func (e *explainer) sum(used float64) string {
	allowed, n, limit := e.Decision.Allowed, float64(e.Arrival.Cost), float64(e.limit.Count)
	if e.terms.Rule == convention.Below {
		if !allowed && used < limit {
			return fmt.Sprintf("%s > %d: the cost is more than the limit", Number(n), e.limit.Count)
		}
		return fmt.Sprintf("%s %s %d", decimals(used, telling(used, limit)), e.sign("<", ">="), e.limit.Count)
	}
	d := telling(used+n, limit)
	return fmt.Sprintf("%s + %s = %s %s %d", decimals(used, d), Number(n), decimals(used+n, d), e.sign("<=", ">"), e.limit.Count)
}

// sign returns the comparison that holds of an admitted request, or of a denied one.
func (e *explainer) sign(admitted, denied string) string {
	return collect.If(e.Decision.Allowed, admitted, denied)
}

// rule writes the rule for what is used, by its name.
func (e *explainer) rule(used string) string {
	return collect.If(e.terms.Rule == convention.Below, used+" < limit", used+" + n <= limit")
}

func (e *explainer) fixed() Working {
	return Working{
		Rule: e.rule("current"),
		Numbers: []string{
			fmt.Sprintf("window %s to %s, elapsed %s", e.setup.clock(e.look.Start), e.setup.clock(e.look.End),
				Seconds(e.at.Sub(e.look.Start))),
			fmt.Sprintf("current = %d", e.look.Current),
			e.sum(float64(e.look.Current)),
		},
		Terms: []Meaning{e.current()},
	}
}

// current is the term of the counter of the window that runs.
func (e *explainer) current() Meaning {
	return Meaning{"current", e.look.Start, e.at, e.look.Current,
		fmt.Sprintf("current: %d since %s", e.look.Current, e.setup.clock(e.look.Start))}
}

// ahead is a term of what passes by itself until an instant.
func (e *explainer) ahead(name string, from limiter.Instant, d time.Duration, what string) Meaning {
	return Meaning{name, from, from.Add(d), -1, fmt.Sprintf("%s: %s at %s", name, what, e.setup.clock(from.Add(d)))}
}

func (e *explainer) log() Working {
	open, from := "(", e.at.Add(-e.limit.Window)+1
	if e.terms.Edge == convention.Closed {
		open, from = "[", from-1
	}
	name := "count in " + open + "now - W, now]"
	w := Working{Rule: e.rule(name), Terms: []Meaning{{name, from, e.at, e.look.Used,
		fmt.Sprintf("count: %d since %s", e.look.Used, e.setup.clock(e.at.Add(-e.limit.Window)))}}}
	switch e.Candidate.Fault {
	case CollidingMembers:
		w.Numbers = append(w.Numbers, "members are milliseconds: equal ones are one entry")
	case SecondsAsMillis:
		w.Numbers = append(w.Numbers, fmt.Sprintf("seconds minus %d ms: the window is %s long",
			e.setup.Limit.Window.Milliseconds(), Seconds(e.limit.Window)))
	case ClientClock:
		if e.at != e.Arrival.At {
			w.Numbers = append(w.Numbers, fmt.Sprintf("this client's clock says %s: it is %s ahead",
				e.setup.clock(e.at), Seconds(e.at.Sub(e.Arrival.At))))
		}
	}
	w.Numbers = append(w.Numbers,
		fmt.Sprintf("%s%s, %s] holds %d", open, e.setup.clock(e.at.Add(-e.limit.Window)), e.setup.clock(e.at), e.look.Used),
		e.sum(float64(e.look.Used)))
	return w
}

func (e *explainer) sliding() Working {
	product := float64(e.look.Previous) * e.look.Weight
	rounded, how := product, ""
	if e.terms.Rounding != convention.Exact {
		rounded = e.look.Estimate - float64(e.look.Current)
		how = collect.If(e.terms.Rounding == convention.Floor, ", floor ", ", round ") + Number(rounded)
	}
	total, limit, n := rounded+float64(e.look.Current), float64(e.limit.Count), float64(e.Arrival.Cost)
	compared := collect.If(e.terms.Rule == convention.Below, total, total+n)
	d := telling(compared, limit)
	if how != "" {
		d = max(d, telling(product, rounded))
	}
	factor, shown := weightedTo(e.look.Previous, e.look.Weight, d)
	sum := fmt.Sprintf("%s + %d = %s, and %s", decimals(rounded, d), e.look.Current, decimals(total, d), e.sum(total))
	if e.terms.Rule == convention.Fits {
		sum = fmt.Sprintf("%s + %d + %s = %s %s %d", decimals(rounded, d), e.look.Current, Number(n), decimals(total+n, d),
			e.sign("<=", ">"), e.limit.Count)
	}
	// How long the window before is over, a whole window at most.
	gone := time.Duration((1 - e.look.Weight) * float64(e.limit.Window)).Round(time.Microsecond)
	ended := e.at.Add(-gone)
	return Working{
		Rule: e.rule("previous × weight + current"),
		Numbers: []string{
			fmt.Sprintf("weight = 1 - %s/%s = %s", Seconds(gone), Seconds(e.limit.Window), factor),
			fmt.Sprintf("%d × %s = %s%s", e.look.Previous, factor, shown, how),
			sum,
		},
		Terms: []Meaning{
			{"previous", ended.Add(-e.limit.Window), ended - 1, e.look.Previous,
				fmt.Sprintf("previous: %d in the window before, over by %s", e.look.Previous, e.setup.clock(ended))},
			{"weight", e.at.Add(-e.limit.Window), ended - 1, -1,
				fmt.Sprintf("weight: the part of that window since %s", e.setup.clock(e.at.Add(-e.limit.Window)))},
			e.current(),
		},
	}
}

// Interval returns the emission interval T = W/L, to the nearest microsecond; 0 under a
// limit of 0.
func Interval(l limiter.Limit) time.Duration {
	if l.Count == 0 {
		return 0
	}
	return time.Duration(math.Round(float64(l.Window/time.Microsecond)/float64(l.Count))) * time.Microsecond
}

// Ahead returns how far the TAT of GCRA is ahead of an instant, as a time and in emission
// intervals; 0 where it has passed.
func Ahead(state limiter.State, at limiter.Instant, l limiter.Limit) (time.Duration, float64) {
	micros := float64(state.TAT - at)
	if state.Parts > 0 {
		micros += float64(state.Part) / float64(state.Parts)
	}
	if micros <= 0 || state.TAT == 0 {
		return 0, 0
	}
	return time.Duration(math.Ceil(micros)) * time.Microsecond, micros * float64(l.Count) / float64(l.Window/time.Microsecond)
}

// gcra counts in emission intervals, so that the sum is one of plain numbers whatever T is.
func (e *explainer) gcra() Working {
	ahead, steps := Ahead(e.Before, e.at, e.limit)
	n, room := float64(e.Arrival.Cost), float64(e.Candidate.Room(e.limit))
	d, interval := telling(steps+n, room), float64(e.limit.Window)/float64(max(e.limit.Count, 1))
	return Working{
		Rule: "max(TAT, now) + n × T <= now + B × T",
		Terms: []Meaning{
			e.ahead("TAT", e.at, ahead, "the requests before are spread until"),
			e.ahead("n × T", e.at.Add(ahead), time.Duration(n*interval), "with this one it would stand"),
			e.ahead("B × T", e.at, time.Duration(room*interval), "it may stand"),
		},
		Numbers: []string{
			fmt.Sprintf("T = %s/%d = %s, B = %s", Seconds(e.limit.Window), e.limit.Count, Seconds(Interval(e.limit)), Number(room)),
			fmt.Sprintf("TAT is %s ahead of now, that is %s T", Seconds(ahead), decimals(steps, d)),
			fmt.Sprintf("%s T + %s T = %s T %s %s T", decimals(steps, d), Number(n), decimals(steps+n, d), e.sign("<=", ">"), Number(room)),
		},
	}
}

func (e *explainer) bucket() Working {
	before := e.Before.Clone()
	level := before.LevelAt(e.at, e.limit, e.terms)
	perSecond := Number(float64(e.limit.Count)/e.limit.Window.Seconds()) + "/s"
	n, room := float64(e.Arrival.Cost), float64(e.Candidate.Room(e.limit))
	if e.Candidate.Algorithm == limiter.LeakyBucket {
		d, turn := telling(level+n, room), ""
		if e.Candidate.Queues() && e.Decision.Allowed {
			turn = ", so its turn comes in " + Seconds(e.look.ResetAfter)
		}
		return Working{
			Rule:  "level + n <= B, draining at L/W",
			Terms: []Meaning{e.ahead("level", e.at, e.look.ResetAfter, "empty")},
			Numbers: []string{
				fmt.Sprintf("drains at %s, B = %s", perSecond, Number(room)),
				"level = " + decimals(level, d) + turn,
				fmt.Sprintf("%s + %s = %s %s %s", decimals(level, d), Number(n), decimals(level+n, d), e.sign("<=", ">"), Number(room)),
			},
		}
	}
	how, rule := "refills at "+perSecond, "tokens >= n, refilling at L/W up to B"
	if e.terms.Refill == convention.Interval {
		rule = "tokens >= n, refilling L each W up to B"
		how = fmt.Sprintf("refills %d each %s, from the request that found it full", e.limit.Count, Seconds(e.limit.Window))
	}
	tokens := decimals(level, telling(level, n))
	return Working{
		Rule:  rule,
		Terms: []Meaning{e.ahead("tokens", e.at, e.look.ResetAfter, "full")},
		Numbers: []string{
			how + ", B = " + Number(room),
			"tokens = " + tokens,
			fmt.Sprintf("%s tokens %s %s", tokens, e.sign(">=", "<"), Number(n)),
		},
	}
}

// verdict writes what was decided, or would be, and what follows from it.
func (e *explainer) verdict() string {
	d := e.Decision
	switch {
	case d.Allowed && e.limit.Count == 0:
		return "admitted: " + strconv.FormatInt(d.Used, 10) + " counted"
	case d.Allowed && !e.Decided:
		return fmt.Sprintf("admitted: there is room for %d", e.Room())
	case d.Allowed:
		return fmt.Sprintf("admitted: room for %d is left, as new in %s", e.Room(), Seconds(d.ResetAfter))
	case d.RetryAfter == limiter.Never:
		return "denied: never admitted, for it costs more than there ever is"
	}
	text := fmt.Sprintf("denied: next slot in %s, at %s", Seconds(d.RetryAfter), e.setup.clock(e.Arrival.At.Add(d.RetryAfter)))
	if e.Decided || e.terms.Denied == convention.Free || e.Candidate.Bursts() {
		return text
	}
	after := e.After.Peek(e.at, e.limit, e.terms, e.Arrival.Cost)
	if after.RetryAfter <= d.RetryAfter {
		return text
	}
	return text + "; to send it now moves that to " + e.setup.clock(e.Arrival.At.Add(after.RetryAfter))
}

// Room returns how many requests of cost 1 would be admitted after the decision. A rule
// that asks only whether anything of the limit is left admits one more into a part of a unit.
func (m Moment) Room() int64 {
	d, limit := m.Decision, m.setup.Limit.Count
	if m.Candidate.Convention(m.setup.Convention).Rule == convention.Below && describe.KindOf(m.Candidate.Algorithm) == describe.Weighted &&
		limit > 0 {
		return max(int64(math.Ceil(float64(limit)-d.Estimate)), 0)
	}
	return d.Remaining
}

// Every screen and text of the lab writes numbers and times with the functions of this
// file, so that one number has one rounding and sums that are written out add up.

// usualDecimals is how many decimals a number has at most, unless a comparison needs more.
const usualDecimals = 3

// mostDecimals is how many decimals a comparison may need.
const mostDecimals = 12

// Number writes a value with as few decimals as tell it, at most three.
func Number(v float64) string { return decimals(v, usualDecimals) }

// decimals writes a value with at most so many decimals, halves rounded up. A value that is
// a half but for the last bits of a double counts as one, so that v, and v and a whole
// number, are rounded alike.
func decimals(v float64, most int) string {
	if scaled := v * math.Pow10(most); math.Abs(scaled) < 1<<50 {
		v = math.Floor(scaled+0.5+1e-6) / math.Pow10(most)
	}
	s := strconv.FormatFloat(v, 'f', most, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// telling returns how many decimals, three or more, v needs so that what is written
// compares with a limit as v itself does.
func telling(v, limit float64) int {
	for d := usualDecimals; d < mostDecimals; d++ {
		shown, err := strconv.ParseFloat(decimals(v, d), 64)
		if err == nil && (shown < limit) == (v < limit) && (shown > limit) == (v > limit) {
			return d
		}
	}
	return mostDecimals
}

// Weighted writes the weight of the previous window and what previous × weight comes to,
// so that a reader who multiplies comes to the same.
func Weighted(previous int64, weight float64) (factor, product string) {
	return weightedTo(previous, weight, usualDecimals)
}

func weightedTo(previous int64, weight float64, most int) (factor, product string) {
	product = decimals(float64(previous)*weight, most)
	for digits := most; digits < mostDecimals; digits++ {
		factor = decimals(weight, digits)
		if short, err := strconv.ParseFloat(factor, 64); err == nil && decimals(float64(previous)*short, most) == product {
			break
		}
	}
	return factor, product
}

// Seconds writes a time in seconds, to the microsecond and without what is zero. Instants
// and waits of the lab are whole microseconds, so nothing is rounded but a fraction of one.
func Seconds(d time.Duration) string {
	return decimals(float64(d.Round(time.Microsecond)/time.Microsecond)/1e6, 6) + " s"
}

// clock writes an instant as the time of the story.
func (s *Setup) clock(t limiter.Instant) string { return Seconds(t.Sub(s.Zero)) }
