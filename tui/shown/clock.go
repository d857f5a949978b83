package shown

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// clock is the server's time, which goes on between two readings by this machine's clock.
type clock struct {
	now     limiter.Instant // server clock at the last tick
	heard   limiter.Instant // server clock when it was last read,
	heardAt time.Time       // and this machine's at that moment
	local   time.Time       // this machine's clock at the last tick
	moved   limiter.Instant // when something last arrived or changed
}

// LiveAt returns the server's clock, which goes on behind a pause.
func (c *clock) LiveAt() limiter.Instant { return c.now }

// Local returns this machine's clock at the last tick.
func (c *clock) Local() time.Time { return c.local }

// Quiet returns for how long nothing has arrived or changed.
func (c *clock) Quiet() time.Duration { return c.now.Sub(c.moved) }

// listen takes over the server's clock from the live board.
func (b *Boards) listen() {
	if p := b.player; p != nil {
		b.now = p.Now(b.local)
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
		b.now = p.Now(b.local)
	} else if b.heard != 0 { // the server's clock goes on while it is away
		b.now = max(b.now, b.heard.Add(b.local.Sub(b.heardAt)))
	}
}
