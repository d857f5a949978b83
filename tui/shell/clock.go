package shell

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// tickMsg carries this machine's clock.
type tickMsg struct {
	at         time.Time
	generation int
}

// clock ticks until the program ends. It is armed from one place, so that there is one tick under
// way that counts.
type clock struct {
	now        time.Time // this machine's clock at the last tick
	generation int       // a tick of an older one is void
	idle       bool      // it ticks once a second
}

// arm returns the command that ticks after a time.
func (c *clock) arm(wait time.Duration, idle bool) tea.Cmd {
	c.idle = idle
	generation := c.generation
	return tea.Tick(wait, func(t time.Time) tea.Msg { return tickMsg{t, generation} })
}

// accepts reports whether a tick counts.
func (c *clock) accepts(msg tickMsg) bool {
	return msg.generation == anyGeneration || msg.generation == c.generation
}

// anyGeneration is that of a tick which is never void.
const anyGeneration = -1

// TickAt is the message that the clock sends at an instant.
func TickAt(t time.Time) tea.Msg { return tickMsg{at: t, generation: anyGeneration} }
