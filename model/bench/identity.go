package bench

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
)

// Identity is which algorithm a limiter is, as far as its answers tell.
type Identity struct {
	Candidate      // the zero Candidate where none fits
	Exact     bool // it answered every request as the candidate would; else it is the nearest
	Agrees    int  // of Asked steps of traffic
	Asked     int
	Charged   *bool // whether denied requests are charged; nil where it is not known
	Against   []Against
	alike     []Candidate // that answer as it does, where it is exact
}

// Rounding says what becomes of the share of the window before, as far as the answers tell; "" where there is none.
func (id Identity) Rounding() string {
	switch {
	case id.Algorithm != limiter.SlidingWindow:
		return ""
	case slices.ContainsFunc(id.alike, func(c Candidate) bool { return c.Algorithm == id.Algorithm && c.Terms.Rounding != id.Terms.Rounding }):
		return "rounded down or exact: no traffic of whole requests tells them apart"
	}
	return [...]string{"rounded down", "exact", "rounded"}[id.Terms.Rounding]
}

// Against is the first step that speaks against an algorithm: against its candidate that agreed the longest.
type Against struct {
	Algorithm limiter.Algorithm
	Limit     limiter.Limit
	Steps     []Step
	Text      string
}

// speaks keeps what speaks against a candidate, and reports whether a step does.
func (b *identifier) speaks(c Candidate, steps []Step, got []int64) bool {
	want := b.answers(c, steps)
	i := firstUnlike(got, want)
	if i < 0 {
		return false
	}
	s, text := steps[i], ""
	if i > 0 {
		text = "after " + Words(joined(steps[:i])) + ": "
	}
	said := map[bool][2]string{true: {"admitted", "deny"}, false: {"denied", "admit"}}[got[i] > want[i]]
	text += fmt.Sprintf("request %d at %s was %s, and it would %s that", min(got[i], want[i])+1, seconds(s.At), said[0], said[1])
	of := func(a Against) bool { return a.Algorithm == c.Algorithm }
	if told := c.Limit.Window == b.limit.Window && c.Grain == 0 && c.After == 0; told || !slices.ContainsFunc(b.against, of) {
		b.against = append(slices.DeleteFunc(b.against, of), Against{c.Algorithm, c.Limit, joined(steps[:i+1]), text})
	}
	return true
}

// others returns what speaks against the algorithms of which no candidate is left.
func (b *identifier) others(left []Candidate) []Against {
	all := slices.DeleteFunc(slices.Clone(b.against), func(a Against) bool {
		return slices.ContainsFunc(left, func(c Candidate) bool { return c.Algorithm == a.Algorithm })
	})
	slices.SortFunc(all, func(x, y Against) int { return cmp.Compare(x.Algorithm, y.Algorithm) })
	return all
}

// Shares of the steps that the nearest candidate has to answer as the limiter does: where what is stored is
// typical of its algorithm, and where nothing else speaks for it.
const (
	enoughTypical = 0.6
	enough        = 0.9
	nearly        = 0.97 // for two counters where one was seen
)

// stores reports whether a candidate would store what the limiter does.
func (b *identifier) stores(c Candidate) bool {
	if b.stored.Bursts() {
		return c.Algorithm.Bursts() && (c.Terms.Refill != convention.Interval || b.stored == limiter.TokenBucket)
	}
	return describe.KindOf(c.Algorithm) == describe.KindOf(b.stored)
}

// nearest returns the candidate that agrees most, if that is enough.
func (b *identifier) nearest(all []Candidate) Identity {
	best, typical := Identity{Asked: b.steps()}, Identity{Asked: b.steps()}
	told := 0 // a step in fifty does not speak for another limit than it is told
	for _, c := range all {
		n := b.agrees(c)
		if n > best.Agrees {
			best.Candidate, best.Agrees = c, n
		}
		more := 0
		if c.Limit.Count == b.limit.Count && c.Limit.Window == b.limit.Window {
			more = best.Asked / 50
		}
		counters := c.Algorithm == limiter.SlidingWindow && b.stored == limiter.FixedWindow && float64(n) >= nearly*float64(best.Asked)
		if n+more > typical.Agrees+told && !c.Renewed && (b.stores(c) || counters) {
			typical.Candidate, typical.Agrees, told = c, n, more
		}
	}
	switch asked := float64(best.Asked); {
	case float64(typical.Agrees) >= enoughTypical*asked:
		return typical
	case float64(best.Agrees) >= enough*asked:
		return best
	}
	return Identity{Asked: best.Asked, Agrees: best.Agrees}
}

// bans finds out whether many denials, late in the wait for what comes back, keep all others out, as one does not.
func (b *identifier) bans(begin time.Duration) error {
	late, w := (b.m.first * 9 / 10).Truncate(time.Millisecond), b.limit.Window
	denied := func(n int64, d time.Duration) (bool, error) {
		steps := append([]Step{{At: begin, N: b.m.capacity}}, slices.Repeat([]Step{{At: begin + late, N: 1}}, int(n))...)
		got, err := b.play(append(steps, Step{At: begin + max(d, late), N: 1}))
		return err == nil && got[n+1] == 0, err
	}
	high := min(b.burst(), 2*large+16)
	if is, err := denied(high, b.m.first+w/5); err != nil || !is {
		return err
	}
	high = int64(sort.Search(int(high), func(n int) bool { is, err := denied(int64(n), b.m.first+w/5); return err != nil || is }))
	hints := []time.Duration{late + w, late + time.Minute, late + 5*time.Minute, late + time.Hour}
	again, err := b.earliest(hints, func(d time.Duration) (bool, error) { is, err := denied(high, d); return err == nil && !is, err })
	if b.m.after, b.m.block = high, again-late; again == 0 {
		b.m.block = Forever
	}
	return err
}

// bans counts a denial, and reports whether it begins a block.
func (s *simulated) bans() bool {
	switch {
	case s.After == 0:
		return true
	case s.Within == 0:
		return s.used-s.Limit.Count >= s.After
	case s.now >= s.until:
		s.denied, s.until = 0, s.now.Add(s.Within)
	}
	if s.Recent {
		s.until = s.now.Add(s.Within)
	}
	if s.denied++; s.denied >= s.After {
		s.until = 0
		return true
	}
	return false
}
