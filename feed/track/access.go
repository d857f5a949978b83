package track

import (
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
)

// Access is whether this user may read keys of one kind that may lie beside every limiter,
// such as recorded denials. A user without the permission is refused once and not once for
// every limiter: each refusal goes into the server's ACL LOG. So one limiter asks first, and the
// others once it was answered. The zero value knows nothing yet; it is used by one
// goroutine.
type Access struct {
	granted   bool
	requested limiter.Instant // by the one that asks first
	remedy    string
}

// askAgain is for how long the others wait for an answer that may have been lost.
const askAgain = 5 * time.Second

// may reports whether a limiter may ask now. A nil Access permits everything.
func (a *Access) may(now limiter.Instant) bool {
	switch {
	case a == nil || a.granted:
		return true
	case a.remedy != "" || a.requested != 0 && now.Sub(a.requested) < askAgain:
		return false
	}
	a.requested = now
	return true
}

// learn takes the outcome of a question, and reports whether it was refused.
func (a *Access) learn(err error) (refused bool) {
	if refused = connect.Code(err) == "NOPERM"; a == nil {
		return refused
	}
	if refused && !a.granted {
		a.remedy = connect.Remedy(err)
	} else if !refused {
		a.granted = true
	}
	return refused
}

// AccessOf returns what an answer about a key of the kind tells before any limiter asks:
// a refusal proves nothing, since other keys may be allowed.
func AccessOf(err error) Access {
	return Access{granted: err == nil || connect.Redirected(err)}
}

// Refused returns what would allow it, "" while it is not refused.
func (a *Access) Refused() string { return a.remedy }
