package shown

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Paused reports whether the picture stands still. A replay that is paused is not: its clock
// stands.
func (b *Boards) Paused() bool { return b.frozen != nil }

// Pause freezes the picture, or lets it go on; the live board collects underneath. A replay stops
// its own clock instead. It reports whether another board is on screen now.
func (b *Boards) Pause() bool {
	if p := b.player; p != nil {
		p.Pause()
		b.now = p.Now(b.local)
		return false
	}
	b.Time.Now()
	b.Time.Leave()
	if b.frozen != nil {
		b.frozen, b.paused = nil, nil
	} else if b.started {
		b.paused = b.Freeze()
		b.frozen = b.paused
	}
	b.renew()
	return true
}

// Freeze returns the live board as it is now.
func (b *Boards) Freeze() *model.Board {
	b.live.Refresh(b.now)
	return b.live.Freeze(b.now)
}

// Revisit works the keys of a pause out anew where the timeline looks at another moment of
// it: every figure on screen is of that moment. It reports whether the board on screen changed.
func (b *Boards) Revisit() bool {
	if b.paused == nil {
		return false
	}
	switch at := b.Time.Moment(b.paused.At); {
	case at == b.frozen.At:
		return false
	case at >= b.paused.At:
		b.frozen = b.paused
	default:
		b.frozen = b.paused.AsOf(at)
	}
	b.renew()
	return true
}

// Scroll goes back in the time of a pause, or forward. A replay is moved by a step instead: a
// twelfth of what the timeline of k shows, but a second at least; k may be nil.
func (b *Boards) Scroll(earlier bool, k *model.Watched) {
	p := b.player
	if p == nil {
		b.Time.Scroll(earlier)
		return
	}
	step := time.Second
	if k != nil {
		step = max(step, k.Timeline.Window()/6)
	}
	if earlier {
		step = -step
	}
	b.Seek(p.Now(b.local).Add(step))
}

// Back returns how far before the moment of the pause the screen looks; 0 if it does not.
func (b *Boards) Back() time.Duration {
	if b.paused == nil {
		return 0
	}
	return b.paused.At.Sub(b.frozen.At)
}

// Age returns how long ago the instant on screen was; 0 for now, and for a replay, whose present is
// what it shows.
func (b *Boards) Age() time.Duration {
	if b.frozen == nil {
		return 0
	}
	return max(b.now.Sub(b.frozen.At), 0)
}

// Replayed reports whether what is shown is a replay; Playback, Seek, Restart and Faster are of a
// replay alone.
func (b *Boards) Replayed() bool { return b.player != nil }

// Playback says where the replay is and how fast it goes.
func (b *Boards) Playback() model.Playback { return b.player.Playback(b.local) }

// Seek moves the replay to an instant.
func (b *Boards) Seek(at limiter.Instant) {
	b.player.Seek(at)
	b.now = b.player.Now(b.local)
}

// Restart begins the replay anew.
func (b *Boards) Restart() {
	b.player.Restart()
	b.now = b.player.Now(b.local)
}

// Faster raises the speed of the replay, or lowers it.
func (b *Boards) Faster(yes bool) {
	b.player.Faster(yes)
	b.now = b.player.Now(b.local)
}
