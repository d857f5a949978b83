package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
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

// end notes that there is no further batch: the replay is over once its clock has come to
// the last one.
func (p *Player) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused || p.ended {
		return
	}
	p.ended, p.at = true, p.shown.last
}

// Playback says where the replay is.
func (p *Player) Playback(local time.Time) model.Playback {
	p.mu.Lock()
	defer p.mu.Unlock()
	return model.Playback{
		Begin: p.file.Begin, End: p.file.End, At: p.now(local), Speed: p.speed,
		Paused: p.paused, Ended: p.ended, CutOff: p.damage, Past: p.past,
	}
}

// Pause stops the replay, or lets it go on.
func (p *Player) Pause() {
	p.steer(func(now limiter.Instant) { p.paused = !p.paused })
}

// Seek goes to a moment, or as far as there is a recording.
func (p *Player) Seek(to limiter.Instant) {
	p.steer(func(limiter.Instant) { p.send(to) })
}

// Restart begins anew, and plays.
func (p *Player) Restart() {
	p.steer(func(limiter.Instant) {
		p.send(p.file.Begin)
		p.paused = false
	})
}

// send goes to a moment. The clock is there at once, and the board follows.
func (p *Player) send(to limiter.Instant) {
	to = min(max(to, p.file.Begin), p.file.End)
	p.at, p.seek, p.ended = to, &to, false
}

// Faster makes the replay faster by one step, or slower.
func (p *Player) Faster(yes bool) {
	p.steer(func(limiter.Instant) {
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
func (p *Player) steer(change func(now limiter.Instant)) {
	p.mu.Lock()
	local := time.Now()
	p.at = p.now(local)
	if !p.local.IsZero() {
		p.local = local
	}
	change(p.at)
	p.mu.Unlock()
	p.wake.Send()
}

// ErrRecording is why nothing can be fired at what is replayed.
var ErrRecording = errors.New("this is a recording: nothing can be fired at it")

// Armed returns ErrRecording: a Player is a tui.Injector that fires at nothing.
func (p *Player) Armed() error { return ErrRecording }

// Fire returns ErrRecording.
func (p *Player) Fire(context.Context, model.Order, func(model.Fired)) (model.Outcomes, error) {
	return model.Outcomes{}, ErrRecording
}
