package model

import (
	"errors"
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// ChangeKind is what an Order does to its key beside firing requests at it.
type ChangeKind uint8

const (
	NoChange ChangeKind = iota // the order fires requests
	Free                       // the key becomes as new
	Give                       // Units are taken off what is used, or added to a limit that a library keeps in Redis
	Block                      // every request is denied for For
	Unblock                    // a block ends
)

// Change is what an Order does to its key instead of firing requests at it. The zero value is
// none.
type Change struct {
	Kind  ChangeKind
	Units int64         // of Give
	For   time.Duration // of Block
}

// UsualGift is how many units Give gives where no number is named.
const UsualGift = 20

// MaxBlock is the longest block of one Change.
const MaxBlock = 24 * time.Hour

// Check says in one sentence what is wrong with the amounts of c, or returns nil.
func (c Change) Check() error {
	switch {
	case c.Kind == NoChange || c.Kind > Unblock:
		return errors.New("there is nothing to change: give free, give, block or unblock")
	case c.Kind == Give && (c.Units < 1 || c.Units > MaxRequests):
		return fmt.Errorf("%d units are out of range: give 1 to %d", c.Units, MaxRequests)
	case c.Kind == Block && (c.For < time.Millisecond || c.For > MaxBlock):
		return fmt.Errorf("a block of %v is out of range: give 1ms to %v", c.For, MaxBlock)
	}
	return nil
}

// String returns the change as the audit file and the ticket name it, "" for none.
func (c Change) String() string {
	switch c.Kind {
	case Free:
		return "free"
	case Give:
		return fmt.Sprintf("give %d", c.Units)
	case Block:
		return fmt.Sprintf("block %v", c.For)
	case Unblock:
		return "unblock"
	}
	return ""
}

// Changed is what came of a Change.
type Changed struct {
	Action  string   // the id that undo takes
	Units   int64    // taken off, of Give
	Removed []string // Redis keys that were removed
	Written []string // Redis keys that were written
	Raise   *Raise   // of a limit that a library keeps in Redis; nil where none was changed
	// Unsaved says, a clause each, what was removed and cannot be put back.
	Unsaved []string
}

// Standing is how a key stands at one instant. Waits are limiter.Never where no wait helps.
type Standing struct {
	Known           bool // false where the key is not read whole
	Used, Remaining int64
	Next            time.Duration // until one request of cost 1 is admitted
	AsNew           time.Duration
	Blocked         time.Duration // 0: it is not blocked
}

// ChangeTicket works out how the key stands now and how it will stand after the change of s. The
// caller fills in where and when it was issued, and the commands.
func (k *Watched) ChangeTicket(s Order, now limiter.Instant) Ticket {
	r := k.Reading
	r.Target = s.Target
	t := Ticket{Order: s, At: now, Slot: HashSlot(s.Key)}
	t.Was = r.standing(now)
	r.State = r.State.Clone()
	limit := s.Target.Limit
	limit.Window = s.Target.Window
	switch c := s.Change; c.Kind {
	case Free:
		r.State = limiter.State{Algorithm: s.Target.Algorithm}
		r.Type, r.Ends, r.Notes = "none", 0, nil
	case Give:
		if raise, ok := s.Target.RaiseOf(s.Key, c); ok {
			t.Raise = &raise
			r.raise(c.Units, now)
			break
		}
		r.State.Refund(now, limit, s.Target.Convention, c.Units)
	case Block:
		r.State.BlockedUntil = now.Add(c.For)
	case Unblock:
		r.State.BlockedUntil = 0
	}
	t.Will = r.standing(now)
	t.AsNew = t.Will.AsNew
	return t
}

// standing works out how the key stands.
func (r *Reading) standing(now limiter.Instant) Standing {
	g := r.Gauge(now)
	s := Standing{Known: g.Used.Known && g.Remaining.Known && g.NextKnown, Used: g.Used.N, Remaining: g.Remaining.N, Next: g.Next, AsNew: g.Reset, Blocked: g.BlockedFor}
	s.AsNew = max(s.AsNew, s.Blocked)
	return s
}

// ObeysBlock says that the limiter of r has been seen to look for a block beside its key: not
// every limiter does, and nothing on the server says so before the first block.
func (r *Reading) ObeysBlock() bool {
	return r.Target.Convention.Block > 0 || r.State.BlockedUntil > 0
}

// Keys returns the Redis keys that a decision about key at the instant now reads or writes, as
// layout.Keys does; a window that begins with its first request is kept under the key itself.
func (t *Target) Keys(key string, now limiter.Instant) []string {
	limit := t.Limit
	limit.Window = max(limit.Window, t.Window)
	if t.Convention.Alignment == limiter.AlignFirstRequest || limit.Window <= 0 {
		return []string{key}
	}
	return layout.Keys(t.Algorithm, key, limit, t.Layout, now)
}
