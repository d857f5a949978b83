// Package bench finds out by experiment what a limiter does: which algorithm it is, how much it admits in a
// window at most, and which of the faults that limiters have it has, each with the shortest traffic that
// shows it. It sends requests at instants of its own choosing and looks at the answers, and at what is
// stored where the limiter keeps something. It knows the algorithms of package limiter and has no arithmetic of its own.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/collect"
)

// Answer is what became of one request.
type Answer struct {
	Admitted bool
	Err      error // the limiter failed: it has not answered
	Own      bool  // the error is a text of its author's, with which it may deny
}

// Subject is a limiter under test. It is for one goroutine.
type Subject interface {
	// Reset forgets everything, so that the next request finds a new key.
	Reset() error
	// Admit decides about a request of a cost at an instant, which may be before the last one.
	Admit(at limiter.Instant, cost int64) Answer
}

// Key is one key that a limiter keeps.
type Key struct {
	Name, Type string
	Size       int64         // elements, or the length of a string
	Value      any           // what is in it, to compare
	Expires    time.Duration // from now; -1 is never
}

// Store is a Subject that keeps keys which can be looked at.
type Store interface {
	Subject
	Keys() ([]Key, error)
	// Undeclared returns the keys that it has touched since Reset and was not given, and whether all of them
	// are in the slot of one that it was given, by their hash tags.
	Undeclared() (keys []string, near bool)
	Commands() int                      // how many commands the last request ran
	Traffic() string                    // and their words
	Drift(client, server time.Duration) // by how much the clocks are off the instants of requests, until Reset
	Persist(on bool)                    // keys that have an expiry do not expire for a century
	Told(l limiter.Limit)               // makes it be told another limit from the next request on
}

// Step is requests at one instant.
type Step struct {
	At   time.Duration // since a zero that is aligned to the window
	N    int64
	Cost int64 // of each; 0 is 1
}

func (s Step) cost() int64 { return max(s.Cost, 1) }

// Zero is the instant at which traffic begins: a multiple of the window.
func Zero(w time.Duration) limiter.Instant {
	return limiter.InstantOf(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)).Floor(w)
}

var (
	// ErrMeans is an error of the experiment, not of the limiter: it ends the experiments.
	ErrMeans = errors.New("the experiment failed")
	// ErrEndless is a limiter that does not answer. It ends the experiments too, and is a finding.
	ErrEndless = errors.New("the limiter does not end")

	errSpent = errors.New("the bound on requests is reached")
)

type player struct {
	subject Subject
	zero    limiter.Instant
	sent    int64
	all     bool          // a step is not over after two denials
	most    int64         // requests in all; 0 is no bound
	cap     int64         // requests of one traffic, after which it is cut off; 0 is no bound
	cut     bool          // the last traffic was cut off
	spread  time.Duration // between requests of one step
	past    []Step        // sent since the subject was reset, before what is sent now
	failed  []Step        // the shortest traffic after which the subject failed, and why
	why     error
	own     []refusal // errors of its author's, a text each
}

// refusal is an error of the limiter's author, and the shortest traffic that leads to it.
type refusal struct {
	text  string // with every number as #
	err   error
	steps []Step
}

// refuse keeps an error with which the limiter may deny.
func (p *player) refuse(err error, sofar []Step) {
	one := refusal{numbers.ReplaceAllString(err.Error(), "#"), err, sofar}
	i := slices.IndexFunc(p.own, func(r refusal) bool { return r.text == one.text })
	if i < 0 {
		p.own = append(p.own, one)
	} else if requests(sofar) < requests(p.own[i].steps) {
		p.own[i] = one
	}
}

// play sends traffic to a new key and returns how many of each step were admitted. A step is over after two
// denials in a row: at one instant nothing comes back.
func (p *player) play(steps []Step) ([]int64, error) {
	if err := p.reset(); err != nil {
		return nil, err
	}
	return p.goOn(steps)
}

func (p *player) reset() error {
	p.past = nil
	return p.subject.Reset()
}

// goOn sends traffic to the key as it is.
func (p *player) goOn(steps []Step) ([]int64, error) {
	admitted := make([]int64, len(steps))
	defer func() { p.past = append(p.past, steps...) }()
	last, end := p.zero.Add(-time.Hour), p.sent+p.cap
	p.cut = false
	for i, s := range steps {
		denied := 0
		for k := int64(0); k < s.N && (denied < 2 || p.all); k++ {
			if p.cut = p.cap > 0 && p.sent >= end; p.cut {
				return admitted, nil
			}
			if p.sent++; p.most > 0 && p.sent > p.most {
				return admitted, errSpent
			}
			at := p.zero.Add(s.At + time.Duration(k)*p.spread)
			if p.spread > 0 {
				at = max(at, last.Add(p.spread))
			}
			last = at
			a := p.subject.Admit(at, s.cost())
			switch {
			case a.Err != nil:
				sofar := joined(slices.Concat(p.past, steps[:i], []Step{{At: s.At, N: k + 1, Cost: s.Cost}}))
				if a.Own {
					p.refuse(a.Err, sofar)
				} else if p.why == nil || requests(sofar) < requests(p.failed) {
					p.failed, p.why = sofar, a.Err
				}
				if denied++; errors.Is(a.Err, ErrMeans) || errors.Is(a.Err, ErrEndless) {
					return admitted, a.Err
				}
			case a.Admitted:
				admitted[i]++
				denied = 0
			default:
				denied++
			}
		}
	}
	return admitted, nil
}

