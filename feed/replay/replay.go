// Package replay shows a recording again: a Player hands its batches out when their time
// comes, at a speed, and goes anywhere in it.
//
// The time of a replay is the recording's, on the server's clock; while the server was
// away, the recorder's clock carries it on. To go back, a Player begins at the last
// checkpoint before, a frozen board at a frame of the file, and reads on from there: the
// board is at any moment what it was when it was recorded.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/handoff"
	"ratescope/model/record"
)

// speeds are those that Faster and Slower go through.
var speeds = [...]float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// Player plays a recording. Take and Run are for one goroutine; all else may be called
// from any. Make one with New.
type Player struct {
	file   *record.File
	linear bool

	// Of Take alone.
	reader    *record.Reader
	board     model.Board // every batch that was handed out is applied to it
	marks     []checkpoint
	next      model.Batch // read ahead, when due says so
	due       limiter.Instant
	ahead     bool
	last      limiter.Instant // moment of the batch handed out last
	ending    error           // of the reader
	delivered time.Time

	mu     sync.Mutex
	at     limiter.Instant // the moment of the replay
	local  time.Time       // at this instant of this machine's clock; zero before it begins
	speed  float64
	paused bool
	ended  bool
	seek   *limiter.Instant // where to go next
	damage string
	wake   handoff.Signal
}

// checkpoint is the board as it was where a frame of the file begins.
type checkpoint struct {
	frame int
	board *model.Board
}

const (
	maxMarked = 10_000                 // keys that all checkpoints hold together
	pace      = 100 * time.Millisecond // between two batches for a screen, at any speed
	stint     = 50 * time.Millisecond  // of reading at once: a replay falls behind rather than stands still
	setBack   = 2500 * time.Millisecond
)

// New returns a player at the beginning of f. With linear, every batch is handed out by
// itself, and io.EOF after the last one; else what is due at once comes as one batch, and
// at the end the player waits to be sent elsewhere. The error is for a speed that is out
// of range.
func New(f *record.File, speed float64, linear bool) (*Player, error) {
	if lo, hi := speeds[0], speeds[len(speeds)-1]; !(speed >= lo && speed <= hi) {
		return nil, fmt.Errorf("a speed of %g is out of range: give %g to %g", speed, lo, hi)
	}
	p := &Player{file: f, at: f.Begin, last: f.Begin, speed: speed, linear: linear, wake: handoff.NewSignal()}
	p.marks = []checkpoint{{0, &model.Board{}}}
	if f.Damage != nil {
		p.damage = f.Damage.Why
	}
	return p, nil
}

// Take waits for what is next and returns it: what tui.Options.Take wants. It returns
// io.EOF at the end of a linear replay, and ctx.Err() when ctx ends first.
func (p *Player) Take(ctx context.Context) (model.Batch, error) {
	p.mu.Lock()
	if p.local.IsZero() {
		p.local = time.Now()
	}
	p.mu.Unlock()
	for ctx.Err() == nil {
		if to, asked := p.seekTarget(); asked {
			return p.goTo(ctx, to)
		}
		b, some, err := p.collect()
		switch {
		case err != nil:
			return b, err
		case some:
			p.delivered = time.Now()
			return b, nil
		case p.ending != nil && p.linear:
			return b, io.EOF
		}
		p.wait(ctx)
	}
	return model.Batch{}, ctx.Err()
}

