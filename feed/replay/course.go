package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

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
		from := c.file.From
		if c.state {
			from = c.file.FromState
		}
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

// damage returns why the recording cannot be read on; "" at its end.
func (c *course) damage() string {
	if d := (*record.Damage)(nil); errors.As(c.ending, &d) {
		return d.Why
	}
	return ""
}

// leap returns a course that stands at a moment and knows little of what came before: the gauges
// of all keys are as they were, but what they were before the frame is not there.
func leap(f *record.File, to limiter.Instant) (*course, error) {
	c := &course{file: f, frame: f.FrameBefore(to)}
	r, err := f.FromState(c.frame)
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be read: %w", err)
	}
	b, err := r.StateAt(to)
	if err != nil {
		return nil, err
	}
	c.board.Apply(b)
	c.reader, c.last, c.place = r, r.Moment(), r.Place()
	return c, nil
}

// reach is how far back the timelines of a board are on screen, two windows of the longest, within
// bounds.
func reach(b *model.Board) time.Duration {
	longest := leastReach
	for _, k := range b.Keys() {
		longest = max(longest, 2*k.Timeline.Window())
	}
	return min(longest, mostReach)
}

const leastReach, mostReach = time.Minute, 10 * time.Minute
