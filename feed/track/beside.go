package track

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// denials follows the stream in which denied requests are recorded.
type denials struct {
	key    string
	record record
	tail   tail
	seen   bool // the stream was there at least once
	always bool // its absence means that nothing was denied
	skip   int  // readings left before it is looked for again

	asked  bool
	access *Access // as it was given with the latest question
}

// absentEvery is how often a stream of denials that was never there is looked for.
const absentEvery = 5

func (d *denials) ask(q *Query, l *Tracker) {
	d.asked = false
	if d.key == "" {
		return
	}
	if !d.seen && q.Quick {
		return
	}
	if !d.seen && d.skip > 0 {
		d.skip--
		return
	}
	if d.access = q.Denials; !d.access.may(q.Now) {
		return
	}
	d.asked = true
	d.skip = absentEvery - 1
	d.record.setWindow(l.target.Window)
	d.record.most = q.Entries
	d.tail.key, d.tail.record = d.key, &d.record
	d.tail.ask(q, decode.IdAt(q.Now.Floor(d.record.span()).Add(-d.record.span())))
}

func (d *denials) take(now limiter.Instant) (again bool, err error) {
	if !d.asked {
		return false, nil
	}
	fresh, again, err := d.tail.take(now)
	if err == nil || connect.Code(err) == "NOPERM" {
		if d.access.learn(err) {
			d.key = "" // they cannot be read
			return false, nil
		}
	}
	switch {
	case err != nil && connect.Code(err) == "WRONGTYPE":
		d.key = "" // another program's key of that name
		return false, nil
	case err != nil:
		return false, err
	}
	d.seen = d.seen || d.tail.known
	d.record.extend(fresh)
	d.record.trim(now)
	return again, nil
}

// span sets the window. When it is longer than the one before, the stream is read anew
// from further back.
func (d *denials) span(w time.Duration) {
	was := d.record.span()
	d.record.setWindow(w)
	if d.record.span() > was && d.tail.known {
		d.tail = tail{}
		d.record.clear()
	}
}

// tell puts what is known of denials into r, which may know of them from elsewhere where there is no
// such stream.
func (d *denials) tell(now limiter.Instant, r *model.Reading) {
	if !d.seen && !d.always {
		return
	}
	r.Denied = model.Count{Known: (d.seen || d.always) && !d.tail.behind, N: d.record.sum(now.Add(-d.record.span()) + 1)}
	if reported := d.record.arrivals(true); len(reported) > 0 {
		r.Arrivals = mergeArrivals(r.Arrivals, reported)
	}
}

// mergeArrivals joins two runs that are each in order of time.
func mergeArrivals(a, b []model.Arrival) []model.Arrival {
	out := make([]model.Arrival, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].At < a[0].At {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}

// block reads until when a key is blocked. It is looked for at every reading where the rule speaks of
// blocks or discovery saw one, and now and then beside a key of ours that a person named, since
// discovery may not come by its name.
type block struct {
	key     string // "" is not looked for
	seldom  bool   // nothing speaks of blocks
	skip    int    // readings left before it is looked for again
	refused bool   // the server does not let us read it
	until   limiter.Instant
	till    *redis.StringCmd
	life    string // a key whose expiry is the end of the block, where a library keeps it so; else ""
	ttl     *redis.DurationCmd
}

func (b *block) ask(q *Query, l *Tracker) {
	b.till = nil
	if spoken := l.target.Convention.Block > 0; b.key == "" && !b.refused && (spoken || l.Named && (l.library == "" || l.library == model.OwnLibrary)) {
		b.key, b.seldom = layout.BlockedKey(l.Name), !spoken
	}
	switch {
	case b.key == "":
	case b.seldom && b.until == 0 && (q.Quick || b.skip > 0):
		if !q.Quick {
			b.skip--
		}
	default:
		b.skip = absentEvery - 1
		b.till = q.Pipe.Get(q.Ctx, b.key)
	}
	if b.ttl = nil; b.life != "" {
		b.ttl = q.Pipe.PTTL(q.Ctx, b.life)
	}
}

func (b *block) tell(r *model.Reading) {
	if b.ttl != nil {
		if ttl, err := b.ttl.Result(); err == nil && ttl > 0 {
			r.State.BlockedUntil = r.At.Add(ttl)
		}
	}
	if b.till == nil {
		return
	}
	b.until = 0
	text, err := b.till.Result()
	if connect.Code(err) == "NOPERM" && b.seldom {
		b.key, b.refused = "", true
	}
	if err != nil {
		return
	}
	if us, err := strconv.ParseInt(text, 10, 64); err == nil && us > 0 && us < 1<<53 {
		b.until = limiter.Instant(us)
		r.State.BlockedUntil = b.until
	}
}
