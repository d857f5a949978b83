package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/record"
)

// Now returns the moment of the replay at an instant of this machine's clock.
func (p *Player) Now(local time.Time) limiter.Instant {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now(local)
}

func (p *Player) now(local time.Time) limiter.Instant {
	if p.paused || p.ended || p.local.IsZero() {
		return p.at
	}
	passed := time.Duration(float64(max(local.Sub(p.local), 0)) * p.speed)
	return min(p.at.Add(passed), p.file.End)
}

// anchor sets the moment of the replay, unless it is paused.
func (p *Player) anchor(at limiter.Instant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return false
	}
	p.at, p.local = at, time.Now()
	return true
}

// end notes that there is no further batch: the replay is over once its clock has come to the last one.
func (p *Player) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.paused && !p.ended {
		p.ended, p.at = true, p.shown.last
	}
}

// Playback says where the replay is.
func (p *Player) Playback(local time.Time) model.Playback {
	p.mu.Lock()
	defer p.mu.Unlock()
	return model.Playback{Begin: p.file.Begin, End: p.file.End, At: p.now(local), Speed: p.speed,
		Paused: p.paused, Ended: p.ended, CutOff: p.damage, Past: p.past}
}

// Pause stops the replay, or lets it go on.
func (p *Player) Pause() {
	p.steer(func() { p.paused = !p.paused })
}

// Seek goes to a moment, or as far as there is a recording.
func (p *Player) Seek(to limiter.Instant) {
	p.steer(func() { p.send(to) })
}

// Restart begins anew, and plays.
func (p *Player) Restart() {
	p.steer(func() {
		p.send(p.file.Begin)
		p.paused = false
	})
}

// send goes to a moment. The clock is there at once, and the board follows.
func (p *Player) send(to limiter.Instant) {
	to = min(max(to, p.file.Begin), p.file.End)
	p.at, p.ended = to, false
	p.seek.Store(&to)
}

// Faster makes the replay faster by one step, or slower.
func (p *Player) Faster(yes bool) {
	p.steer(func() {
		i, found := slices.BinarySearch(speeds[:], p.speed)
		switch {
		case !yes:
			i--
		case found:
			i++
		}
		p.speed = speeds[min(max(i, 0), len(speeds)-1)]
	})
}

// steer changes how the replay goes, from its present moment on.
func (p *Player) steer(change func()) {
	p.mu.Lock()
	local := time.Now()
	p.at = p.now(local)
	if !p.local.IsZero() {
		p.local = local
	}
	change()
	p.mu.Unlock()
	p.wake.Send()
}

// ErrRecording is why nothing can be fired at what is replayed.
var ErrRecording = errors.New("this is a recording: nothing can be fired at it")

// course is one way through a recording: a board, and what is read to bring it forward.
type course struct {
	file  *record.File
	frame int  // where it begins to read
	state bool // at what the frame says about where everything stood; else the board is that
	whole bool // the board holds all that came before

	reader *record.Reader // nil before it begins
	board  model.Board    // every batch up to place is applied to it
	last   limiter.Instant
	place  record.Place

	next   model.Batch // read ahead, when due and nextAt say so
	due    limiter.Instant
	nextAt record.Place
	ahead  bool
	ending error // of the reader
}

// readAhead sees to it that the next batch is there, if there is one.
func (c *course) readAhead() error {
	if c.ahead || c.ending != nil {
		return nil
	}
	if c.reader == nil {
		from := collect.If(c.state, c.file.FromState, c.file.From)
		r, err := from(c.frame)
		if err != nil {
			return fmt.Errorf("the recording cannot be read: %w", err)
		}
		c.reader = r
	}
	b, err := c.reader.Next()
	if err != nil {
		c.ending = err
		return nil
	}
	c.next, c.due, c.nextAt, c.ahead = b, c.reader.Moment(), c.reader.Place(), true
	return nil
}

// apply hands the batch that was read ahead to the board, and returns it.
func (c *course) apply() model.Batch {
	b := c.next
	c.board.Apply(b)
	c.last, c.place = c.due, c.nextAt
	c.next, c.ahead = model.Batch{}, false
	return b
}

// run reads on to where done says, and reports whether it came there within a time of this
// machine's clock; 0 is any, and less is none. mark is called before the first batch of each frame.
func (c *course) run(ctx context.Context, within time.Duration, mark func(*course), done func() bool) (bool, error) {
	begun := time.Now()
	for n := 0; ; n++ {
		if err := c.readAhead(); err != nil {
			return false, err
		}
		if c.ahead {
			mark(c)
		}
		if !c.ahead || done() {
			return true, nil
		}
		c.apply()
		switch {
		case n%8 == 7 && ctx.Err() != nil:
			return false, ctx.Err()
		case within != 0 && time.Since(begun) > within:
			return false, nil
		}
	}
}

// leap returns a course that stands at a moment and knows little of what came before: the gauges
// of all keys are as they were, but what they were before the frame is not there.
func leap(f *record.File, to limiter.Instant) (*course, error) {
	c := &course{file: f, frame: f.FrameBefore(to)}
	r, err := f.FromState(c.frame)
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be read: %w", err)
	}
	b, err := r.BoardAt(to, to)
	if err != nil {
		return nil, err
	}
	c.board = *b
	c.reader, c.last, c.place = r, r.Moment(), r.Place()
	return c, nil
}

// reach is how far back the timelines of a board are on screen, two windows of the longest, within bounds.
func reach(b *model.Board) time.Duration {
	longest := leastReach
	for _, k := range b.Keys() {
		longest = max(longest, 2*k.Timeline.Window())
	}
	return min(longest, mostReach)
}

const leastReach, mostReach = time.Minute, 10 * time.Minute
