package form

import (
	"slices"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Undecided is a limiter whose counters are named after the start of their window, and whose windows are of one of
// several kinds or lengths: what was read rules out the others.
type Undecided struct {
	Left  []*Windowed     // what it may be, at least one
	Start limiter.Instant // of the latest counter that was seen
	Slack time.Duration   // how far the clock of its program may be off
	// Fits says whether a counter, read at an instant, may be of a window by its expiry; nil is always.
	Fits func(x *Windowed, start limiter.Instant, s *decode.Sample, now limiter.Instant) bool

	starts []limiter.Instant // of the counters that were fetched
	seen   int64             // what the latest counter held
	looked limiter.Instant   // when; 0 before the first reading
}

// Fetch reads the latest counter and all that can be current.
func (u *Undecided) Fetch(now limiter.Instant) (all []decode.Fetch) {
	if len(u.Left) == 1 {
		return u.Left[0].Fetch(now)
	}
	u.starts = []limiter.Instant{u.Start}
	for _, x := range u.Left {
		start, _ := x.Bound(now)
		if u.starts = append(u.starts, start); x.Settings.Algorithm == limiter.SlidingWindow {
			u.starts = append(u.starts, start.Add(-x.Settings.Window))
		}
	}
	slices.Sort(u.starts)
	u.starts = slices.Compact(u.starts)
	for _, start := range u.starts {
		all = append(all, decode.Fetch{Key: u.Left[0].Key(start), Type: "string"})
	}
	return all
}

// Decode rules out windows, and counts once one is left.
func (u *Undecided) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	if len(u.Left) > 1 {
		u.learn(now, got, given)
		if len(u.Left) == 1 { // what was not fetched is taken not to exist until the next reading
			known := got
			got = nil
			for _, f := range u.Left[0].Fetch(now) {
				got = append(got, decode.Sample{Key: f.Key, Type: "none"})
				if i := slices.IndexFunc(known, func(s decode.Sample) bool { return s.Key == f.Key }); i >= 0 {
					got[len(got)-1] = known[i]
				}
			}
		}
	}
	first := u.Left[0]
	if len(u.Left) == 1 {
		return first.Decode(now, got, given)
	}
	d := decode.Decoded{Charged: first.Charged, Type: "none", Members: Members(got)}
	for i := range got {
		if got[i].Exists() {
			d.Type, d.TTL = got[i].Type, max(d.TTL, got[i].TTL)
		}
	}
	if slices.ContainsFunc(u.Left, func(x *Windowed) bool { return x.Settings.Algorithm != first.Settings.Algorithm }) {
		d.Notes = []model.Note{model.KindUnknown}
	}
	return d
}

// learn rules out what a rule says otherwise, windows that begin at no counter's start, and those that were over when
// their counter was last seen to grow.
func (u *Undecided) learn(now limiter.Instant, got []decode.Sample, given decode.Settings) {
	u.keep(func(x *Windowed) bool {
		return (given.Algorithm == limiter.Unknown || x.Settings.Algorithm == given.Algorithm) &&
			(given.LimitFrom == model.NoLimit || given.Window == 0 || x.Settings.Window == given.Window)
	})
	for i, start := range u.starts {
		s := &got[i]
		n, ok := Count(s.Text)
		if !s.Exists() || !ok {
			continue
		}
		u.keep(func(x *Windowed) bool {
			begun, _ := x.Bound(start)
			return begun == start && (u.Fits == nil || u.Fits(x, start, s, now))
		})
		if start == u.Start && u.looked != 0 && n > u.seen {
			u.keep(func(x *Windowed) bool { return u.looked <= start.Add(x.Settings.Window+u.Slack) })
		}
		if start >= u.Start {
			u.Start, u.seen, u.looked = start, n, now
		}
	}
}

// keep leaves the windows that fit, unless none would be left.
func (u *Undecided) keep(fits func(*Windowed) bool) {
	left := slices.DeleteFunc(slices.Clone(u.Left), func(x *Windowed) bool { return !fits(x) })
	if len(left) > 0 {
		u.Left = left
	}
}
