package watch

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/watch/hotkeys"
	"ratescope/model"
	"ratescope/model/format"
)

// asked finds out whether a limiter is asked again and again while it is at its limit. A script that denies without writing leaves one
// trace in Redis: reading a key sets its access time, whose clock has whole seconds, and OBJECT IDLETIME tells that time without setting
// it. Readings set it too (before CLIENT NO-TOUCH of Redis 7.2), so that a limiter at its limit rests while no write of it is announced:
// at the end of a rest, an access within the last second was another client's. That bounds the requests from below by one for each look.
// There is no closer bound, since an access time does not count. It is not known where admitted requests come within each rest, where
// writes are not announced (a cluster, more writes than announcements may cost), at a replica, under an LFU policy, while a snapshot is
// written (Redis then sets no access times), of counters that share their value's object with other keys (below 10,000, unless memory is
// limited), and beside another ratescope, which the subscribers of its channel show.
type asked struct {
	full  bool               // at its limit as of the latest reading, and its library does not record denials
	read  time.Time          // when the latest answer about the limiter came, as late as it may have been read
	idle  *redis.DurationCmd // of the present pipeline; nil for none
	refs  *redis.IntCmd      // likewise
	looks uint8              // the latest looks, a bit each: another client read it
}

const (
	restFull    = 2 * time.Second // between readings of a limiter at its limit: an access time is up to 1.1 s too early
	looksKept   = 4               // latest looks that count
	looksAsked  = 3               // of these say that it is asked again and again
	looksAtOnce = 64              // in one pipeline
	mostAsked   = 8               // limiters that are told
)

// lookAt adds the question whether others read a limiter to a pipeline, where the answer will tell.
func (r *reader) lookAt(t *tracked, f *flight) {
	a, l, q := &t.asked, r.link, f.query
	a.idle, a.refs = nil, nil
	policy, _ := l.facts.policy.Load().(string)
	rests := a.full && f.sent.Sub(a.read) >= restFull && r.limiters.still(t)
	if !rests || f.looks == looksAtOnce || l.server.role != "master" || r.limiters.noLooks != "" || strings.Contains(policy, "lfu") {
		return
	}
	if f.looks++; f.looks == 1 {
		f.listeners = q.Pipe.PubSubNumSub(q.Ctx, hotkeys.Channel)
	}
	a.idle, a.refs = q.Pipe.ObjectIdleTime(q.Ctx, t.Name), q.Pipe.ObjectRefCount(q.Ctx, t.Name)
}

// heed takes the answer, together with the reading that was made after it.
func (r *reader) heed(t *tracked, reading *model.Reading, f *flight) {
	a := &t.asked
	a.full = t.Near && reading.Err == "" && reading.Type != "stream" && !reading.Denied.Known
	if a.full {
		g := reading.Gauge(reading.At)
		a.full = g.Throttled()
	}
	var err error
	if a.idle != nil {
		err = cmp.Or(f.listeners.Err(), a.idle.Err(), a.refs.Err())
	}
	switch {
	case !a.full:
		a.looks = 0
	case a.idle == nil || len(reading.Arrivals) > 0 || errors.Is(err, redis.Nil): // a write may have set the access time
	case err != nil:
		r.limiters.noLooks = "access times of keys at their limits may not be asked by this user: " + connect.Remedy(err)
	case f.listeners.Val()[hotkeys.Channel] > 1: // another ratescope, which reads the keys as well
		a.looks = 0
	case a.refs.Val() == 1:
		a.looks = a.looks << 1 & (1<<looksKept - 1)
		if a.idle.Val() == 0 {
			a.looks++
		}
	}
}

// asked returns the limiters that are asked again and again, at most mostAsked, and a phrase that says how they are known.
func (l *limiters) asked() (keys []model.HotKey, _ string) {
	full, says := 0, l.noLooks
	for name, t := range l.trackers {
		if t.asked.full {
			full++
		}
		if n := bits.OnesCount8(t.asked.looks); n >= looksAsked {
			keys = append(keys, model.HotKey{Key: name, Asked: model.Measure{Known: true, V: float64(n) / looksKept}})
		}
	}
	if n := len(keys); n > 0 {
		says = fmt.Sprintf("access times, of %s at their limits: %d asked again and again", format.Plural(full, "key"), n)
	}
	slices.SortFunc(keys, func(x, y model.HotKey) int {
		return cmp.Or(cmp.Compare(y.Asked.V, x.Asked.V), strings.Compare(x.Key, y.Key))
	})
	return keys[:min(len(keys), mostAsked)], says
}
