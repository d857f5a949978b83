package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

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
	From, To limiter.Limit
	Whose    string // the clients that the limit applies to; see StoredLimit
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
	return Raise{From: t.Limit, To: t.Raised(c.Units), Whose: stored.Whose}, true
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
