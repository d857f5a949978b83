package track

import (
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
)

// aim works out how a limiter is limited: by its rule, by what its keys say and, where neither says it, by what their data suggests.
type aim struct {
	rule        *config.Rule // nil for none
	target      model.Target
	windowKnown bool // the library's layout gives the window, so that it need not be guessed
}

// described reports whether the rule describes the layout of the keys.
func (a *aim) described() bool { return a.rule != nil && a.rule.Layout != nil }

// settle sets the target from the rule and, where the rule gives nothing, from the arguments, which the key's data shows.
func (a *aim) settle(alg limiter.Algorithm, layout layout.Layout, window time.Duration) {
	t := model.Target{Algorithm: alg, Inferred: true, Layout: layout, Window: window}
	if r := a.rule; r != nil {
		t.Convention, t.Limit, t.LimitKnown = r.Convention, r.Limit, r.LimitKnown
		if r.Algorithm != limiter.Unknown {
			t.Algorithm, t.Inferred = r.Algorithm, false
		}
		if w := r.Span(); w > 0 {
			t.Window = w
		}
	}
	t.Limit.Window = t.Window
	a.target = t
}

// guess sets the window that the data suggests, unless the rule or the library's layout gives one.
func (a *aim) guess(w time.Duration) {
	if w < limiter.MinWindow || a.windowKnown || a.rule.Span() > 0 || a.target.Window == w {
		return
	}
	a.target.Window, a.target.Limit.Window = w, w
}

// given returns the settings that the rule gives.
func (a *aim) given() (s decode.Settings) {
	if r := a.rule; r != nil {
		s.Algorithm, s.Window, s.Limit = r.Algorithm, r.Span(), r.Limit
		s.LimitFrom = collect.If(r.LimitKnown, model.LimitOfRule, model.NoLimit)
	}
	return s
}

// adopt sets the target from the settings in the keys, which are in the layout of a library. If the decoder has its limit from the
// rule, translated to its own terms, that limit is taken as it is. Otherwise a rule that names the keys overrides their settings, and
// a rule for all keys only fills in missing ones.
func (a *aim) adopt(s decode.Settings, library string, notes *notes) {
	t := &a.target
	given := a.given()
	if !a.rule.Narrow() || given.Algorithm == limiter.Unknown {
		t.Algorithm = s.Algorithm
	}
	t.Tick, t.Inferred, t.LimitKey = s.Tick, false, s.LimitKey
	if library != model.OwnLibrary { // own keys do not contain their convention, which the rule gives
		t.Convention = s.Convention
	}
	// Where the rule says that the keys hold the limit they do.
	if translated := s.LimitFrom != model.NoLimit && (a.described() || s.LimitFrom == given.LimitFrom); translated {
		t.Limit, t.Window, t.LimitKnown, t.LimitFrom = s.Limit, s.Window, true, s.LimitFrom
		t.Limit.Window = t.Window
		return
	}
	if s.LimitFrom != model.NoLimit {
		t.Limit, t.LimitKnown, t.LimitFrom = s.Limit, true, s.LimitFrom
	}
	if given.LimitFrom != model.NoLimit && (s.LimitFrom == model.NoLimit || a.rule.Narrow()) {
		t.Limit, t.LimitKnown, t.LimitFrom = given.Limit, true, given.LimitFrom
		if given.Limit.Burst == 0 {
			t.Limit.Burst = s.Limit.Burst // a rule that says none does not take away the one in the keys
		}
	}
	if given.Limit.Burst > 0 && (t.Limit.Burst == 0 || a.rule.Narrow()) {
		t.Limit.Burst = given.Limit.Burst
	}
	switch {
	case s.Window > 0 && !(given.Window > 0 && a.rule.Narrow()):
		t.Window = s.Window
	case given.Window > 0:
		t.Window = given.Window
	}
	counts := t.Algorithm == limiter.FixedWindow || t.Algorithm == limiter.SlidingWindow
	other := counts && s.Window > 0 && !s.Guessed && s.LimitFrom == model.NoLimit && given.Window > 0 &&
		(s.Window-given.Window).Abs() > given.Window/10 // as months differ
	if notes.set(model.OtherWindow, other); other {
		t.Window = s.Window
	}
	t.Limit.Window = t.Window
	if other || s.NeedsBurst && t.Limit.Burst == 0 {
		t.LimitKnown, t.LimitFrom = false, model.NoLimit
	}
	notes.set(model.UnknownBurst, s.NeedsBurst && !t.LimitKnown && given.LimitFrom != model.NoLimit)
}

// inferWindow adopts the window inferred from all keys, since what one key alone suggests is not sure, or removes it if it is no longer
// sure. It reports false where the window is known otherwise.
func (a *aim) inferWindow(w Figure[time.Duration]) bool {
	if a.windowKnown || a.rule.Span() > 0 {
		return false
	}
	if a.target.Window = 0; w.Sure {
		a.target.Window = w.Value
	}
	a.target.Limit.Window = a.target.Window
	return true
}

// inferLimit adopts the inferred limit, or removes it if it is no longer sure.
func (a *aim) inferLimit(terms *Terms, notes *notes) {
	t := &a.target
	if t.LimitKnown && t.LimitFrom != model.LimitInferred {
		return
	}
	found, ok := limiter.Limit{}, false
	switch {
	case (t.Algorithm == limiter.FixedWindow || t.Algorithm == limiter.SlidingLog) && terms.Limit.Sure && t.Window > 0:
		found, ok = limiter.Limit{Count: terms.Limit.Value, Window: t.Window}, true
	case t.Algorithm == limiter.GCRA && terms.Interval.Sure && terms.Burst.Sure:
		if found, ok = Rate(terms.Interval.Value); ok {
			found.Burst = terms.Burst.Value
		}
	}
	switch {
	case ok:
		t.Limit, t.Window, t.LimitKnown, t.LimitFrom = found, found.Window, true, model.LimitInferred
	case t.LimitFrom == model.LimitInferred:
		t.Limit, t.LimitKnown, t.LimitFrom = limiter.Limit{Window: t.Window}, false, model.NoLimit
	}
	notes.set(model.LimitGuessed, ok)
}

// guessByExpiry guesses the window from the expiry: limiters set it to one window at every request, so that the window is
// from the newest entry to the expiry. Where denied requests renew the expiry too this is too long, and so a longer guess does not
// replace the previous one.
func (a *aim) guessByExpiry(now limiter.Instant, ttl time.Duration, entries []limiter.Entry) {
	k, was := len(entries), a.target.Window
	if k == 0 || ttl <= 0 {
		return
	}
	if w := decode.Tidy(now.Add(ttl).Sub(entries[k-1].At)); w >= time.Millisecond && (was <= 0 || w < was) {
		a.guess(w)
	}
}
