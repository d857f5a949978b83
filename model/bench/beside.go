package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
)

// A limiter may keep several limits at once, as 5 in a second and 100 in a minute. The strictest one is told first, by
// traffic too small for the others; then traffic at a pace that it admits fills up the next one.

// several is limits that all have to admit.
type several []*simulated

func (all several) Reset() (err error) {
	for _, s := range all {
		err = errors.Join(err, s.Reset())
	}
	return err
}

func (all several) Admit(at limiter.Instant, cost int64) Answer {
	room := true
	for _, s := range all {
		room = room && s.room(at, cost)
	}
	for _, s := range all {
		if room || s.Terms.Denied == convention.Charged {
			s.Admit(at, cost)
		}
	}
	return Answer{Admitted: room}
}

func (s *simulated) room(at limiter.Instant, cost int64) bool {
	s.now = at.Floor(s.Grain)
	if s.Renewed {
		return s.now >= s.ends || s.used+cost <= s.Limit.Count
	}
	d, err := s.memory.AllowN(context.Background(), who, s.kept, 0)
	return err == nil && d.Remaining >= cost && d.Used+cost <= s.most
}

// pace is traffic that a limit admits for ever: n, and again n each time it is as new. The zero pace is at once.
type pace struct {
	n     int64
	every time.Duration
}

// pace returns the fastest full traffic of a candidate.
func (c Candidate) pace() pace {
	n, every := c.Limit.Count, c.Limit.Window
	switch {
	case c.Algorithm.Bursts():
		n = cmp.Or(c.Limit.Burst, n)
		every = every * time.Duration(n) / time.Duration(c.Limit.Count)
	case c.Algorithm == limiter.SlidingWindow:
		every *= 2
	}
	return pace{n, max(every, c.Grain).Truncate(time.Millisecond) + time.Millisecond + c.Grain}
}

// spread makes traffic that is no faster.
func (p pace) spread(steps []Step) (all []Step) {
	if p.n == 0 {
		return steps
	}
	const most = 2000 // steps
	free := time.Duration(0)
	for _, s := range steps {
		for at := max(s.At, free); s.N > 0 && len(all) < most; s.N -= p.n {
			all = append(all, Step{At: at, N: min(s.N, p.n), Cost: s.Cost})
			at += p.every
			free = at
		}
	}
	return all
}

// aside runs experiments with another limit in mind, and keeps the traffic of them alone.
func (b *identifier) aside(l limiter.Limit, do func() error) error {
	was := *b
	b.limit, b.trials = l, nil
	err := do()
	b.limit, b.m, b.left, b.gaps, b.fewest, b.pace = was.limit, was.m, was.left, was.gaps, was.fewest, was.pace
	b.trials = append(was.trials, b.trials...)
	return err
}

// stricter names the limit that is reached first, by traffic that is too small for another one.
func (b *identifier) stricter() (id Identity, err error) {
	l, small := b.limit, b.m.capacity
	err = b.aside(limiter.Limit{Count: small, Window: l.Window}, func() error {
		b.fewest = 2 * small
		if small < l.Count {
			b.fewest = 3 * small
			if err := b.measure(0); err != nil || b.m.all < limiter.MinWindow {
				return err
			}
			b.limit.Window = b.m.all
		}
		b.compare()
		id, err = b.identify(candidates(b.limit, b.m))
		return err
	})
	return id, err
}

