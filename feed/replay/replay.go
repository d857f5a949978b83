// Package replay shows a recording again: a Player hands its batches out when their time comes, at a speed, and goes anywhere in it.
//
// The time of a replay is the recording's, on the server's clock; while the server was away, the recorder's clock carries it on. To go
// elsewhere, a Player begins at the last checkpoint before, a frozen board at a frame of the file, and reads on from there: the board
// is what it was when it was recorded. Where that is far, it leaps: it shows at once where everything stood at that moment, which the
// frame before it says, and reads what came before while that is on screen: first as much as timelines show, then all of it.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/handoff"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// speeds are those that Faster and Slower go through.
var speeds = [...]float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// Player plays a recording. Take is for one goroutine; all else may be called from any. Make one with New.
type Player struct {
	file   *record.File
	linear bool

	// Of Take alone.
	shown     *course
	behind    []*course // that read what came before shown; the last one is whole
	marks     []checkpoint
	delivered time.Time
	patience  time.Duration // of reading on to a moment, before leaping there; negative is none

	seek atomic.Pointer[limiter.Instant] // where to go next; nil for nowhere else

	mu     sync.Mutex
	at     limiter.Instant // the moment of the replay
	local  time.Time       // at this instant of this machine's clock; zero before it begins
	speed  float64
	paused bool
	ended  bool
	past   bool // what came before the moment is being read
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
	patience  = 12 * time.Millisecond  // Player.patience, but for a linear replay
	setBack   = 2500 * time.Millisecond
)

// New returns a player at the beginning of f. With linear, every batch is handed out by itself, and io.EOF after the last one; else
// what is due at once comes as one batch, and at the end the player waits to be sent elsewhere. The error is for a speed that is out of
// range.
func New(f *record.File, speed float64, linear bool) (*Player, error) {
	if lo, hi := speeds[0], speeds[len(speeds)-1]; !(speed >= lo && speed <= hi) {
		return nil, fmt.Errorf("a speed of %g is out of range: give %g to %g", speed, lo, hi)
	}
	p := &Player{file: f, at: f.Begin, speed: speed, linear: linear, wake: handoff.NewSignal()}
	p.shown = &course{file: f, last: f.Begin, whole: true}
	if !linear {
		p.patience = patience
	}
	p.marks = []checkpoint{{0, &model.Board{}}}
	if f.Damage != nil {
		p.damage = f.Damage.Why
	} else if f.LeftOut > 0 {
		p.damage = "a part of it cannot be read, and is left out up to the next whole state"
	}
	return p, nil
}

// Take waits for what is next and returns it: what session.Source.Take wants. It returns
// io.EOF at the end of a linear replay, and ctx.Err() when ctx ends first.
func (p *Player) Take(ctx context.Context) (model.Batch, error) {
	p.mu.Lock()
	if p.local.IsZero() {
		p.local = time.Now()
	}
	p.mu.Unlock()
	for ctx.Err() == nil {
		if to := p.seek.Swap(nil); to != nil {
			return p.goTo(ctx, *to)
		}
		b, some, err := p.collect()
		switch {
		case err != nil:
			return b, err
		case some:
			p.delivered = time.Now()
			return b, nil
		case p.shown.ending != nil && p.linear:
			return b, io.EOF
		case len(p.behind) > 0:
			if done, err := p.catchUp(ctx); done || err != nil {
				return p.shown.board.Anew(p.shown.board.At), err
			}
			continue
		}
		p.wait(ctx)
	}
	return model.Batch{}, ctx.Err()
}

// Focus implements feed.Focuser: what was seen was seen.
func (p *Player) Focus([]string) {}

// mark keeps the board of a course that is whole as it is before the first batch of a frame.
// When all checkpoints hold too many keys together, every second one is let go.
func (p *Player) mark(c *course) {
	frame := c.nextAt.Frame
	if !c.whole || frame <= p.marks[len(p.marks)-1].frame {
		return
	}
	p.marks = append(p.marks, checkpoint{frame, c.board.Freeze(c.board.At)})
	held := collect.Sum(p.marks, func(m checkpoint) int { return m.board.Len() })
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
	n, c := 0, p.shown
	for {
		if err := c.readAhead(); err != nil {
			return b, false, err
		}
		if !c.ahead {
			p.note()
			p.end()
			break
		}
		p.mark(c)
		if c.last.Sub(c.due) > setBack { // the recorded clock was set back, and it rules
			if !p.anchor(c.due) {
				break
			}
			c.last = c.due
		}
		if c.due > p.Now(time.Now()) || n > 0 && p.linear {
			break
		}
		if n > 0 && time.Since(begun) > stint {
			p.anchor(c.due)
			break
		}
		b = c.apply()
		n++
	}
	if n > 1 {
		b = c.board.Anew(c.board.At)
	}
	return b, n > 0, nil
}

