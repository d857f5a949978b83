package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/report"
)

// MaxRows bounds what History returns.
const MaxRows = 200_000

// batches calls see with each batch of a recording from a frame on, and its moment, until see returns an error, which
// it returns unless it is io.EOF. Of the readers of f, FromState begins with where everything stood at the frame. A
// recording that ends too soon is read as far as it goes.
func batches(from func(frame int) (*record.Reader, error), frame int, see func(b model.Batch, at limiter.Instant) error) error {
	r, err := from(frame)
	for err == nil {
		var b model.Batch
		if b, err = r.Next(); err == nil {
			if err := see(b, r.Moment()); err != nil {
				if err == io.EOF {
					return nil
				}
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
	var board model.Board
	begun := false
	err = batches(f.FromState, f.FrameBefore(at), func(b model.Batch, moment limiter.Instant) error {
		if begun && moment > at {
			return io.EOF
		}
		begun = true
		board.Apply(b)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	for name, k := range board.Keys() {
		if shown := o.Likely || k.Reading.Target.Evidence != model.Likely; !k.Gone && (name == key || key == "" && shown) {
			rows = append(rows, report.RowOf(&k.Reading, at, o))
		}
	}
	slices.SortFunc(rows, func(x, y report.Row) int { return strings.Compare(string(x.Key.Key), string(y.Key.Key)) })
	return rows, board.Server.Target, nil
}

// History returns what a key was at every step of a recording, counted from its beginning, and
// what came at it in each, and the name of the server. There is no row for a moment at which the
// key was not there. It is an error if there would be more than MaxRows.
func History(f *record.File, key string, step time.Duration, o report.Options) ([]report.Row, string, error) {
	if step <= 0 || f.End.Sub(f.Begin)/step >= MaxRows {
		return nil, "", fmt.Errorf("steps of %v make more than %d rows of %v: give longer ones", step, MaxRows,
			f.End.Sub(f.Begin).Round(time.Second))
	}
	h := history{file: f, key: key, step: step, options: o, came: map[int]*came{}}
	err := batches(f.FromState, 0, func(b model.Batch, at limiter.Instant) error {
		h.rowsBefore(at)
		h.board.Apply(b)
		h.settle()
		h.count(&b)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	h.rowsBefore(f.End + 1)
	h.settle()
	for i := range h.rows {
		h.fill(i)
	}
	return h.rows, h.board.Server.Target, nil
}

// history collects the rows of one key.
type history struct {
	file    *record.File
	key     string
	step    time.Duration
	options report.Options

	board  model.Board
	next   int // number of the next row, from the beginning of the recording
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
	return h.file.Begin.Add(time.Duration(row) * h.step)
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
			_, p.watched = k.Timeline.Admitted(at.Add(-h.step), at)
		}
	}
}

// count adds what a batch says came at the key to the steps. Each arrival is counted once, though
// the first batch of a part of the recording repeats those before it.
func (h *history) count(b *model.Batch) {
	was := max(h.newest, h.file.Begin)
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
		if f.Key == h.key && f.At > h.file.Begin {
			h.stepOf(f.At).injected++
		}
	}
}

// stepOf returns the step that holds an instant after the beginning.
func (h *history) stepOf(at limiter.Instant) *came {
	n := int((at.Sub(h.file.Begin) + h.step - 1) / h.step)
	if h.came[n] == nil {
		h.came[n] = &came{}
	}
	return h.came[n]
}

// fill gives a row that was watched its step.
func (h *history) fill(i int) {
	if !h.places[i].watched {
		return
	}
	row, c := &h.rows[i], h.came[h.places[i].number]
	if c == nil {
		c = &came{}
	}
	row.Step = &report.Step{Admitted: c.admitted, Injected: c.injected}
	if row.Denied.Known {
		row.Step.Denied = &c.denied
	}
}
