package watch

import (
	"context"
	"fmt"
	"time"
)

// silentAfter is how long a server may send nothing, in addition to tripsLimit round trips,
// before it counts as away. It is shorter than the read timeout, so that the screen shows
// soon that a server is frozen.
const silentAfter = time.Second

// errSilent is the error of an order whose answer does not come.
var errSilent = fmt.Errorf("no answer yet: %w", context.DeadlineExceeded)

// silenceLimit returns how long the server may send nothing on any connection while an order waits. The
// limit grows with the round trip, so that a distant server does not count as silent. In a cluster the
// order itself waits nodeAnswerLimit for a node that hangs, while the others have answered long ago: its
// result says whether one of them did.
func silenceLimit(cluster bool, rtt time.Duration) time.Duration {
	limit := silentAfter + tripsLimit*rtt
	if cluster {
		limit += nodeAnswerLimit
	}
	return limit
}

// lateTick is how much later than planned a refresh comes on a busy machine. One that comes later shows
// that this process stood still: the kernel stopped it, or its container was throttled.
const lateTick = 250 * time.Millisecond

// silence measures how long the server has sent nothing while an order waits. The time in which this
// process stood still does not count, because an answer that came meanwhile lies unread in its socket.
// The zero value with every, the refresh, is ready to use.
type silence struct {
	every time.Duration // between two calls of lasts, as planned

	since  time.Time // what is measured from
	seen   time.Time // the latest call
	lasted time.Duration
}

// lasts returns the length of the silence at now. since is when the order was given, or later bytes
// came: another one begins another silence.
func (s *silence) lasts(now, since time.Time) time.Duration {
	if !since.Equal(s.since) {
		s.since, s.seen, s.lasted = since, since, 0
	}
	s.lasted += min(now.Sub(s.seen), s.every+lateTick)
	s.seen = now
	return s.lasted
}
