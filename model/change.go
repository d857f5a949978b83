package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// ChangeKind is the kind of a Change.
type ChangeKind uint8

const (
	NoChange ChangeKind = iota // the order fires requests
	Free                       // the key's state is removed
	Give                       // Units are subtracted from the used units, or added to a limit that a library keeps in Redis
	Block                      // every request is denied for For
	Unblock                    // a block ends
)

// Change is a change of a key, which an Order makes instead of firing requests. The zero value is
// no change.
type Change struct {
	Kind  ChangeKind
	Units int64         // of Give
	For   time.Duration // of Block
}

// UsualGift is the number of units of Give if none is named.
const UsualGift = 20

const maxBlock = 24 * time.Hour

// Check returns an error, in one sentence, if the amounts of c are out of range.
func (c Change) Check() error {
	switch {
	case c.Kind == NoChange || c.Kind > Unblock:
		return errors.New("there is nothing to change: give free, give, block or unblock")
	case c.Kind == Give && (c.Units < 1 || c.Units > MaxRequests):
		return fmt.Errorf("%d units are out of range: give 1 to %d", c.Units, MaxRequests)
	case c.Kind == Block && (c.For < time.Millisecond || c.For > maxBlock):
		return fmt.Errorf("a block of %v is out of range: give 1ms to %v", c.For, maxBlock)
	}
	return nil
}

// String returns the change as the audit file and tickets name it; "" for no change.
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

// Changed is the result of a Change.
type Changed struct {
	Action  string   // the id that undo takes
	Units   int64    // units that Give has subtracted or added
	Removed []string // Redis keys that were removed
	Written []string // Redis keys that were written
	Raise   *Raise   // change of a limit that a library keeps in Redis; nil for none
	// Unsaved has a clause for each key that was removed and cannot be restored.
	Unsaved []string
}

// ChangeTicket returns the ticket of a change: the key's state at now and after the change of s. The
// caller fills in Server, Path, Issued, Keys, Commands and InSlot.
func (k *Watched) ChangeTicket(s Order, now limiter.Instant) Ticket {
	r := k.Reading
	r.Target = s.Target
	t := Ticket{Order: s, At: now, Slot: HashSlot(s.Key)}
	t.Was = r.Gauge(now)
	r.State = r.State.Clone()
	limit, _ := r.terms()
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
		// not every limiter obeys a block beside its key, and before the first one nothing on the server shows it
		t.Unheeded = k.Reading.Target.Convention.Block <= 0 && k.Reading.State.BlockedUntil <= 0
	case Unblock:
		r.State.BlockedUntil = 0
	}
	t.Will = r.Gauge(now)
	t.AsNew = t.Will.AsNew()
	return t
}

// Keys returns the Redis keys that a decision about key at now reads or writes, as layout.Keys does.
// A window that begins with its first request is kept in the key itself.
func (t *Target) Keys(key string, now limiter.Instant) []string {
	limit := t.Limit
	limit.Window = max(limit.Window, t.Window)
	if t.Convention.Alignment == convention.FirstRequest || limit.Window <= 0 {
		return []string{key}
	}
	return layout.Keys(t.Algorithm, key, limit, t.Layout, now)
}

// TakeBack is an order to take back the writes of an action.
type TakeBack struct {
	Action string // the id of the action
	Key    string // the key that the action wrote to
	// Withdraw subtracts the charged units and keeps what other programs have written since. Otherwise
	// the keys get their former values, which is refused if another program has written to them.
	Withdraw bool
	// Named is the name of the key as the user typed it, and Reason the user's reason, for servers
	// that are marked as production.
	Named, Reason string
}

// TakenBack is the result of a TakeBack.
type TakenBack struct {
	Action                     string // the id of the action
	Key                        string
	Requests                   int64    // that the action had sent
	Restored, Removed, Expired []string // keys with their former values, keys that were deleted, and keys that have expired meanwhile
	Change                     string   // the change of the key; "" if the action sent requests
	Lowered                    *Raise   // the stored limit that was lowered again, with the requests since kept; nil if there is none
	Withdrawn                  bool     // charges were taken off
	Units                      int64    // of these charges

	// Open has a clause for each request of which it is not known whether it was counted, because the program
	// that fired it was killed. What the others charged was taken off.
	Open []string
}

// Script is the script of the user's own program, or one that writes a request as its rule says where that is
// certain, by which requests are fired at a limiter that a rule describes. In the audit file it has only
// its exported names: one that was read back runs nothing. It is safe for concurrent use.
type Script struct {
	File   string `json:"file"`
	Digest string `json:"sha1"`
	Plain  string `json:"plain,omitempty"` // what it writes to a key that is there, where it is not the program's own
	Text   string `json:"-"`
	// Expand returns the keys and the arguments of one request at the limiter of a name, at an instant of the
	// server's clock; id differs from request to request. It fails where the name is none of the rule's.
	Expand func(name string, l limiter.Limit, at limiter.Instant, cost int64, id string) (keys, args []string, err error) `json:"-"`
	// Admits judges a reply; it fails if the rule does not speak of such a reply.
	Admits func(reply any) (bool, error) `json:"-"`
}

// StoredLimit is the place in Redis where a library stores a limit beside the counts, so that the limit
// can be changed there.
type StoredLimit struct {
	Key   string // holds the limit
	Left  string // holds the remaining units, and is raised together with the limit if it exists; "" is none
	Whose string // the clients that the limit applies to, as a noun: "every id under rl:"
}

