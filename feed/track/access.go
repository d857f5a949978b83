package track

import (
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
)

// Access finds out whether this user may read keys that exist beside every limiter, such as
// recorded denials. One limiter asks first, and the others wait for its answer, so that a user
// without the permission is refused once and not for every limiter: each refusal adds to the
// server's ACL LOG. The zero value has asked nothing; it is used by one goroutine.
type Access struct {
	granted   bool
	requested limiter.Instant // when the first limiter asked
	remedy    string          // the ACL command that would permit it; "" while it is not refused
}

// askAgain is how long the other limiters wait for the first answer, which may have been lost.
const askAgain = 5 * time.Second

// may reports whether a limiter may ask now. A nil Access permits it always.
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

// learn takes the answer to a limiter, and reports whether it was a refusal.
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

// AccessOf returns the Access that an answer about some key of the kind shows before any
// limiter asks. A refusal proves nothing, because other keys may be permitted.
func AccessOf(err error) Access {
	return Access{granted: err == nil || connect.Redirected(err)}
}

// Refused returns the ACL command that would permit it; "" while it is not refused.
func (a *Access) Refused() string { return a.remedy }
