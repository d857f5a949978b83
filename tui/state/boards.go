// Package state is what all screens of the dashboard share and a person changes: the board on screen and its
// instant (live, of a pause, of the past, of a replay), the rows with their order and filter, the selected key,
// the markers of a replay, and the files that are written. It draws nothing and reads no clock: instants come
// in with batches and ticks. Files are opened and written by commands, never while a message is handled.
package state

import (
	"math"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/tui/timeline"
)

// Player plays a recording: its clock is that of the screen. Its methods may be called from
// any goroutine.
type Player interface {
	Now(local time.Time) limiter.Instant // the moment of the replay at an instant of this machine's clock
	Playback(local time.Time) model.Playback
	Pause() // or go on
	Seek(to limiter.Instant)
	Restart()
	Faster(yes bool)
}

// Boards are the boards of what is watched, with the server's clock. Make them with NewBoards. Not safe
// for concurrent use.
type Boards struct {
	Time timeline.View // how far back, how coarse, and the instant under the cursor

	player Player // nil: what is shown is no replay
	still  bool
	clock
	live    model.Board
	paused  *model.Board // the board at the moment of a pause; nil while the picture moves
	frozen  *model.Board // what is shown of it: as it is, or as it stood when the timeline is scrolled back
	organic *model.Board // what is shown of the live board or of the pause without what was injected; nil: all is shown
	Started bool         // a batch has come
	Server  model.Server // figures of the server: renewed once a second, so that they can be read
	Cost    model.Cost   // of about the last ten seconds
	second  int64        // of the server's clock at the last full second

	Throttled bool // a key counts down to its next admission; renewed once a second
	Stale     int  // keys that seem at ease by a reading that is too old to say so; renewed once a second
}

// NewBoards returns empty boards. The clock is the player's where there is one; still says that the
// picture changes once a second.
func NewBoards(player Player, still bool) *Boards { return &Boards{player: player, still: still} }

// Change is what a batch brought.
type Change struct {
	Anew  bool // the board was made anew: another server, or another moment of a replay
	Turn  bool // it is the first batch, or the link to the server changed
	Moves bool // it holds more than the passing of time
}

// Apply applies a batch to the live board.
func (b *Boards) Apply(batch model.Batch) Change {
	was := b.live.Server
	turned := was.Link != batch.Server.Link || was.Err != batch.Server.Err
	c := Change{Anew: batch.Anew != nil, Turn: !b.Started || turned, Moves: turned || moves(&batch)}
	b.live.Apply(batch)
	if b.frozen == nil {
		b.renew()
	}
	b.account(b.live.Cost, c.Anew)
	if c.Anew || !b.Started || b.Server.Link != b.live.Server.Link {
		b.Server = b.live.Server
	}
	b.Started = true
	b.listen()
	if c.Moves {
		b.moved = b.now
	}
	return c
}

// moves says whether a batch brings more than the passing of time.
func moves(b *model.Batch) bool {
	came := func(r model.Reading) bool { return len(r.Arrivals) > 0 }
	return b.Anew != nil || b.Sweep.Passes == 0 || len(b.Gone) > 0 || slices.ContainsFunc(b.Readings, came)
}

// account adds up what the watching costs. Older batches weigh less, so that the figure
// does not jump.
func (b *Boards) account(c model.Cost, anew bool) {
	const memory = 10_000_000_000 // ns
	if anew {
		b.Cost = model.Cost{}
	}
	if b.Cost.Over > memory {
		b.Cost = model.Cost{Commands: b.Cost.Commands / 2, Server: b.Cost.Server / 2, Over: b.Cost.Over / 2}
	}
	b.Cost.Add(c)
}

// Tick moves the clock on to an instant of this machine's clock. It reports whether the picture
// changed, and whether a full second of the server's clock has begun.
func (b *Boards) Tick(local time.Time) (changed, second bool) {
	b.Local = local
	if !b.Started {
		return false, false
	}
	b.advance()
	if b.frozen != nil {
		return false, false
	}
	b.live.Refresh(b.FiguresAt())
	if b.organic != nil {
		b.organic.Refresh(b.FiguresAt())
	}
	// What is renewed once a second changes together with the clock: a calm screen is
	// drawn once a second.
	now := int64(b.now) / 1e6
	if second = now != b.second; second {
		b.second = now
		b.Throttled = b.live.Totals().Throttled > 0
		b.Stale = b.stalled()
		b.Server = b.live.Server
	}
	return true, second
}

// Board returns the board on screen: the live one, or the one of the pause.
func (b *Boards) Board() *model.Board {
	if b.organic != nil {
		return b.organic
	}
	return b.whole()
}

// whole is the board of which all is shown, or a part.
func (b *Boards) whole() *model.Board {
	if b.frozen != nil {
		return b.frozen
	}
	return &b.live
}

// Subtract takes the requests that were fired from here out of every figure on screen, or shows
// them again.
func (b *Boards) Subtract() model.Subtracted {
	if b.organic != nil {
		b.organic = nil
		return model.Subtracted{}
	}
	var s model.Subtracted
	b.organic, s = b.whole().Organic(b.At())
	return s
}

// Subtracting reports whether the requests that were fired from here are taken out.
func (b *Boards) Subtracting() bool { return b.organic != nil }

// renew works out anew what is shown without the requests that were fired from here.
func (b *Boards) renew() {
	if b.organic != nil {
		b.organic, _ = b.whole().Organic(b.At())
	}
}

// Live returns the board that goes on collecting behind a pause.
func (b *Boards) Live() *model.Board { return &b.live }

// At returns the instant on screen, on the server's clock.
func (b *Boards) At() limiter.Instant {
	if b.frozen != nil {
		return b.frozen.At
	}
	return b.now
}

