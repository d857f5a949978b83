package lab

import (
	"math/rand/v2"
	"time"

	"ratescope/limiter"
)

// Suspect is a limiter that a black box may hold.
type Suspect struct {
	Name      string
	Algorithm limiter.Algorithm
	Terms     limiter.Convention
}

// Suspects returns the limiters that a black box may hold: they differ in algorithm, edge,
// rounding, and in whether a denied request is charged.
func Suspects() []Suspect {
	return []Suspect{
		{"fixed window", limiter.FixedWindow, limiter.Convention{}},
		{"sliding log", limiter.SlidingLog, limiter.Convention{}},
		{"sliding log, closed edge", limiter.SlidingLog, limiter.Convention{Edge: limiter.EdgeClosed}},
		{"sliding log, denied charged", limiter.SlidingLog, limiter.Convention{Denied: limiter.DeniedCharged}},
		{"sliding window counter, rounded down", limiter.SlidingWindow, limiter.Convention{Rounding: limiter.RoundFloor}},
		{"sliding window counter, exact", limiter.SlidingWindow, limiter.Convention{Rounding: limiter.RoundExact}},
		{"GCRA", limiter.GCRA, limiter.Convention{}},
	}
}

// boxLimit is what every box allows, and boxGrid into how many steps its window is divided: a
// request can be fired at each of them.
var boxLimit = limiter.Limit{Count: 3, Window: 10 * time.Second}

const boxGrid = 20

// BoxWaits are the steps that a person may wait before a request, in twentieths of the window.
var BoxWaits = []int{0, 1, 5, 10, 20, 40}

// Tried is a request that was fired at a box.
type Tried struct {
	At       time.Duration // since the box was handed over
	Admitted bool
}

// Box is a limiter that a person has to name by firing at it. Make one with NewBox. Not safe for
// concurrent use.
type Box struct {
	Limit    limiter.Limit
	Suspects []Suspect
	Tried    []Tried // in the order of time

	hidden int
	state  limiter.State
	zero   limiter.Instant
	now    limiter.Instant
}

// NewBox hides one of the suspects, the same for the same seed.
func NewBox(seed uint64) *Box {
	b := &Box{Limit: boxLimit, Suspects: Suspects()}
	b.hidden = rand.New(rand.NewPCG(seed, 16)).IntN(len(b.Suspects))
	b.zero = storyBegins.Floor(b.Limit.Window).Add(3 * b.step())
	b.now = b.zero
	b.state = limiter.State{Algorithm: b.Suspects[b.hidden].Algorithm}
	return b
}

func (b *Box) step() time.Duration { return b.Limit.Window / boxGrid }

// Elapsed returns how long ago the box was handed over.
func (b *Box) Elapsed() time.Duration { return b.now.Sub(b.zero) }

// Edge returns how long it is to the next tick of the clock at which a fixed window would begin.
func (b *Box) Edge() time.Duration { return b.now.Floor(b.Limit.Window).Add(b.Limit.Window).Sub(b.now) }

// Length returns how long so many twentieths of the window are.
func (b *Box) Length(steps int) time.Duration { return time.Duration(steps) * b.step() }

// Wait lets so many twentieths of the window pass.
func (b *Box) Wait(steps int) { b.now = b.now.Add(b.Length(steps)) }

// Fire sends one request and returns whether it was admitted.
func (b *Box) Fire() bool {
	s := b.Suspects[b.hidden]
	admitted := b.state.Take(b.now, b.Limit, s.Terms, 1).Allowed
	b.Tried = append(b.Tried, Tried{b.Elapsed(), admitted})
	return admitted
}

// Fits reports whether a suspect would have answered all requests so far as the box did.
func (b *Box) Fits(suspect int) bool {
	s := b.Suspects[suspect]
	state := limiter.State{Algorithm: s.Algorithm}
	for _, t := range b.Tried {
		if state.Take(b.zero.Add(t.At), b.Limit, s.Terms, 1).Allowed != t.Admitted {
			return false
		}
	}
	return true
}

// Hidden returns the number of the suspect in the box.
func (b *Box) Hidden() int { return b.hidden }
