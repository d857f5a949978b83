package lab

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
)

// Score is how well one algorithm was predicted.
type Score struct {
	Asked, Right           int // admitted or denied
	SlotsAsked, SlotsRight int // and when the next slot frees, asked of denied requests
}

// Plus returns both scores together.
func (s Score) Plus(o Score) Score {
	return Score{s.Asked + o.Asked, s.Right + o.Right, s.SlotsAsked + o.SlotsAsked, s.SlotsRight + o.SlotsRight}
}

// Question is a request that is about to be decided.
type Question struct {
	Candidate int
	Moment    Moment          // holds the answer
	Slots     []time.Duration // when might a slot free: one is right; only for a denied request
	Slot      int             // which
}

// Quiz stops a stream of requests before a decision and asks what will come of it. Make
// one with NewQuiz.
type Quiz struct {
	Run      *Run
	Question Question
	setup    Setup
	traffic  func() (*Workload, error)
	random   *rand.Rand
	turn     int
}

// NewQuiz returns a quiz about the candidates of a setup under traffic, which returns its
// workload from the beginning at every call; without traffic it makes up some that is neither
// always admitted nor always denied. Traffic that ends begins again. The same seed asks
// the same questions.
func NewQuiz(s Setup, traffic func() (*Workload, error), seed uint64) (*Quiz, error) {
	if s.Limit.Count == 0 { // nothing is ever denied: that is no question
		s.Limit.Count = 5
	}
	if traffic == nil {
		traffic = func() (*Workload, error) {
			src, err := Mix(fair(s.Limit), s, seed)
			return NewWorkload(src), err
		}
	}
	q := &Quiz{setup: s, traffic: traffic, random: rand.New(rand.NewPCG(seed, 77))}
	if err := q.begin(); err != nil {
		return nil, err
	}
	if _, comes := q.Run.Upcoming(); !comes {
		return nil, errors.New("no request comes")
	}
	q.Run.SeekTo(s.Zero.Add(s.Limit.Window))
	q.Next()
	return q, nil
}

// fair is traffic of which much is admitted under a limit and much is denied.
func fair(l limiter.Limit) []Traffic {
	perSecond, ms := float64(l.Count)/l.Window.Seconds(), float64(l.Window.Microseconds())/1e3
	return []Traffic{
		{Model: Poisson, PerSecond: min(max(perSecond*0.7, 1e-6), maxPerSecond)},
		{Model: OnOff, PerSecond: min(max(perSecond*3, 1e-6), maxPerSecond), OnMS: 1 + ms*0.4, OffMS: ms * 1.1},
	}
}

// begin goes to the beginning of the traffic.
func (q *Quiz) begin() error {
	workload, err := q.traffic()
	if err == nil {
		q.Run = NewRun(q.setup, workload)
	}
	return err
}

// lookAhead is how many requests may pass while the quiz looks for one worth asking about.
const lookAhead = 400

// Next goes on to the next question. Half of them are about denied requests, as far as
// there are any, and the algorithms take turns.
func (q *Quiz) Next() {
	c := q.turn % len(q.setup.Candidates)
	q.turn++
	denied := q.random.IntN(2) == 0
	for range 1 + q.random.IntN(3) {
		q.Run.Step()
	}
	for range lookAhead {
		m, ok := q.upcoming(c)
		if !ok || m.Decision.Allowed != denied {
			break
		}
		q.Run.Step()
	}
	m, ok := q.upcoming(c)
	if !ok && q.begin() == nil { // the traffic is over
		m, _ = q.upcoming(c)
	}
	q.Run.now = max(q.Run.now, m.Arrival.At) // the request comes now
	q.Question = Question{Candidate: c, Moment: m}
	if !m.Decision.Allowed && m.Decision.RetryAfter != limiter.Never {
		q.slots(m.Decision.RetryAfter)
	}
}

// upcoming steps to the next request that is sent to candidate c and returns it, if there
// is one.
func (q *Quiz) upcoming(c int) (Moment, bool) {
	for {
		a, ok := q.Run.Upcoming()
		if !ok {
			return Moment{}, false
		}
		if a.sentTo(c) {
			return q.Run.Inspect(c, q.Run.Decided())
		}
		q.Run.Step()
	}
}

// slots makes three times to choose from, of which one is right.
func (q *Quiz) slots(right time.Duration) {
	w := q.setup.Limit.Window
	list := []time.Duration{right}
	for _, d := range []time.Duration{w - right, right / 2, right + w/4, w, 2 * right} {
		far := !slices.ContainsFunc(list, func(o time.Duration) bool { return d-o < w/20 && o-d < w/20 })
		if d > 0 && far && len(list) < 3 {
			list = append(list, d)
		}
	}
	slices.Sort(list)
	q.Question.Slots, q.Question.Slot = list, slices.Index(list, right)
}