// StoredLimit returns the place where the limit of t is stored; key is the name of its reading. ok is
// false if the limit is not stored in Redis, or the library ignores changes there.
//
// Redisson keeps rate, interval and type in the hash <name>, and the remaining units in {<name>}:value, or
// in {<name>}:value:<client> if each client has a limit of its own. @upstash/ratelimit reads
// <prefix>:dynamic:global, if so configured, for every identifier of the prefix. Bucket4j keeps the
// configuration in the value of the bucket.
func (t *Target) StoredLimit(key string) (s StoredLimit, ok bool) {
	switch {
	case t.Library == "redisson" && t.LimitFrom == LimitOfKey:
		s = StoredLimit{Key: key, Left: "{" + key + "}:value", Whose: "all who share it"}
		if name, part, client := strings.Cut(strings.TrimPrefix(key, "{"), "}:"); client && strings.HasPrefix(part, "value:") {
			s = StoredLimit{Key: name, Left: key, Whose: "each client of " + name}
		}
		return s, true
	case t.Library == "upstash-ratelimit" && t.LimitFrom == LimitOfSibling:
		held := t.LimitKey
		if held == "" && strings.HasPrefix(key, UpstashPrefix) { // a recording does not keep it
			held = UpstashPrefix + UpstashDynamic
		}
		return StoredLimit{Key: held, Whose: "every id under " + strings.TrimSuffix(held, UpstashDynamic)}, held != ""
	case t.Library == "bucket4j" && t.LimitFrom == LimitOfKey:
		return StoredLimit{Key: key, Whose: "this bucket"}, true
	}
	return s, false
}

// Offsets in the value of a bucket of Bucket4j with one limit, in bytes: of the capacity, and of the
// tokens that are refilled in a period. Both are big-endian and eight bytes long.
const (
	Bucket4jCapacity = 16
	Bucket4jRefill   = 40
)

// UpstashPrefix is the default prefix of @upstash/ratelimit, and UpstashDynamic the part after the prefix
// in the name of its dynamic limit.
const (
	UpstashPrefix  = "@upstash/ratelimit:"
	UpstashDynamic = "dynamic:global"
)

// Raised returns the limit of t after its stored limit was raised by a number of units, or lowered by a
// negative one. The tokens of a bucket of Bucket4j are raised by as many; if the whole bucket is refilled
// in a period, as with Bandwidth.simple, the refill is raised too. The dynamic limit of Upstash is the
// size of its buckets.
func (t *Target) Raised(units int64) limiter.Limit {
	l := t.Limit
	switch {
	case t.Library == "bucket4j":
		if l.Count == l.Burst {
			l.Count += units
		}
		l.Burst += units
	case t.Algorithm == limiter.TokenBucket:
		l.Burst += units
	default:
		l.Count += units
	}
	return l
}

// Raise is a change of a limit that a library stores in Redis.
type Raise struct {
	Units int64         `json:"units"` // by which it was raised; negative where it was lowered
	From  limiter.Limit `json:"from"`
	To    limiter.Limit `json:"to"`
	Whose string        `json:"-"` // the clients that the limit applies to; see StoredLimit
}

// String returns the change as a clause.
func (r Raise) String() string {
	return fmt.Sprintf("the limit of %s from %s to %s", safetext.Clean(r.Whose), LimitText(r.From), LimitText(r.To))
}

// LimitText formats a limit and its window, with the burst if that is another number.
func LimitText(l limiter.Limit) string {
	text := fmt.Sprintf("%d in %s", l.Count, format.Each(l.Window))
	if l.Burst != 0 && l.Burst != l.Count {
		text += fmt.Sprintf(", %d at once", l.Burst)
	}
	return text
}

// RaiseOf returns the change of a stored limit by c; ok is false if there is none.
func (t *Target) RaiseOf(key string, c Change) (r Raise, ok bool) {
	stored, ok := t.StoredLimit(key)
	if !ok || c.Kind != Give {
		return r, false
	}
	return Raise{Units: c.Units, From: t.Limit, To: t.Raised(c.Units), Whose: stored.Whose}, true
}

// aimRaise returns an error, one sentence without the key, if the stored limit of r cannot be raised by a
// number of units.
func (r *Reading) aimRaise(units int64) error {
	t := &r.Target
	switch now := max(t.Limit.Count, t.Limit.Burst); {
	case r.Err != "":
		return errors.New(r.Err)
	case t.Evidence == Likely || !t.LimitKnown:
		return fmt.Errorf("nothing but a guess says that %s keeps its limit there: change it through that program", t.Library)
	case slices.Contains(r.Notes, OneOfSeveral):
		return errors.New("it has several limits, of which ratescope changes none: call replaceConfiguration in its application")
	case now > limiter.MaxCount-units:
		return fmt.Errorf("its limit is %d, and %d more are above %d: give less", now, units, int64(limiter.MaxCount))
	}
	return nil
}

// raise changes r to the reading after its stored limit was raised at now. The used units of a bucket of
// Bucket4j stay the same.
func (r *Reading) raise(units int64, now limiter.Instant) {
	used := r.State.Peek(now, r.Target.Limit, r.Target.Convention, 0).Used
	r.Target.Limit = r.Target.Raised(units)
	if r.Target.Library == "bucket4j" {
		r.State = limiter.State{Algorithm: r.Target.Algorithm}
		r.State.Take(now, r.Target.Limit, r.Target.Convention, used)
	}
}
