package bench

import (
	"errors"

	"ratescope/limiter"
)

// Attack searches for the shortest traffic of which a limiter admits more than it was told in one window, with most
// requests to it at the most. Times are since zero, which should be aligned to the window.
func Attack(subject Subject, l limiter.Limit, zero limiter.Instant, most int64) (Worst, error) {
	b := &identifier{limit: l, player: player{subject: subject, zero: zero, most: most}}
	err := b.measure()
	if err == nil && b.m.endless {
		return Worst{Admitted: b.m.capacity, AtLeast: true, Searched: 1, Steps: []Step{{At: 0, N: l.Count + 1}}}, nil
	}
	if err != nil {
		return Worst{}, err
	}
	b.compare()
	var w Worst
	w.Admitted, w.Steps, w.Searched, err = b.worst(Identity{})
	if errors.Is(err, errSpent) {
		err = nil
	}
	return w, err
}
