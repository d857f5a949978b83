package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/report"
)

// MaxRows bounds what History returns.
const MaxRows = 200_000

// batches calls see with each batch of a recording from its beginning on, and its moment, until see returns an error, which
// it returns. Of the readers of a file, FromState begins with where everything stood. A
// recording that ends too soon is read as far as it goes.
func batches(from func(frame int) (*record.Reader, error), see func(b model.Batch, at limiter.Instant) error) error {
	r, err := from(0)
	for err == nil {
		var b model.Batch
		if b, err = r.Next(); err == nil {
			if err := see(b, r.Moment()); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, io.EOF) || errors.As(err, new(*record.Damage)) {
		return nil
	}
	return fmt.Errorf("the recording cannot be read: %w", err)
}

// Moment returns every key as it was at a moment of a recording, sorted by name, and the name of
// the server; with a key, that one alone. The moment is moved into the recording.
func Moment(f *record.File, at limiter.Instant, key string, o report.Options) (rows []report.Row, server string, err error) {
	at = min(max(at, f.Begin), f.End)
	var board *model.Board
	r, err := f.FromState(f.FrameBefore(at))
	if err == nil {
		board, err = r.BoardAt(at, at)
	}
	if err != nil {
		return nil, "", fmt.Errorf("the recording cannot be read: %w", err)
	}
	for name, k := range board.Keys() {
		if shown := o.Likely || k.Reading.Target.Evidence != model.Likely; !k.Gone && (name == key || key == "" && shown) {
			rows = append(rows, report.RowOf(&k.Reading, at, o))
		}
	}
	slices.SortFunc(rows, func(x, y report.Row) int { return strings.Compare(string(x.Key.Key), string(y.Key.Key)) })
	return rows, board.Server.Target, nil
}

// History returns what a key was at every step of what r reads, counted from its beginning, and
// what came at it in each, and the name of the server. There is no row for a moment at which the
// key was not there. It is an error if there would be more than MaxRows.
func History(r *record.Reader, key string, step time.Duration, o report.Options) ([]report.Row, string, error) {
	h := history{key: key, step: limiter.Instant(step.Microseconds()), options: o}
	var end limiter.Instant
	err := batches(func(int) (*record.Reader, error) { return r, nil }, func(b model.Batch, at limiter.Instant) error {
		if end == 0 {
			h.begin = at
		}
		if end = max(end, at); h.step <= 0 || uint64(end-h.begin)/uint64(h.step) >= MaxRows {
			return fmt.Errorf("steps of %v make more than %d rows: give longer ones", step, MaxRows)
		}
		h.rowsBefore(at)
		h.board.Apply(b)
		h.settle()
		h.count(&b)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	h.rowsBefore(end + 1)
	h.settle()
	for i, p := range h.places {
		if row, c := &h.rows[i], collect.Entry(&h.came, p.number); p.watched {
			row.Step = &report.Step{Admitted: c.admitted, Injected: c.injected, Denied: collect.Known(row.Denied.Known, c.denied)}
		}
	}
	return h.rows, h.board.Server.Target, nil
}

// history collects the rows of one key.
type history struct {
	begin   limiter.Instant
	key     string
	step    limiter.Instant // microseconds: a Duration holds no more than 292 years
	options report.Options

	board  model.Board
	next   int // number of the next row, from the beginning
	rows   []report.Row
	places []place       // of the rows
	open   int           // place of the first row that may yet turn out to be watched
	came   map[int]*came // by the number of the row that ends the step
	newest limiter.Instant
}

// place is the number of a row, and whether the key was looked at during all of its step.
type place struct {
	number  int
	watched bool
}

// came is what came at the key in a step.
type came struct{ admitted, denied, injected int64 }

func (h *history) at(row int) limiter.Instant {
	return h.begin + limiter.Instant(row)*h.step
}

// rowsBefore adds the rows of the moments before at: the board is then as it was at each of them.
func (h *history) rowsBefore(at limiter.Instant) {
	for ; h.at(h.next) < at; h.next++ {
		if k := h.board.Key(h.key); k != nil && !k.Gone {
			h.rows = append(h.rows, report.RowOf(&k.Reading, h.at(h.next), h.options))
			h.places = append(h.places, place{number: h.next})
		}
	}
}

// settle finds out which of the rows that were added last were watched: the timeline knows once
// the key was read after them.
func (h *history) settle() {
	k := h.board.Key(h.key)
	if k == nil {
		return
	}
	for ; h.open < len(h.rows); h.open++ {
		p := &h.places[h.open]
		at := h.at(p.number)
		if k.Reading.At < at {
			return
		}
		if p.number > 0 {
			_, p.watched = k.Timeline.Admitted(at-h.step, at)
		}
	}
}

// count adds what a batch says came at the key to the steps. Each arrival is counted once, though
// the first batch of a part of the recording repeats those before it.
func (h *history) count(b *model.Batch) {
	was := max(h.newest, h.begin)
	for i := range b.Readings {
		if b.Readings[i].Key != h.key {
			continue
		}
		for _, a := range b.Readings[i].Arrivals {
			switch {
			case a.At <= was:
				continue
			case a.Denied:
				h.stepOf(a.At).denied += a.N
			default:
				h.stepOf(a.At).admitted += a.N
			}
			h.newest = max(h.newest, a.At)
		}
	}
	for _, f := range b.Fired {
		if f.Key == h.key && f.At > h.begin {
			h.stepOf(f.At).injected++
		}
	}
}

// stepOf returns the step that holds an instant after the beginning.
func (h *history) stepOf(at limiter.Instant) *came {
	return collect.Entry(&h.came, int((at-h.begin+h.step-1)/h.step))
}

// Requests returns when requests came at a key while a recording was made, counted from its
// first batch: admitted ones and, where they were recorded, denied ones, a unit of cost each. It
// is an error if there are more than most. What came before the recording is left out.
func Requests(f *record.File, key string, most int) ([]time.Duration, error) {
	var list []time.Duration
	var first, last limiter.Instant
	err := batches(f.From, func(b model.Batch, at limiter.Instant) error {
		if first == 0 {
			first, last = at, at
		}
		for i := range b.Readings {
			if b.Readings[i].Key != key {
				continue
			}
			newest := last
			for _, a := range b.Readings[i].Arrivals {
				if a.At <= last {
					continue
				}
				for range a.N {
					if list = append(list, a.At.Sub(first)); len(list) > most {
						return fmt.Errorf("the recording holds more than the %d requests of one order: record less of it", most)
					}
				}
				newest = max(newest, a.At)
			}
			last = newest
		}
		return nil
	})
	return list, err
}

// MaxHappened bounds what Happened returns: of more, the first are kept.
const MaxHappened = 50_000

// Happened reads a whole recording and returns what happened in it, by time: alerts of the board in
// the words of say, with its keys that came and went left out, and each order that was fired from
// here at its first request. say returns "" for an alert that is to be left out. A recording that
// ends too soon is read as far as it goes; more than MaxHappened are an error.
func Happened(ctx context.Context, f *record.File, say func(*model.Alert) string) ([]record.Marker, error) {
	h := happened{board: model.Board{Rough: true}, sums: map[sum]int{}, orders: map[order]*burst{}, say: say}
	err := batches(f.FromState, func(b model.Batch, seen limiter.Instant) error {
		h.take(b, seen)
		if len(h.list) > MaxHappened {
			return fmt.Errorf("more than %d things happened in the recording: record less of it", MaxHappened)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for _, o := range h.begun {
		h.list = append(h.list, record.Marker{At: o.first, Kind: record.MarkerFired, Key: o.key, Text: o.text(), Seen: o.seen})
	}
	record.SortMarkers(h.list)
	return slices.Clip(h.list), nil
}

// happened collects what happens.
type happened struct {
	board  model.Board
	say    func(*model.Alert) string
	list   []record.Marker
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
		h.list = append(h.list, record.Marker{At: a.At, Kind: record.MarkerEvent, Key: a.Key, Text: text, Seen: seen})
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
