package track

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// singleDecoder reads a window that begins with its first request: one string that counts
// and whose expiry, set when it was created, is the end of the window (INCR + EXPIRE).
type singleDecoder struct {
	key   string
	value *redis.StringCmd
	ttl   *redis.DurationCmd

	last  int64
	ends  limiter.Instant // of the window last seen
	known bool
	// outlives is set once the expiry was seen to be farther off than the window is long: near
	// its end such a counter looks like one that has just begun.
	outlives bool
}

func (b *singleDecoder) ask(q *Query, _ *Tracker) {
	b.value = q.Pipe.GetRange(q.Ctx, b.key, 0, decode.LongestNumber-1)
	b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
}

func (b *singleDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	ttl, err := b.ttl.Result()
	if err != nil {
		return false, err
	}
	text, err := b.value.Result()
	if err != nil {
		return false, err
	}
	l.wrong = ""
	var n int64
	if l.present(ttl, "string") {
		if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
			l.wrong = "holds a string that is not a count"
			n = 0
		}
	}
	b.tell(now, l, r, n)
	return false, nil
}

func (b *singleDecoder) tell(now limiter.Instant, l *Tracker, r *model.Reading, n int64) {
	l.target.Convention.Alignment = limiter.AlignFirstRequest
	ends := limiter.Instant(0)
	if l.ttl > 0 { // the key goes in the millisecond after its expiry
		ends = limiter.Instant(now.Millis() * 1000).Add(l.ttl + time.Millisecond)
	}
	// A later end alone is no new window: its owner may set the expiry anew with every request,
	// and a server may have been interrupted between the answers about the expiry and the time.
	over := b.ends != 0 && now >= b.ends.Add(-futureAllowed) && ends.Sub(b.ends) > futureAllowed
	fresh := n < b.last || over
	if b.known && l.since != 0 {
		rise := n - b.last
		if fresh {
			rise = n
			// A window that began since the reading before shows how long it is: a little more
			// than what is left of it.
			if up := (l.ttl + time.Second - 1).Truncate(time.Second); up-l.ttl <= now.Sub(l.since) {
				l.guess(up)
			}
		}
		if rise > 0 {
			r.Arrivals = []model.Arrival{{At: now, N: rise}}
		}
	}
	b.last, b.ends, b.known = n, ends, true
	w := l.target.Window
	const slack = 5 * time.Millisecond // of the answers
	switch {
	case w > 0 && l.ttl > w+slack:
		b.outlives = true
	case fresh && now.Sub(l.since) < w: // it was seen from its first requests on
		b.outlives = false
	}
	l.note(model.Outlives, b.outlives)
	r.State.Current = n
	if ends != 0 && w > 0 {
		r.State.Start = ends.Add(-w)
	} else {
		r.State.Start = now
	}
}