// Run implements feed.Source.
func (p *Player) Run(ctx context.Context, emit func(model.Batch)) error {
	for {
		b, err := p.Take(ctx)
		switch {
		case ctx.Err() != nil || err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		emit(b)
	}
}

// Focus implements feed.Focuser: what was seen was seen.
func (p *Player) Focus([]string) {}

// seekTarget returns where to go, once.
func (p *Player) seekTarget() (to limiter.Instant, yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seek == nil {
		return 0, false
	}
	to, p.seek = *p.seek, nil
	return to, true
}

// readAhead sees to it that the next batch is there, if there is one.
func (p *Player) readAhead(frame int) error {
	if p.ahead || p.ending != nil {
		return nil
	}
	if p.reader == nil {
		r, err := p.file.From(frame)
		if err != nil {
			return fmt.Errorf("the recording cannot be read: %w", err)
		}
		p.reader = r
	}
	b, err := p.reader.Next()
	if err != nil {
		p.ending = err
		if d := (*record.Damage)(nil); errors.As(err, &d) {
			p.mu.Lock()
			p.damage = d.Why
			p.mu.Unlock()
		}
		return nil
	}
	p.next, p.due, p.ahead = b, p.reader.Moment(), true
	if frame := p.reader.Frame(); frame > p.marks[len(p.marks)-1].frame {
		p.mark(frame)
	}
	return nil
}

// apply hands the batch that was read ahead to the board, and returns it.
func (p *Player) apply() model.Batch {
	b := p.next
	p.board.Apply(b)
	p.last = p.due
	p.next, p.ahead = model.Batch{}, false
	return b
}

// mark keeps the board as it is before the first batch of a frame. When all checkpoints
// hold too many keys together, every second one is let go.
func (p *Player) mark(frame int) {
	p.marks = append(p.marks, checkpoint{frame, p.board.Freeze(p.board.At)})
	held := 0
	for _, m := range p.marks {
		held += m.board.Len()
	}
	if held <= maxMarked || len(p.marks) < 3 {
		return
	}
	n := 0
	p.marks = slices.DeleteFunc(p.marks, func(checkpoint) bool { n++; return n%2 == 0 })
}

// collect returns what is due, if anything is. More than one batch comes as the board
// that they lead to, with everything that they brought.
func (p *Player) collect() (b model.Batch, some bool, err error) {
	begun := time.Now()
	if !p.linear && begun.Sub(p.delivered) < pace {
		return b, false, nil
	}
	n := 0
	for {
		if err := p.readAhead(0); err != nil {
			return b, false, err
		}
		if !p.ahead {
			p.end()
			break
		}
		if p.last.Sub(p.due) > setBack { // the recorded clock was set back, and it rules
			if !p.anchor(p.due) {
				break
			}
			p.last = p.due
		}
		if p.due > p.Now(time.Now()) || n > 0 && p.linear {
			break
		}
		if n > 0 && time.Since(begun) > stint {
			p.anchor(p.due)
			break
		}
		b = p.apply()
		n++
	}
	if n > 1 {
		b = p.board.Anew(p.board.At)
	}
	return b, n > 0, nil
}

// goTo moves the board to a moment and returns it.
func (p *Player) goTo(ctx context.Context, to limiter.Instant) (model.Batch, error) {
	i, frame := len(p.marks)-1, p.file.FrameBefore(to)
	for i > 0 && p.marks[i].frame > frame {
		i--
	}
	least := 0
	if m := p.marks[i]; to < p.last || p.reader == nil || m.frame > p.reader.Frame() {
		p.board = *m.board.Freeze(m.board.At)
		p.reader, p.ahead, p.ending, p.last = nil, false, nil, p.file.Begin
		frame, least = m.frame, 1
	}
	for n := 0; ; n++ {
		if err := p.readAhead(frame); err != nil {
			return model.Batch{}, err
		}
		if !p.ahead || n >= least && p.due > to {
			break
		}
		p.apply()
		if n%64 == 0 && ctx.Err() != nil {
			return model.Batch{}, ctx.Err()
		}
	}
	return p.board.Anew(p.board.At), nil
}

// wait returns when something may be due, or the player was told something.
func (p *Player) wait(ctx context.Context) {
	var alarm <-chan time.Time
	p.mu.Lock()
	if p.ahead && !p.paused {
		local := time.Now()
		d := time.Duration(float64(p.due.Sub(p.now(local))) / p.speed)
		if !p.linear {
			d = max(d, pace-local.Sub(p.delivered))
		}
		timer := time.NewTimer(max(d, time.Millisecond))
		defer timer.Stop()
		alarm = timer.C
	}
	p.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-p.wake:
	case <-alarm:
	}
}
