package model

import (
	"time"

	"ratescope/limiter"
)

// anchor follows the windows of a key that begin with their first request, and finds out whether
// they would have begun at the same instants without the requests fired from here. If one of these
// began a window, the windows after it may have moved too, until there was no window for the length
// of one.
type anchor struct {
	opened limiter.Instant // when a request fired from here last began a window; 0 if no window is moved
	start  limiter.Instant // of the newest window
	quiet  limiter.Instant // since when there is no window, as far as is known
	at     limiter.Instant // of the newest reading
}

// anchorSlack is the possible distance of a window's start from the request that began it, because
// the start is calculated from an expiry in milliseconds.
const anchorSlack = 2 * time.Millisecond

// anchors reports whether the windows of a target begin with their first request and have a known
// length.
func (t *Target) anchors() bool {
	return t.Algorithm.Kind() == limiter.KindWindow && t.Convention.Alignment == limiter.AlignFirstRequest && t.Window > 0
}

// open notes that a request fired from here began a window.
func (a *anchor) open(at limiter.Instant) { a.opened = max(a.opened, at) }

// observe adds a reading.
func (a *anchor) observe(r *Reading) {
	w, s := r.Target.Window, r.State.Start
	seen := r.At.Sub(a.at) < w // no whole window can have passed since the previous reading
	switch live := r.State.Current > 0 && s.Add(w) > r.At; {
	case !live && !seen:
		a.quiet = r.At
	case live && s > a.start.Add(anchorSlack):
		if (seen || s.Sub(a.at) < w) && s.Sub(a.quiet) >= w && a.opened < s.Add(-anchorSlack) {
			a.opened = 0
		}
		a.start = s
		fallthrough
	case live:
		a.quiet = s.Add(w)
	}
	a.at = r.At
}

// moved reports whether the newest window might have begun at another instant without the requests
// fired from here.
func (a *anchor) moved() bool { return a.opened > 0 }
