package replay

import (
	"context"
	"fmt"
	"slices"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/marker"
	"ratescope/model/record"
)

// MaxHappened bounds what Happened returns: of more, the first are kept.
const MaxHappened = 50_000

// Happened reads a whole recording and returns what happened in it, by time: alerts of the board in
// the words of say, with its keys that came and went left out, and each order that was fired from
// here at its first request. say returns "" for an alert that is to be left out. A recording that
// ends too soon is read as far as it goes; more than MaxHappened are an error.
func Happened(ctx context.Context, f *record.File, say func(*model.Alert) string) ([]marker.Marker, error) {
	h := happened{board: model.Board{Rough: true}, sums: map[sum]int{}, orders: map[order]*burst{}, say: say}
	err := batches(f.FromState, 0, func(b model.Batch, seen limiter.Instant) error {
		h.take(b, seen)
		if len(h.list) > MaxHappened {
			return fmt.Errorf("more than %d things happened in the recording: record less of it", MaxHappened)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return h.all(), nil
}

// happened collects what happens.
type happened struct {
	board  model.Board
	say    func(*model.Alert) string
	list   []marker.Marker
	sums   map[sum]int      // places of alerts about many keys, which may still grow
	orders map[order]*burst // of what was fired
	begun  []*burst         // in the order of their first requests
}

// sum identifies an alert about many keys.
type sum struct {
	at   limiter.Instant
	what model.AlertKind
}

// order identifies an order that was fired at a key. Numbers of orders begin anew with each program.
type order struct {
	id  int64
	key string
}

// burst is the requests of an order.
type burst struct {
	first, last, seen limiter.Instant
	key               string
	of                model.Outcomes
}

// pauseOf is the time without a request after which an order of the same number is another one,
// of a program that was started anew.
const pauseOf = limiter.Instant(60_000_000)

func (h *happened) take(b model.Batch, seen limiter.Instant) {
	raised := h.board.Raised()
	h.board.Apply(b)
	alerts := h.board.Alerts()
	fresh := len(alerts) - min(h.board.Raised()-raised, len(alerts))
	for i := range alerts {
		a := &alerts[i]
		many := a.Key == "" && a.N > 0
		if i < fresh && !many || a.What == model.Appeared || a.What == model.Left {
			continue
		}
		text := h.say(a)
		if text == "" {
			continue
		}
		m := marker.Marker{At: a.At, Kind: marker.Event, Key: a.Key, Text: text, Seen: seen}
		if at, known := h.sums[sum{a.At, a.What}]; many && known {
			h.list[at].Text = text
			continue
		}
		if i < fresh {
			continue
		}
		if many {
			h.sums[sum{a.At, a.What}] = len(h.list)
		}
		h.list = append(h.list, m)
	}
	for _, f := range b.Fired {
		h.fired(&f, seen)
	}
}

func (h *happened) fired(f *model.Fired, seen limiter.Instant) {
	id := order{f.Order, f.Key}
	o := h.orders[id]
	if o == nil || f.At-o.last > pauseOf {
		o = &burst{first: f.At, seen: seen, key: f.Key}
		h.orders[id], h.begun = o, append(h.begun, o)
	}
	o.first, o.last = min(o.first, f.At), max(o.last, f.At)
	o.of.Add(f.Outcome)
}

// all returns what was collected.
func (h *happened) all() []marker.Marker {
	for _, o := range h.begun {
		h.list = append(h.list, marker.Marker{At: o.first, Kind: marker.Fired, Key: o.key, Text: o.text(), Seen: o.seen})
	}
	marker.Sort(h.list)
	return slices.Clip(h.list)
}

// text says what became of the requests.
func (b *burst) text() string {
	text := fmt.Sprintf("fired from here: %d admitted, %d denied", b.of.Admitted, b.of.Denied)
	if n := b.of.Failed; n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	if n := b.of.Unanswered; n > 0 {
		text += fmt.Sprintf(", %d unanswered", n)
	}
	if long := b.last.Sub(b.first); long > 0 {
		text += " in " + format.Spaced(long)
	}
	return text
}
