package bench

import (
	"slices"
	"sort"
	"time"
)

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
