package observe

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// calm spares the looks between two refreshes at keys to which nothing happens. After a
// while without any arrival it asks the server, in one command, whether anything at all was
// written (INFO persistence: rdb_changes_since_last_save, which counts every change since
// Redis 2.4), and only then are the keys looked at: a request still shows within a tenth of
// a second, and an idle server is asked for one thing instead of hundreds. Where a vigil can be
// kept it is asked for nothing at all.
//
// A server that says nothing of the kind, a cluster, and one where others write all the
// time are polled as ever. Each key is read now and then in any case, so that a proxy that
// answers for one of several servers costs a delay, and no more. The zero value is ready; it
// is used by the goroutine that reads.
type calm struct {
	stirred time.Time // the last arrival
	still   bool      // nothing was written when it was last asked
	kept    bool      // and a vigil tells of the first write
	changes string    // as the server told before the last look
	vain    int       // looks in a row that were made for changes and brought no news
	resume  time.Time // not asked before
}

const (
	askPrice   = 20 * time.Microsecond // of one question, beside its turn
	calmAfter  = 2 * time.Second       // without an arrival
	vainMost   = 5                     // looks for changes that others made
	resumeNext = 10 * time.Second      // after these
)

// idle says that no look is needed at what is on screen, for nothing was written since the
// last one. An error is for a server that is away.
func (w *observer) idle(ctx context.Context, now time.Time) (bool, error) {
	c := &w.calm
	c.still, c.kept = false, false
	single, ok := w.client.(*redis.Client)
	if !ok || now.Sub(c.stirred) < calmAfter || now.Before(c.resume) {
		c.changes = ""
		return false, nil
	}
	if changes, told := w.vigil.changes(); told {
		c.kept = c.same(changes, now)
		return c.kept, nil
	}
	w.vigil.want()
	cmd := single.Info(ctx, "persistence")
	w.charge(w.tariff.Wake() + askPrice)
	text, err := cmd.Result()
	if connect.Away(err) {
		return false, err
	}
	fields := connect.ParseInfo(text)
	changes, told := fields["rdb_changes_since_last_save"]
	changes += " since " + fields["rdb_last_save_time"] // which begins to count anew
	if err != nil || !told {
		c.resume = now.Add(deafFor)
		return false, nil
	}
	return c.same(changes, now), nil
}

// stir notes that something has arrived, which the vigil, where one is kept, should have told.
func (w *observer) stir(at time.Time) {
	if w.calm.kept {
		w.vigil.unheard()
	}
	w.calm.stirred, w.calm.vain, w.calm.still, w.calm.kept = at, 0, false, false
}

// same says that nothing was written since the look before.
func (c *calm) same(changes string, now time.Time) bool {
	if changes == c.changes {
		c.vain, c.still = 0, true
		return true
	}
	if c.changes != "" {
		if c.vain++; c.vain >= vainMost {
			c.vain, c.resume = 0, now.Add(resumeNext)
		}
	}
	c.changes = changes
	return false
}
