package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ratescope/limiter"
	"ratescope/model/safetext"
	"ratescope/model/span"
)

// StoredLimit says where a library keeps a limit itself in Redis, beside what is counted of it, so
// that it can be changed there.
type StoredLimit struct {
	Key   string // holds the limit
	Left  string // holds what is left of it, and is raised with it where it exists; "" none
	Whose string // who has the limit, as a noun: "every id under rl:"
}

// StoredLimit returns where the limit of t is kept; key is the name of its reading. ok is false where
// the limit is not known from Redis, or no change of it there is obeyed.
//
// Redisson keeps rate, interval and type in the hash <name>, and what is left in {<name>}:value, or in
// {<name>}:value:<client> where each client has a limit of its own. @upstash/ratelimit reads
// <prefix>:dynamic:global, where it is told to, for every identifier of the prefix. Bucket4j keeps the
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

// Places in the value of a bucket of Bucket4j with one limit, in bytes: its capacity, and how many tokens
// come back in a period. Each has eight bytes, the highest first.
const (
	Bucket4jCapacity = 16
	Bucket4jRefill   = 40
)

// UpstashPrefix is the default prefix of @upstash/ratelimit, and UpstashDynamic what the name of its
// dynamic limit has behind the prefix.
const (
	UpstashPrefix  = "@upstash/ratelimit:"
	UpstashDynamic = "dynamic:global"
)

// Raised returns the limit of t after so many units more were written where the library keeps it;
// below 0 it is lowered. A bucket of Bucket4j gets as many tokens more, and where all of it comes back in
// a period, as Bandwidth.simple makes it, so does what is added. The dynamic limit of Upstash is the
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

// Raise is the change of a limit that a library keeps in Redis.
type Raise struct {
	From, To limiter.Limit
	Whose    string // who has the limit; see StoredLimit
}

// String says what is changed, as a clause.
func (r Raise) String() string {
	return fmt.Sprintf("the limit of %s from %s to %s", safetext.Clean(r.Whose), LimitText(r.From), LimitText(r.To))
}

// LimitText writes a limit and its window, with its burst where that is another number.
func LimitText(l limiter.Limit) string {
	text := fmt.Sprintf("%d in %s", l.Count, span.Each(l.Window))
	if l.Burst != 0 && l.Burst != l.Count {
		text += fmt.Sprintf(", %d at once", l.Burst)
	}
	return text
}

// RaiseOf returns what a change does to a stored limit; ok is false where it changes none.
func (t *Target) RaiseOf(key string, c Change) (r Raise, ok bool) {
	stored, ok := t.StoredLimit(key)
	if !ok || c.Kind != Give {
		return r, false
	}
	return Raise{From: t.Limit, To: t.Raised(c.Units), Whose: stored.Whose}, true
}

// aimRaise says in one sentence without the key why the limit of r cannot be raised by so many units
// where its library keeps it, or returns nil.
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

// raise works out how a reading stands after its stored limit was raised at the instant now. A bucket of
// Bucket4j has as much used as before.
func (r *Reading) raise(units int64, now limiter.Instant) {
	used := r.State.Peek(now, r.Target.Limit, r.Target.Convention, 0).Used
	r.Target.Limit = r.Target.Raised(units)
	if r.Target.Library == "bucket4j" {
		r.State = limiter.State{Algorithm: r.Target.Algorithm}
		r.State.Take(now, r.Target.Limit, r.Target.Convention, used)
	}
}
