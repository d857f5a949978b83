package form

import (
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Several are the limiters of one subject that several rules read, as one limiter: the one that denies
// longest or, where none does, has the least left.
type Several []*Own

// Fetch reads the keys of all of them.
func (all Several) Fetch(now limiter.Instant) (fetched []decode.Fetch) {
	for _, o := range all {
		fetched = append(fetched, o.Fetch(now)...)
	}
	return fetched
}

// Decode returns the strictest. One that cannot be read, or not whole, goes first, for it may be that.
func (all Several) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) (strictest decode.Decoded) {
	var members []string
	best := strictness{}
	for i, o := range all {
		n := len(o.Fetch(now))
		d := o.Decode(now, got[:n], given)
		got, members = got[n:], append(members, d.Members...)
		if s := strictnessOf(&d, now); i == 0 || s.exceeds(best) {
			strictest, best = d, s
		}
	}
	strictest.Members = members
	strictest.Notes = append(strictest.Notes, model.OneOfSeveral)
	return strictest
}

// strictness says how much a limiter denies.
type strictness struct {
	unknown bool
	wait    int64 // until it admits one
	left    int64
}

func strictnessOf(d *decode.Decoded, now limiter.Instant) strictness {
	state := d.State
	state.Algorithm = d.Algorithm
	is := state.Peek(now, d.Limit, d.Convention, 1)
	s := strictness{unknown: d.Err != "" || d.Partial, wait: int64(is.RetryAfter), left: is.Remaining}
	if d.State.BlockedUntil > now {
		s.wait = max(s.wait, int64(d.State.BlockedUntil.Sub(now)))
	}
	if d.LimitFrom == model.NoLimit {
		s.left = limiter.MaxCount
	}
	return s
}

func (s strictness) exceeds(o strictness) bool {
	switch {
	case s.unknown != o.unknown:
		return s.unknown
	case s.wait != o.wait:
		return s.wait > o.wait
	}
	return s.left < o.left
}
