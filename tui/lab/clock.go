package lab

import (
	"time"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// speeds of the clock.
var speeds = [...]float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50}

const normalSpeed, showSpeed = 3, 5

// clock moves a story by this machine's time.
type clock struct {
	playing bool
	speed   int           // index of speeds
	last    time.Time     // this machine's clock at the last tick; zero before the first
	rest    time.Duration // passed, and not a millisecond of the story yet
}

// longestTick bounds how far a story goes in one tick, however long that took.
const longestTick = 250 * time.Millisecond

// passed returns how much time of the story has passed since the last tick: whole
// milliseconds, so that the times on screen can be read.
func (c *clock) passed(now time.Time) time.Duration {
	real := min(max(now.Sub(c.last), 0), longestTick)
	if c.last.IsZero() {
		real = 0
	}
	c.last = now
	if !c.playing {
		return 0
	}
	d := time.Duration(float64(real)*speeds[c.speed]) + c.rest
	c.rest = d % time.Millisecond
	return d - c.rest
}

// play starts or stops the clock.
func (c *clock) play(on bool) { c.playing, c.last, c.rest = on, time.Time{}, 0 }

// faster changes the speed by so many steps.
func (c *clock) faster(by int) { c.speed = min(max(c.speed+by, 0), len(speeds)-1) }

// rate fires a burst spread over every window.
type rate struct {
	on  bool
	due limiter.Instant // when the next request is fired
}

// advance moves the story on by what has passed on this machine's clock.
func (s *story) advance(now time.Time) {
	passed := s.clock.passed(now)
	if passed == 0 || s.seek != nil {
		return
	}
	to := s.run.Now().Add(passed)
	for s.rate.on && s.rate.due <= to {
		s.run.AdvanceTo(s.rate.due)
		s.fire(1)
		s.rate.due = s.rate.due.Add(s.spacing())
	}
	s.advanceTo(to)
}

// advanceTo moves the story on and fires what is due on the way.
func (s *story) advanceTo(to limiter.Instant) {
	for len(s.due) > 0 && s.due[0].At <= to {
		s.run.AdvanceTo(s.due[0].At)
		s.run.Fire(s.due[0].Cost)
		s.due = s.due[1:]
	}
	s.run.AdvanceTo(to)
}

// solution returns what a lesson's own solution fires in a story that begins at zero.
func solution(l *lab.Lesson, zero limiter.Instant) (list []lab.Arrival) {
	for _, step := range l.Solution() {
		for range step.Repeat {
			if step.Cost > 0 {
				list = append(list, lab.Arrival{At: zero.Add(step.At), Cost: step.Cost})
			}
		}
	}
	return list
}

// spacing is the time between two requests that are fired at a rate.
func (s *story) spacing() time.Duration {
	return max(s.run.Setup().Limit.Window/time.Duration(max(s.burst, 1)), time.Microsecond)
}

// toggleRate starts or stops firing at a rate.
func (s *story) toggleRate() {
	s.rate.on = !s.rate.on
	s.rate.due = s.run.Now().Add(s.spacing())
	if s.rate.on && !s.clock.playing {
		s.clock.play(true)
	}
}
