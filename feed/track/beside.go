package track

import (
	"cmp"
	"slices"
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
	key    string // "" if the stream cannot be read
	record record
	tail   tail
	seen   bool // the stream has existed
	always bool // all denials are recorded, so that no stream means no denials
	skip   int  // readings before it is looked for again

	asked  bool    // the latest Ask asked for it
	access *Access // of the latest query
}

// absentEvery is the number of readings between two attempts to read a key that has not
// existed so far.
const absentEvery = 5

func (d *denials) ask(q *Query, l *Tracker) {
	d.asked = false
	if d.key == "" || !d.seen && q.Quick {
		return
	}
	if !d.seen && d.skip > 0 {
		d.skip--
		return
	}
	d.access = q.Denials
	may, soon := d.access.may(q.Now)
	if d.asked = may; !may {
		d.seen = d.seen && soon // denials that this user may no longer read are not known
		return
	}
	d.skip = absentEvery - 1
	d.record.setWindow(l.aim.target.Window)
	d.record.most = q.Entries
	d.tail.key, d.tail.record = d.key, &d.record
	d.tail.ask(q, decode.IdAt(q.Now.Floor(d.record.span()).Add(-d.record.span())))
}

func (d *denials) take(now limiter.Instant) (again bool, err error) {
	if !d.asked {
		return false, nil
	}
	fresh, again, err := d.tail.take(now)
	code := connect.Code(err)
	if err == nil || code == "NOPERM" {
		d.access.learn(err)
	}
	switch {
	case code == "NOPERM", code == "WRONGTYPE": // this user may not read it, or another program uses the name for something else
		d.key, d.seen = "", false
		return false, nil
	case err != nil:
		return false, err
	}
	d.seen = d.seen || d.tail.known
	d.record.extend(fresh)
	d.record.trim(now)
	return again, nil
}

// span sets the window. For a longer window than before, the stream is read again from further
// back.
func (d *denials) span(w time.Duration) {
	if d.record.widen(w) && d.tail.known {
		d.tail = tail{}
		d.record.clear()
	}
}

// tell adds the denials to r. If there is no stream it leaves r.Denied as it is, because a
// library's decoder may have set it.
func (d *denials) tell(now limiter.Instant, r *model.Reading) {
	if !d.seen && !d.always {
		return
	}
	r.Denied = model.Count{Known: !d.tail.behind, N: d.record.sum(now.Add(-d.record.span()) + 1)}
	if reported := d.record.arrivals(true); len(reported) > 0 {
		r.Arrivals = slices.Concat(r.Arrivals, reported)
		slices.SortStableFunc(r.Arrivals, func(a, b model.Arrival) int { return cmp.Compare(a.At, b.At) })
	}
}

// block reads until when a limiter is blocked. The key with the block is read at every reading
// if the rule has blocks or discovery has found one. It is read every absentEvery readings for
// a limiter of ratescope's own library that the user named, because discovery may not find it.
type block struct {
	key     string // the key with the block; "" is not read
	seldom  bool   // neither the rule nor discovery suggests a block
	skip    int    // readings before it is read again
	refused bool   // this user may not read it
	until   limiter.Instant
	till    *redis.StringCmd
	life    string // a library's key whose expiry is the end of the block; "" for none
	ttl     *redis.DurationCmd
}

func (b *block) ask(q *Query, l *Tracker) {
	b.till = nil
	spoken, foreign := l.aim.target.Convention.Block > 0, l.Found.Library != "" && l.Found.Library != model.OwnLibrary
	if b.key == "" && !b.refused && (spoken || l.Named && !foreign) {
		b.key, b.seldom = layout.BlockedKey(l.Name), !spoken
	}
	switch {
	case b.key == "":
	case b.seldom && b.until == 0 && (q.Quick || b.skip > 0):
		if !q.Quick {
			b.skip--
		}
	default:
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
	b.until, b.skip = 0, absentEvery-1 // a reading may take several looks, of which the last one is told
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

// Access finds out whether this user may read keys that exist beside every limiter, such as
// recorded denials. One limiter asks first, and the others wait for its answer, so that a user
// without the permission is refused once and not for every limiter: each refusal adds to the
// server's ACL LOG. The zero value has asked nothing; it is used by one goroutine.
type Access struct {
	granted   bool
	requested limiter.Instant // when the first limiter asked
	remedy    string          // the ACL command that would permit it; "" while it is not refused
}

// askAgain is how long the other limiters wait for the first answer, which may have been lost.
const askAgain = 5 * time.Second

// may reports whether a limiter may ask now, and if not whether the answer to another is waited for. A nil Access permits it always.
func (a *Access) may(now limiter.Instant) (may, soon bool) {
	switch {
	case a == nil || a.granted:
		return true, false
	case a.remedy != "":
		return false, false
	case a.requested != 0 && now.Sub(a.requested) < askAgain:
		return false, true
	}
	a.requested = now
	return true, false
}

// skip lets another limiter ask, since the one that did cannot be read.
func (a *Access) skip() {
	if a != nil {
		a.requested = 0
	}
}

// learn takes the answers to a limiter. It reports whether the limiter is to ask again once that is permitted.
func (a *Access) learn(answers ...error) (again bool) {
	refused := slices.IndexFunc(answers, func(err error) bool { return connect.Code(err) == "NOPERM" })
	switch {
	case a == nil:
	case refused < 0:
		a.granted = true
	case !a.granted:
		a.remedy = connect.Remedy(answers[refused])
	}
	return a != nil && a.remedy != ""
}

// AccessOf returns the Access that an answer about some key of the kind shows before any
// limiter asks. A refusal proves nothing, because other keys may be permitted.
func AccessOf(err error) Access {
	return Access{granted: err == nil || connect.Redirected(err)}
}

// Refused returns the ACL command that would permit it; "" while it is not refused.
func (a *Access) Refused() string { return a.remedy }
