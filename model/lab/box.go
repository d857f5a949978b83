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
	terms := func(change func(*limiter.Convention)) (c limiter.Convention) {
		if change != nil {
			change(&c)
		}
		return c
	}
	charged := func(c *limiter.Convention) { c.Denied = limiter.DeniedCharged }
	return []Suspect{
		{"fixed window", limiter.FixedWindow, terms(nil)},
		{"sliding log", limiter.SlidingLog, terms(nil)},
		{"sliding log, closed edge", limiter.SlidingLog, terms(func(c *limiter.Convention) { c.Edge = limiter.EdgeClosed })},
		{"sliding log, denied charged", limiter.SlidingLog, terms(charged)},
		{"sliding window counter, rounded down", limiter.SlidingWindow, terms(func(c *limiter.Convention) { c.Rounding = limiter.RoundFloor })},
		{"sliding window counter, exact", limiter.SlidingWindow, terms(func(c *limiter.Convention) { c.Rounding = limiter.RoundExact })},
		{"GCRA", limiter.GCRA, terms(nil)},
	}
}

// boxLimit is what every box allows, and boxGrid into how many steps its window is divided: a
// request can be fired at each of them.
var boxLimit = limiter.Limit{Count: 3, Window: 10 * time.Second}

const boxGrid = 20

// BoxWaits are the steps that a person, and the strategy of the program, may wait before a
// request, in twentieths of the window.
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
	needs  []int // requests that the strategy takes to name each suspect
	class  []int // suspects of one class cannot be told apart by the steps there are
}

// NewBox hides one of the suspects, the same for the same seed. It works out the strategy that
// the person is compared with, which takes some hundredths of a second.
func NewBox(seed uint64) *Box {
	b := &Box{Limit: boxLimit, Suspects: Suspects()}
	b.hidden = rand.New(rand.NewPCG(seed, 16)).IntN(len(b.Suspects))
	b.zero = storyBegins.Floor(b.Limit.Window).Add(3 * b.step())
	b.now = b.zero
	b.state = limiter.State{Algorithm: b.Suspects[b.hidden].Algorithm}
	b.solve()
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

// Guess reports whether a suspect is the one in the box, or one that cannot be told from it.
func (b *Box) Guess(suspect int) bool { return b.class[suspect] == b.class[b.hidden] }

// Hidden returns the number of the suspect in the box.
func (b *Box) Hidden() int { return b.hidden }

// Needs returns how many requests the strategy of the program takes to name what is in the box,
// and how many for the suspect that takes most.
func (b *Box) Needs() (this, most int) {
	for _, n := range b.needs {
		most = max(most, n)
	}
	return b.needs[b.hidden], most
}

// joint is what all suspects that are still possible would hold after the same requests.
type joint struct {
	suspects []int
	states   []limiter.State
	at       limiter.Instant
}

// solve works out the strategy: from what is known, the shortest row of requests whose last one
// tells some suspects from others; among rows of that length the one that leaves fewest on the
// greater side; and so on with both sides.
func (b *Box) solve() {
	b.needs, b.class = make([]int, len(b.Suspects)), make([]int, len(b.Suspects))
	j := joint{at: b.zero}
	for i, s := range b.Suspects {
		j.suspects, j.states = append(j.suspects, i), append(j.states, limiter.State{Algorithm: s.Algorithm})
	}
	b.tell(j, 0)
}

// tell goes on from j after so many requests.
func (b *Box) tell(j joint, requests int) {
	if len(j.suspects) > 1 {
		if yes, no, n := b.split(j); n > 0 {
			b.tell(yes, requests+n)
			b.tell(no, requests+n)
			return
		}
	}
	for _, i := range j.suspects {
		b.needs[i], b.class[i] = requests, j.suspects[0]
	}
}

// mostRows bounds the search for a row of requests.
const mostRows = 30_000

// split returns both sides after the shortest row that tells suspects apart, and its length; 0
// where none was found.
func (b *Box) split(from joint) (yes, no joint, n int) {
	row := []joint{from}
	for n, seen := 1, 0; len(row) > 0 && seen < mostRows; n++ {
		var next []joint
		best := len(from.suspects)
		for _, j := range row {
			for _, wait := range BoxWaits {
				seen++
				y, o := b.fire(j, wait)
				switch {
				case len(y.suspects) > 0 && len(o.suspects) > 0:
					if greater := max(len(y.suspects), len(o.suspects)); greater < best {
						best, yes, no = greater, y, o
					}
				case best == len(from.suspects): // nothing was told yet at this length
					next = append(next, joint{j.suspects, append(y.states, o.states...), y.at})
				}
			}
		}
		if best < len(from.suspects) {
			return yes, no, n
		}
		row = next
	}
	return joint{}, joint{}, 0
}

// fire sends one request to all suspects of j after a wait, and returns those that admit it and
// those that do not.
func (b *Box) fire(j joint, wait int) (yes, no joint) {
	at := j.at.Add(b.Length(wait))
	yes.at, no.at = at, at
	for k, i := range j.suspects {
		state, side := j.states[k].Clone(), &no
		if state.Take(at, b.Limit, b.Suspects[i].Terms, 1).Allowed {
			side = &yes
		}
		side.suspects, side.states = append(side.suspects, i), append(side.states, state)
	}
	return yes, no
}