// goTo moves the board to a moment and returns it.
func (p *Player) goTo(ctx context.Context, to limiter.Instant) (model.Batch, error) {
	c, fresh := p.towards(to)
	there := func() bool { return c.due > to && !(fresh && c.place == record.Place{}) }
	done, err := c.run(ctx, p.patience, p.mark, there)
	if err != nil {
		return model.Batch{}, err
	}
	p.shown, p.behind = c, nil
	if !done {
		switch near, err := leap(p.file, to); {
		case err != nil: // it is damaged: batch by batch, then
			if _, err := c.run(ctx, 0, p.mark, there); err != nil {
				return model.Batch{}, err
			}
		default:
			p.shown, p.behind = near, []*course{c}
			if from := p.file.FrameBefore(to.Add(-reach(&near.board))); from > max(c.place.Frame, c.frame)+1 {
				p.behind = []*course{{file: p.file, frame: from, state: true, last: p.file.Begin}, c}
			}
		}
	}
	p.note()
	return p.shown.board.Anew(p.shown.board.At), nil
}

// towards returns the whole course that comes to a moment the soonest; fresh when it has to apply
// a batch in any case, for its board is that before its first one.
func (p *Player) towards(to limiter.Instant) (c *course, fresh bool) {
	i, frame := len(p.marks)-1, p.file.FrameBefore(to)
	for i > 0 && p.marks[i].frame > frame {
		i--
	}
	m := p.marks[i]
	for _, c := range append([]*course{p.shown}, p.behind...) {
		if c.whole && c.reader != nil && to >= c.last && m.frame <= c.reader.Place().Frame {
			return c, false
		}
	}
	return &course{file: p.file, frame: m.frame, whole: true, board: *m.board.Freeze(m.board.At), last: p.file.Begin}, true
}

// catchUp reads on what came before what is shown, and says whether that is on the board now.
func (p *Player) catchUp(ctx context.Context) (done bool, err error) {
	c := p.behind[0]
	done, err = c.run(ctx, stint/2, p.mark, func() bool { return c.nextAt.Compare(p.shown.place) > 0 })
	if !done || err != nil {
		return false, err
	}
	p.shown.board, p.shown.whole = c.board, c.whole
	p.behind = p.behind[1:]
	p.note()
	return true, nil
}

// note tells those who ask how far the reading has come.
func (p *Player) note() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = len(p.behind) > 0
	if d := (*record.Damage)(nil); errors.As(p.shown.ending, &d) {
		p.damage = cmp.Or(p.damage, d.Why)
	}
}

// wait returns when something may be due, or the player was told something.
func (p *Player) wait(ctx context.Context) {
	var alarm <-chan time.Time
	p.mu.Lock()
	if p.shown.ahead && !p.paused {
		local := time.Now()
		d := time.Duration(float64(p.shown.due.Sub(p.now(local))) / p.speed)
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

// Open finds its way through the recording of that name, or the one in the capsule of that
// name, and returns what ends it. The error is one sentence that names the file.
func Open(ctx context.Context, name string) (*record.File, io.Closer, error) {
	in, under, err := Stream(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := record.Open(ctx, in)
	if err != nil {
		under.Close()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, fmt.Errorf("%s cannot be replayed: %w", safetext.Clean(name), err)
	}
	return f, under, nil
}

// Stream opens a file, of a capsule the recording in it, and returns what closes it. The error is one sentence that names the file.
func Stream(name string) (*io.SectionReader, io.Closer, error) {
	f, err := file.Open(name)
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, 4)
	if n, _ := f.ReadAt(head, 0); !report.RecognizeCapsule(head[:n]) {
		return io.NewSectionReader(f, 0, math.MaxInt64), f, nil
	}
	info, err := f.Stat()
	if err == nil {
		var in *io.SectionReader
		if in, err = report.CapsuleRecording(f, info.Size()); err == nil {
			return in, f, nil
		}
	}
	f.Close()
	return nil, nil, fmt.Errorf("%s cannot be opened: %w", safetext.Clean(name), err)
}

// MaxRead bounds, in bytes, the recording that Read takes.
const MaxRead = 256 << 20

// Read returns the content of a recording, also of one in a capsule, and that of any other file
// as file.Read does. The error is one sentence that names the file.
func Read(name string) ([]byte, error) {
	in, under, err := Stream(name)
	if err != nil {
		return nil, err
	}
	defer under.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(in, head)
	if !record.Recognize(head[:n]) {
		return file.Read(name)
	}
	if _, err = in.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", safetext.Clean(name), err)
	}
	content, err := io.ReadAll(io.LimitReader(in, MaxRead+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", safetext.Clean(name), err)
	case len(content) > MaxRead:
		return nil, fmt.Errorf("%s is a recording of more than %d million bytes: record a shorter time", safetext.Clean(name),
			MaxRead/1_000_000)
	}
	return content, nil
}
