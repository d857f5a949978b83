package model

import (
	"time"

	"ratescope/limiter"
)

// anchor follows the windows of a key that begin with their first request, and says whether they would have
// begun at the same instants without the requests fired from here. One of those that began a window moves the
// next ones, too, until there was none for a whole window: then nothing of it is left.
type anchor struct {
	opened limiter.Instant // when a request fired from here began a window; 0 none has since all was quiet
	start  limiter.Instant // of the newest window
	quiet  limiter.Instant // since when there is none, as far as that is known
	at     limiter.Instant // of the newest reading
}

// anchorSlack is how far the beginning of a window may lie from the request that began it: it is told by
// an expiry in milliseconds.
const anchorSlack = 2 * time.Millisecond

// anchors reports whether the windows of a target begin with their first request, and how long they are is known.
func (t *Target) anchors() bool {
	return t.Algorithm.Kind() == limiter.KindWindow && t.Convention.Alignment == limiter.AlignFirstRequest && t.Window > 0
}

// open takes in that a request fired from here began a window.
func (a *anchor) open(at limiter.Instant) { a.opened = max(a.opened, at) }

// observe takes in a reading.
func (a *anchor) observe(r *Reading) {
	w, s := r.Target.Window, r.State.Start
	seen := r.At.Sub(a.at) < w // no window can have come and gone since the reading before
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

// moved reports whether the newest window would have begun at another instant without the requests fired
// from here, or might have.
func (a *anchor) moved() bool { return a.opened > 0 }