func requests(steps []Step) int64 {
	return collect.Sum(steps, func(s Step) int64 { return s.N })
}

type simulated struct {
	Candidate
	memory *limiter.Memory
	kept   limiter.Limit // of the memory: a bucket that charges denied requests is one that never denies
	most   int64         // used of that at the most
	now    limiter.Instant
	used   int64           // of the window
	ends   limiter.Instant // of that window, or of a block
	denied int64           // counted towards a block
	until  limiter.Instant // for which they are
}

// Subject returns the candidate as a limiter.
func (c Candidate) Subject() Subject {
	if c.Beside == nil {
		return c.alone()
	}
	var all several
	for o := &c; o != nil; o = o.Beside {
		all = append(all, o.alone())
	}
	return all
}

// alone is the candidate without what stands beside it.
func (c Candidate) alone() *simulated {
	s := &simulated{Candidate: c, kept: c.Limit, most: math.MaxInt64}
	if c.Algorithm.Bursts() && c.Terms.Denied == convention.Charged {
		s.most = cmp.Or(c.Limit.Burst, c.Limit.Count)
		s.kept.Burst = 1000 * s.most
	}
	s.memory, _ = limiter.NewMemory(c.Algorithm, limiter.WithConvention(c.Terms),
		limiter.WithClock(func() limiter.Instant { return s.now }))
	return s
}

func (s *simulated) Reset() error {
	s.used, s.ends, s.denied, s.until = 0, 0, 0, 0
	return s.memory.Reset(context.Background(), who, s.Limit)
}

func (s *simulated) Admit(at limiter.Instant, cost int64) Answer {
	s.now = at.Floor(s.Grain)
	blocked := s.Block > 0 && s.now < s.ends
	var out Answer
	if !blocked {
		out = s.decide(cost)
	}
	if s.Block > 0 && !out.Admitted && (blocked && s.Extended || !blocked && s.bans()) {
		s.ends = s.now.Add(s.Block)
	}
	return out
}

// decide is Admit without a block.
func (s *simulated) decide(cost int64) Answer {
	if !s.Renewed {
		d, err := s.memory.AllowN(context.Background(), who, s.kept, cost)
		s.used = d.Used
		return Answer{Admitted: d.Allowed && d.Used <= s.most, Err: err}
	}
	if s.now >= s.ends {
		s.used = 0
	}
	fits := s.used+cost <= s.Limit.Count
	if fits || s.Terms.Denied == convention.Charged {
		s.used, s.ends = s.used+cost, s.now.Add(s.Limit.Window)
	}
	return Answer{Admitted: fits}
}

const who = "a" // is limited by a candidate

// same reports whether two looks at the keys found the same in them, whatever their expiries and the times of sorted sets:
// an entry that is written once more is no other.
func same(a, b []Key) bool {
	return slices.EqualFunc(a, b, func(x, y Key) bool {
		list, ok := x.Value.([]any)
		other, too := y.Value.([]any)
		if x.Name != y.Name || x.Type != y.Type || x.Type != "zset" || !ok || !too || len(list) != len(other) {
			return x.Name == y.Name && x.Type == y.Type && reflect.DeepEqual(x.Value, y.Value)
		}
		for i := range list {
			score, err := strconv.ParseFloat(fmt.Sprint(other[i]), 64)
			if list[i] != other[i] && (i%2 == 0 || err != nil || score < timelike) {
				return false
			}
		}
		return true
	})
}

// Words writes traffic, as "10 at 9.999 s, 10 at 10 s".
func Words(steps []Step) string {
	const shown = 8
	text := ""
	for i, s := range steps {
		if i == shown && len(steps) > shown+1 {
			return fmt.Sprintf("%s, and %d more until %s", text, requests(steps[i:]), seconds(steps[len(steps)-1].At))
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d at %s", s.N, seconds(s.At))
		if s.Cost > 1 {
			text += fmt.Sprintf(" of cost %d", s.Cost)
		}
	}
	return text
}

// seconds writes a time in seconds without rounding it.
func seconds(d time.Duration) string { return fmt.Sprintf("%g s", float64(d.Microseconds())/1e6) }