// FiguresAt returns the instant of which the figures on screen are: that on screen, or the last at which the server answered.
func (b *Boards) FiguresAt() limiter.Instant { return b.answered(b.At()) }

// answered returns at, or the last instant at which the server answered where that was before.
func (b *Boards) answered(at limiter.Instant) limiter.Instant {
	if b.live.Server.Link == model.Live || b.heard == 0 {
		return at
	}
	return min(at, b.heard)
}

// Moment says when the keys are looked at.
func (b *Boards) Moment() timeline.Moment {
	m := timeline.Moment{Now: b.now, Live: b.live.Server.Link == model.Live, Stopped: b.frozen != nil, Still: b.still}
	if b.paused != nil {
		m.Now, m.At = b.paused.At, b.frozen.At
	}
	return m
}

// staleAfter is how old a reading may be before it counts as the past.
const staleAfter = 5 * time.Second

// Outdated says how old the key's reading is and whether that is too old to be shown as now.
func (b *Boards) Outdated(k *model.Watched) (age time.Duration, yes bool) {
	age = b.At().Sub(k.Reading.At)
	return age, age > staleAfter || b.Board().Server.Link == model.Down
}

// stalled counts the keys whose reading is too old to call them at ease.
func (b *Boards) stalled() int {
	if b.Board().Server.Link == model.Down {
		return b.live.AtEase(math.MaxInt64)
	}
	return b.live.AtEase(b.At().Add(-staleAfter))
}

// PinKey pins a key, or lets it go, on every board.
func (b *Boards) PinKey(key string) {
	for one := range collect.Set([]*model.Board{&b.live, b.organic, b.frozen, b.paused}) {
		if one != nil {
			one.Pin(key)
		}
	}
}

// clock is the server's time, which goes on between two readings by this machine's clock.
type clock struct {
	now     limiter.Instant // server clock at the last tick
	heard   limiter.Instant // server clock when it was last read,
	heardAt time.Time       // and this machine's at that moment
	Local   time.Time       // this machine's clock at the last tick
	moved   limiter.Instant // when something last arrived or changed
}

// LiveAt returns the server's clock, which goes on behind a pause.
func (c *clock) LiveAt() limiter.Instant { return c.now }

// Quiet returns for how long nothing has arrived or changed.
func (c *clock) Quiet() time.Duration { return c.now.Sub(c.moved) }

// listen takes over the server's clock from the live board.
func (b *Boards) listen() {
	if p := b.player; p != nil {
		b.now = p.Now(b.Local)
		return
	}
	if b.live.Server.Link != model.Live {
		return
	}
	b.heard, b.heardAt = b.live.At, b.live.Local
	b.now = max(b.now, b.heard)
	if b.now.Sub(b.heard) > time.Second {
		b.now = b.heard // the server's clock was set back; it rules
	}
}

// advance moves the server's clock on by this machine's.
func (b *Boards) advance() {
	if p := b.player; p != nil {
		b.now = p.Now(b.Local)
	} else if b.heard != 0 { // the server's clock goes on while it is away
		b.now = max(b.now, b.heard.Add(b.Local.Sub(b.heardAt)))
	}
}

// Paused reports whether the picture stands still. A replay that is paused is not: its clock
// stands.
func (b *Boards) Paused() bool { return b.frozen != nil }

// NowText says which moment is at the end of the past: "now" or, in a pause, the time of day.
func (b *Boards) NowText() string {
	if b.Paused() {
		return format.Clock(b.At())
	}
	return "now"
}

// Pause freezes the picture, or lets it go on; the live board collects underneath. A replay stops
// its own clock instead. It reports whether another board is on screen now.
func (b *Boards) Pause() bool {
	if b.player != nil {
		b.Drive(Player.Pause)
		return false
	}
	b.Time.Reset()
	if b.frozen != nil {
		b.frozen, b.paused = nil, nil
	} else if b.Started {
		b.paused = b.Freeze()
		b.frozen = b.paused
	}
	b.renew()
	return true
}

// Freeze returns the live board as it is now.
func (b *Boards) Freeze() *model.Board {
	b.live.Refresh(b.answered(b.now))
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
		b.frozen = b.paused.AsOf(at, nil)
	}
	b.renew()
	return true
}

// Recall shows the keys as they were read at a moment, if that is still on screen.
func (b *Boards) Recall(kept *model.Board, at limiter.Instant) {
	if b.Back() > 0 && b.frozen.At == at {
		b.frozen = b.paused.AsOf(at, kept)
		b.renew()
	}
}

// Scroll goes back or forward in time by the stride of the timeline of k, which may be nil.
func (b *Boards) Scroll(earlier bool, k *model.Watched) {
	step := b.Time.Stride(k) * collect.If[time.Duration](earlier, -1, 1)
	b.Visit(b.Time.Moment(b.Moment().Now).Add(step), k)
}

// Visit shows an instant, at which the picture pauses. A replay moves there and goes on. k is the selected key, or nil.
func (b *Boards) Visit(at limiter.Instant, k *model.Watched) {
	switch {
	case b.player != nil:
		b.Time.Reset()
		b.Drive(func(p Player) { p.Seek(at) })
	case b.paused != nil || b.Pause() && b.paused != nil:
		b.Time.Show(at, b.paused.At, k)
		b.Revisit()
	}
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

// Replayed reports whether what is shown is a replay; Playback and Drive are of a replay alone.
func (b *Boards) Replayed() bool { return b.player != nil }

// Playback says where the replay is and how fast it goes.
func (b *Boards) Playback() model.Playback { return b.player.Playback(b.Local) }

// Drive does something with the player of the replay, and goes by its clock at once.
func (b *Boards) Drive(do func(Player)) {
	do(b.player)
	b.now = b.player.Now(b.Local)
}
