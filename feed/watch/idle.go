package watch

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// idleDetector avoids quick rounds while the server is idle. After idleAfter without an
// arrival, one command asks the server whether anything was written at all (INFO persistence:
// rdb_changes_since_last_save, which counts every change since Redis 2.4), and the keys are
// read only if so. A request still shows within a tenth of a second, and an idle server
// answers one command instead of hundreds; while firstWrite listens it answers none.
//
// Keys are polled as usual on a cluster, on a server that does not report its changes, and on
// a server where other keys are written all the time. Every key is read now and then anyway,
// so that behind a proxy that answers for only one of several servers a request shows late,
// but is not lost. The zero value is ready; it is used by the reader's goroutine.
type idleDetector struct {
	arrival time.Time // the latest arrival
	idle    bool      // nothing was written when last checked
	covered bool      // the next write will be announced
	changes string    // the state of the server at the previous check
	vain    int       // consecutive rounds for changes that brought no arrival
	resume  time.Time // no check before this time
}

const (
	infoPrice  = 20 * time.Microsecond // server time of one INFO without its round trip
	idleAfter  = 2 * time.Second       // time without an arrival before the first check
	maxVain    = 5                     // rounds in vain after which checking stops
	resumeNext = 10 * time.Second      // how long checking stops then
)

// isIdle reports whether nothing was written since the previous check, so that a quick round
// is not needed. It fails when the server is away.
func (r *reader) isIdle(ctx context.Context, now time.Time) (bool, error) {
	d := &r.idle
	d.idle, d.covered = false, false
	single, ok := r.link.client.(*redis.Client)
	if !ok || now.Sub(d.arrival) < idleAfter || now.Before(d.resume) {
		d.changes = ""
		return false, nil
	}
	if changes, known := r.firstWrite.changes(); known {
		d.covered = d.same(changes, now)
		return d.covered, nil
	}
	r.firstWrite.want()
	cmd := single.Info(ctx, "persistence")
	r.spending.charge(r.spending.costs.Wake() + infoPrice)
	text, err := cmd.Result()
	if connect.Away(err) {
		return false, err
	}
	fields := connect.ParseInfo(text)
	changes, known := fields["rdb_changes_since_last_save"]
	changes += " since " + fields["rdb_last_save_time"] // each save resets the count to 0
	if err != nil || !known {
		d.resume = now.Add(refusedFor)
		return false, nil
	}
	return d.same(changes, now), nil
}

// arrived notes an arrival. If firstWrite was listening, it should have announced the arrival.
func (r *reader) arrived(at time.Time) {
	if r.idle.covered {
		r.firstWrite.missed()
	}
	d := &r.idle
	d.arrival, d.vain, d.idle, d.covered = at, 0, false, false
}

// same reports whether the state of the server is the same as at the previous check.
func (d *idleDetector) same(changes string, now time.Time) bool {
	if changes == d.changes {
		d.vain, d.idle = 0, true
		return true
	}
	if d.changes != "" {
		if d.vain++; d.vain >= maxVain {
			d.vain, d.resume = 0, now.Add(resumeNext)
		}
	}
	d.changes = changes
	return false
}
