package lab

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
)

// Score is how well somebody predicted one algorithm.
type Score struct {
	Asked, Right           int // admitted or denied
	SlotsAsked, SlotsRight int // and when the next slot frees, asked of denied requests
}

// Question is a request that is about to be decided.
type Question struct {
	Contender int
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
	traffic  func() (*Tape, error)
	scores   map[Contender]Score
	random   *rand.Rand
	turn     int
}

// NewQuiz returns a quiz about the contenders of a setup under traffic, which returns its
// tape from the beginning at every call; without traffic it makes up some that is neither
// always admitted nor always denied. Traffic that ends begins again. The same seed asks
// the same questions.
func NewQuiz(s Setup, traffic func() (*Tape, error), seed uint64) (*Quiz, error) {
	if s.Limit.Count == 0 { // nothing is ever denied: that is no question
		s.Limit.Count = 5
	}
	if traffic == nil {
		traffic = func() (*Tape, error) { return fair(s, seed) }
	}
	q := &Quiz{setup: s, traffic: traffic, scores: map[Contender]Score{}, random: rand.New(rand.NewPCG(seed, 77))}
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

// fair is traffic of which much is admitted and much is denied.
func fair(s Setup, seed uint64) (*Tape, error) {
	perSecond := float64(s.Limit.Count) / s.Limit.Window.Seconds()
	ms := float64(s.Limit.Window) / float64(time.Millisecond)
	src, err := Mix([]Traffic{
		{Model: Poisson, PerSecond: min(max(perSecond*0.7, 1e-6), maxPerSecond)},
		{Model: OnOff, PerSecond: min(max(perSecond*3, 1e-6), maxPerSecond), OnMS: 1 + ms*0.4, OffMS: ms * 1.1},
	}, s, seed)
	if err != nil {
		return nil, err
	}
	return NewTape(src), nil
}

// begin goes to the beginning of the traffic.
func (q *Quiz) begin() error {
	tape, err := q.traffic()
	if err == nil {
		q.Run = NewRun(q.setup, tape)
	}
	return err
}

// lookAhead is how many requests may pass while the quiz looks for one worth asking about.
const lookAhead = 400

// Next goes on to the next question. Half of them are about denied requests, as far as
// there are any, and the algorithms take turns.
func (q *Quiz) Next() {
	c := q.turn % len(q.setup.Contenders)
	q.turn++
	denied := q.random.IntN(2) == 0
	for range 1 + q.random.IntN(3) {
		q.Run.Step()
	}
	for range lookAhead {
		m, ok := q.Run.Inspect(c, q.Run.Decided())
		if !ok || m.Decision.Allowed != denied {
			break
		}
		q.Run.Step()
	}
	m, ok := q.Run.Inspect(c, q.Run.Decided())
	if !ok && q.begin() == nil { // the traffic is over
		m, _ = q.Run.Inspect(c, 0)
	}
	q.Question = Question{Contender: c, Moment: m}
	if !m.Decision.Allowed && m.Decision.RetryAfter > 0 {
		q.slots(m.Decision.RetryAfter)
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

// Answer books a prediction of the verdict and says whether it was right.
func (q *Quiz) Answer(admitted bool) bool {
	c := q.setup.Contenders[q.Question.Contender]
	s := q.scores[c]
	s.Asked++
	right := admitted == q.Question.Moment.Decision.Allowed
	if right {
		s.Right++
	}
	q.scores[c] = s
	return right
}

// AnswerSlot books a prediction of when a slot frees and says whether it was right.
func (q *Quiz) AnswerSlot(i int) bool {
	c := q.setup.Contenders[q.Question.Contender]
	s := q.scores[c]
	s.SlotsAsked++
	right := i == q.Question.Slot
	if right {
		s.SlotsRight++
	}
	q.scores[c] = s
	return right
}

// Score returns how well one contender has been predicted.
func (q *Quiz) Score(c Contender) Score { return q.scores[c] }

// Total returns all scores together.
func (q *Quiz) Total() Score {
	var t Score
	for _, s := range q.scores {
		t.Asked, t.Right = t.Asked+s.Asked, t.Right+s.Right
		t.SlotsAsked, t.SlotsRight = t.SlotsAsked+s.SlotsAsked, t.SlotsRight+s.SlotsRight
	}
	return t
}

// Due returns the instant of the request that is asked about.
func (q *Quiz) Due() limiter.Instant { return q.Question.Moment.Arrival.At }
