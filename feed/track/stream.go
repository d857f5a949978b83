package track

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// streamDecoder reads a stream with one entry for each request.
type streamDecoder struct {
	key    string
	record record
	tail   tail
	hot    int        // readings for which the count still counts as approximate after a jump
	unread model.Note // says how much was read of a stream that was not read to its end; "" once it was

	synced bool            // the record holds all entries of the window
	from   limiter.Instant // while not synced: where reading began
	fresh  []limiter.Entry

	ttl   *redis.DurationCmd
	first *redis.XMessageSliceCmd
}

func (b *streamDecoder) ask(q *Query, l *Tracker) {
	b.record.setWindow(l.target.Window)
	b.record.most = q.Entries
	b.tail.key, b.tail.record = b.key, &b.record
	b.ttl, b.first = nil, nil
	if q.Whole || !b.tail.known {
		b.ttl = q.Pipe.PTTL(q.Ctx, b.key)
		b.first = q.Pipe.XRangeN(q.Ctx, b.key, "-", "+", 1)
	}
	if !b.synced && !b.tail.known {
		b.from, b.fresh = b.record.horizon(q.Now), nil
	}
	b.tail.ask(q, decode.IdAt(b.from))
}

// resync makes the next reading read the last window again.
func (b *streamDecoder) resync() {
	b.synced, b.fresh = false, nil
	b.tail = tail{uncounted: b.tail.uncounted, untotaled: b.tail.untotaled}
}

func (b *streamDecoder) take(now limiter.Instant, l *Tracker, r *model.Reading) (again bool, err error) {
	there, err := b.there(now, l)
	if err != nil {
		return false, err
	}
	if !there {
		l.moved = l.moved || len(b.record.entries) > 0
		b.record.lose(now.Add(-b.record.span()), now)
		b.resync()
	} else {
		fresh, again, err := b.tail.take(now)
		if err != nil {
			return false, err
		}
		if b.tail.jumped {
			b.hot = 10
		}
		if b.synced {
			b.record.extend(fresh)
		} else {
			b.fresh = append(b.fresh, fresh...)
		}
		if again {
			return true, nil
		}
		if !b.synced {
			b.record.replace(b.from, b.fresh, 1)
			b.synced, b.fresh = true, nil
			if k := len(b.record.entries); b.tail.binned && k > 0 {
				b.record.joined, b.record.until = true, b.record.entries[k-1].At
			}
		}
		b.hot = max(b.hot-1, 0)
		b.guess(now, l)
		if span := b.record.span(); l.target.Window > 0 && l.target.Window != b.record.window {
			b.record.setWindow(l.target.Window)
			if b.record.span() > span { // the earlier part of the longer window was not read
				b.resync()
				b.record.clear()
				return true, nil
			}
		}
	}
	b.record.trim(now)
	b.fill(now, l, r)
	return false, nil
}

// there reports whether the stream exists, if that was asked for, and removes the entries that
// it has lost.
func (b *streamDecoder) there(now limiter.Instant, l *Tracker) (bool, error) {
	if b.ttl == nil {
		return true, nil
	}
	ttl, err := b.ttl.Result()
	if err != nil {
		return false, err
	}
	first, err := b.first.Result()
	if err != nil {
		return false, err
	}
	if !l.present(ttl, "stream") {
		return false, nil
	}
	l.moved = b.trimmed(first, now) || l.moved
	return true, nil
}

// trimmed removes the entries of the last window that the server no longer has, because the
// stream was deleted and started again, or is trimmed earlier than its window. It reports
// whether there were any. first is the stream's oldest entry.
func (b *streamDecoder) trimmed(first []redis.XMessage, now limiter.Instant) bool {
	oldest := now
	if len(first) > 0 {
		if id, ok := decode.ParseID(first[0].ID); ok {
			oldest = min(id.At(), now)
		}
	}
	return b.record.lose(now.Add(-b.record.span()), oldest)
}

// guess infers the window from the expiry, once the newest entry was read.
func (b *streamDecoder) guess(now limiter.Instant, l *Tracker) {
	if b.tail.behind {
		return
	}
	if k := len(b.record.entries); k > 0 && l.ttl > 0 {
		l.guess(inferWindow(now, l.ttl, b.record.entries[k-1].At, l.target.Window))
	}
}

func (b *streamDecoder) fill(now limiter.Instant, l *Tracker, r *model.Reading) {
	l.note(model.NoCountField, b.tail.uncounted)
	if b.tail.known {
		l.target.Layout.NoTotals = b.tail.untotaled
	}
	r.State.Log = b.record.log()
	l.note(b.unread, false)
	b.unread = ""
	if r.Partial = b.tail.behind; r.Partial {
		b.unread = model.Note(fmt.Sprintf("still being read: at least %d used", b.record.sum(now.Add(-b.record.span())+1)))
		l.note(b.unread, true)
	}
	r.Approximate = b.record.joined || b.hot > 0
	r.PreviousKnown = l.target.Window > 0
	r.ExactKnown = l.target.Window > 0
	r.Arrivals = b.record.arrivals(false)
	l.ahead("ids", now, b.record.entries)
}