// beside looks for further limits, where the first one that was identified is not all that there is. It returns what the
// limiter is if it found one; Unknown and true is one that it could not name.
func (b *bench) beside(id Identity) (all Identity, found bool, err error) {
	told := b.limit
	if b.m.first == 0 || id.Block > 0 || b.m.block > 0 && b.m.after == 0 { // many denials may fill up a limit beside it
		return id, false, nil
	}
	is := func(l limiter.Limit) bool { return l.Count == told.Count && l.Window == told.Window }
	all = id
	if !id.Exact || b.m.capacity < told.Count && b.m.all <= told.Window/2 {
		all, err = b.stricter()
		if err != nil || !all.Exact || b.m.capacity == told.Count && !is(all.Limit) {
			return id, false, err
		}
	}
	p, known := all.pace(), id.Exact || is(all.Limit)
	list, first := []Candidate{all.Candidate}, full([]Step{{At: 0, N: p.n}})
	const most = 4 // limits
	for len(list) < most {
		fill, end, err := b.endure(all.Candidate, p)
		if err != nil || fill == nil {
			break
		}
		next, err := b.next(all.Candidate, p, fill, end)
		if b.unnamed = !next.Exact; err != nil || b.unnamed && !known {
			return id, false, err
		}
		if len(list) == 1 && (b.unnamed || is(all.Limit)) {
			first = full(fill)
		}
		if b.unnamed {
			b.r.find(UnderAdmits, false, full(fill), "a further limit was seen: the last of these requests is denied, although "+
				"the limit of %d in %s has room for it", all.Limit.Count, seconds(all.Limit.Window))
			if len(list) == 1 && !is(all.Limit) {
				return Identity{Asked: next.Asked, Agrees: next.Agrees}, true, nil
			}
			break
		}
		all, known = next, true
		next.Beside = nil
		list = append(list, next.Candidate)
	}
	if len(list) == 1 {
		if b.unnamed {
			id = all
		}
		return id, b.unnamed, nil
	}
	main := slices.IndexFunc(list, func(c Candidate) bool { return c.Limit.Count == told.Count })
	if main < 0 {
		main = len(list) - 1
	}
	if main > 0 {
		b.pace = p
	}
	all.Candidate = list[main]
	list = slices.Delete(list, main, main+1)
	var words []string
	for at := &all.Candidate; len(list) > 0; at, list = at.Beside, list[1:] {
		o := &list[0]
		at.Beside = o
		words = append(words, fmt.Sprintf("a %s of %d in %s", describe.Title(o.Algorithm), o.Limit.Count, seconds(o.Limit.Window)))
	}
	b.r.find(UnderAdmits, false, first, "beside it stands %s, which denies the last of these requests", strings.Join(words, ", and "))
	return all, true, nil
}

// full is traffic that fills up a limit, and one request more.
func full(fill []Step) []Step {
	return joined(append(slices.Clone(fill), Step{At: fill[len(fill)-1].At, N: 1}))
}

// next names the limit that traffic at the pace of the first one fills up, beside which those that are known admit again at end.
func (b *identifier) next(first Candidate, p pace, fill []Step, end time.Duration) (both Identity, err error) {
	n, told := requests(fill), b.limit
	hints := []time.Duration{told.Window, time.Minute, time.Hour, 24 * time.Hour}
	back, err := earliest(told.Window, hints, func(d time.Duration) (bool, error) {
		if d < end {
			return false, nil
		}
		got, err := b.play(append(slices.Clone(fill), Step{At: d, N: 1}))
		return err == nil && got[len(fill)] > 0, err
	})
	if err != nil {
		return both, err
	}
	limit := limiter.Limit{Count: n, Window: max(back, limiter.MinWindow)}
	m := measured{capacity: n, first: back, all: back}
	all := candidates(limit, m)
	if told.Count > p.n {
		all = append(all, candidates(told, measured{capacity: told.Count, first: back, all: back})...)
	}
	var pairs []Candidate
	for _, denied := range []convention.Denied{convention.Free, convention.Charged} {
		if first.Terms.Denied != denied && first.Algorithm != limiter.FixedWindow {
			continue // its own denials have told
		}
		other := first
		other.Terms.Denied = denied
		for _, c := range all {
			c.Beside = &other
			pairs = append(pairs, c)
		}
	}
	err = b.aside(limit, func() error {
		b.m, b.pace, b.fewest = m, p, 2*n // one more limit may come after it
		b.compare()
		both, err = b.identify(pairs)
		return err
	})
	return both, err
}

// large is a count of which a traffic is so long that fewer have to do.
const large = 1000

// endure sends full traffic of a candidate until the limiter denies it: what fills up another limit, and the instant from
// which the candidate admits again. It returns nil where nothing is denied.
func (b *identifier) endure(c Candidate, p pace) (fill []Step, end time.Duration, err error) {
	const most, least = 3000, 12 // requests, and counts of the candidate
	if least*p.n > 10*most {
		return nil, 0, nil
	}
	for i := range max(most/p.n, least) {
		fill = append(fill, Step{At: time.Duration(i) * p.every, N: p.n})
	}
	got, err := b.play(fill)
	if err != nil {
		return nil, 0, err
	}
	want := b.answers(c, fill)
	for i := range len(fill) - 1 {
		if got[i] == want[i] {
			continue
		}
		if got[i]+got[i+1] > (want[i]+want[i+1])/2 { // as what rounds does
			return nil, 0, nil
		}
		fill[i].N = got[i]
		return took(fill[:i+1], got[:i+1]), fill[i].At + p.every, nil
	}
	return nil, 0, nil
}
