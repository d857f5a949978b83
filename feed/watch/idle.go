package watch

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// idleDetector saves the readings between two refreshes of keys to which nothing happens.
// After a while without any arrival one command asks the server whether anything at
// all was written (INFO persistence: rdb_changes_since_last_save, which counts every change
// since Redis 2.4), and only then are the keys read: a request still shows within a
// tenth of a second, and an idle server answers one command instead of hundreds. Where
// firstWrite listens it answers none at all.
//
// A server that says nothing of the kind, a cluster, and one where others write all the
// time are polled as ever. Each key is read now and then in any case, so that a proxy that
// answers for one of several servers costs a delay, and no more. The zero value is ready; it
// is used by the goroutine that reads.
type idleDetector struct {
	arrival time.Time // the last one
	idle    bool      // nothing was written when it was last asked
	covered bool      // and the next write is announced
	changes string    // as the server told before the last look
	vain    int       // looks in a row that were made for changes and brought no news
	resume  time.Time // not asked before
}

const (
	infoPrice  = 20 * time.Microsecond // of one question, beside its round trip
	idleAfter  = 2 * time.Second       // without an arrival
	maxVain    = 5                     // looks for changes that others made
	resumeNext = 10 * time.Second      // after these
)

// isIdle reports that no look is needed at what is on screen, for nothing was written since
// the last one. The error is for a server that is away.
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
	changes += " since " + fields["rdb_last_save_time"] // which begins to count anew
	if err != nil || !known {
		d.resume = now.Add(refusedFor)
		return false, nil
	}
	return d.same(changes, now), nil
}

// arrived notes that something has arrived, which firstWrite, where it listens, should have
// announced.
func (r *reader) arrived(at time.Time) {
	if r.idle.covered {
		r.firstWrite.missed()
	}
	d := &r.idle
	d.arrival, d.vain, d.idle, d.covered = at, 0, false, false
}

// same reports whether nothing was written since the look before.
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
