package tuitest

import (
	"context"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
)

// Arming is what stands before a server of others, on the clock of the test. The zero value can
// be armed. It is safe for concurrent use.
type Arming struct {
	RunID      string   // of the server that it is armed for
	Production []string // why the server counts as one of production

	mu    sync.Mutex
	state arming.State
}

// Arming implements firing.Arming.
func (a *Arming) Arming() arming.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state.Status(time.Now())
	s.Production = a.Production
	return s
}

// Arm implements firing.Arming.
func (a *Arming) Arm(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Arm(time.Now(), arming.Server{RunID: a.RunID})
	return nil
}

// Disarm implements firing.Arming.
func (a *Arming) Disarm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.Disarm()
}

// Meet implements firing.Arming.
func (a *Arming) Meet(s model.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Link == model.Live && s.RunID != "" {
		a.state.Meet(arming.Server{RunID: s.RunID})
	}
}

// Preview implements firing.Arming.
func (a *Arming) Preview(_ context.Context, s model.Order) ([]string, error) {
	return []string{"EVALSHA 0123456789 1 " + s.Key}, nil
}

// Path implements firing.Arming.
func (a *Arming) Path(model.Order) string { return "the limiter's own script" }

// Keys implements firing.Arming.
func (a *Arming) Keys(s model.Order, _ limiter.Instant) []string { return []string{s.Key} }
