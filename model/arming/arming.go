// Package arming is whether requests may be fired from a screen: a state with an end. Starting
// the program with --allow-inject makes arming possible and arms nothing. The state is pure: its
// caller says what time it is.
package arming

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Lasts is how long firing stays possible without use.
const Lasts = 10 * time.Minute

// ErrDisarmed is in the error of what was refused because firing is possible and not armed.
var ErrDisarmed = errors.New("not armed")

// Server tells one life of one server from another. RunID is that of INFO, of a cluster those of
// its masters; "" is not known.
type Server struct {
	Name  string
	RunID string
}

// State says whether firing is armed, for which server, and until when. The zero value is not
// armed. Not safe for concurrent use.
type State struct {
	armed  bool
	used   time.Time
	server Server
	lost   bool   // the connection was lost since it was armed
	why    string // how the last arming ended, a clause; "" there was none
}

// Arm begins an arming for a server.
func (s *State) Arm(now time.Time, server Server) {
	*s = State{armed: true, used: now, server: server}
}

// Disarm ends the arming by hand. It does nothing where there is none.
func (s *State) Disarm() { s.end("it was disarmed by hand") }

func (s *State) end(why string) {
	if s.armed {
		*s = State{why: why}
	}
}

// Use counts as use: the time left begins anew. The error wraps ErrDisarmed where the arming has
// ended.
func (s *State) Use(now time.Time) error {
	if err := s.Err(now); err != nil {
		return err
	}
	s.used = now
	return nil
}

// Lose says that the connection to the server was lost. The arming holds if the same life of the
// same server answers next.
func (s *State) Lose() { s.lost = s.armed }

// Meet says which server answers. Another one than it was armed for ends the arming, and so does
// one that cannot be told from another after the connection was lost.
func (s *State) Meet(server Server) {
	if !s.armed {
		return
	}
	known := server.RunID != "" && s.server.RunID != ""
	switch {
	case server.Name != s.server.Name:
		s.end("another server answers, " + server.Name)
	case known && server.RunID != s.server.RunID:
		s.end("the server was started anew, or another one took its place")
	case !known && s.lost:
		s.end("the connection was lost, and the server does not say whether it is the same one")
	default:
		s.lost = false
		s.server.RunID = cmp.Or(s.server.RunID, server.RunID)
	}
}

// Left returns how long the arming lasts without use; 0 where there is none.
func (s *State) Left(now time.Time) time.Duration {
	if !s.armed {
		return 0
	}
	return min(max(Lasts-now.Sub(s.used), 0), Lasts) // also where the clock was set back
}

// Err returns nil while it is armed, else an error that wraps ErrDisarmed and says how the last
// arming ended. An arming whose time is over ends with this call.
func (s *State) Err(now time.Time) error {
	if s.armed && s.Left(now) == 0 {
		s.end(fmt.Sprintf("nothing was fired for %d minutes", int(Lasts.Minutes())))
	}
	switch {
	case s.armed:
		return nil
	case s.why != "":
		return fmt.Errorf("firing is %w: %s", ErrDisarmed, s.why)
	}
	return fmt.Errorf("firing is %w", ErrDisarmed)
}

// Status is the state at one instant, for a screen.
type Status struct {
	Refused error         // why it can never be armed here; nil where it can
	Armed   bool          // now
	Left    time.Duration // until the arming ends without use
	Ended   string        // how the last arming ended, a clause; "" there was none
	// Production says, a clause each, why the server counts as one of production; nil where it
	// does not. There each action asks for the key's name and a reason.
	Production []string
}

// Status returns the state as a screen shows it, without what is the server's.
func (s *State) Status(now time.Time) Status {
	armed := s.Err(now) == nil
	return Status{Armed: armed, Left: s.Left(now), Ended: s.why}
}

// ManyClients is the number of connections above which a server counts as one of production.
const ManyClients = 50

// Traits are what tells a server of production from one for trying out. Clients and Replicas
// below 0 are not known; Clients are those of other programs, without our own connections.
type Traits struct {
	Marked            bool // the configuration says production: true
	Loopback          bool // it is on this machine
	Clients, Replicas int
}

// Production returns, a clause each, why a server counts as one of production; nil where it does
// not.
func (t Traits) Production() (why []string) {
	if t.Marked {
		why = append(why, "the configuration says production: true")
	}
	if !t.Loopback {
		why = append(why, "it is not on this machine")
	}
	if t.Replicas > 0 {
		why = append(why, fmt.Sprintf("it has replicas (%d)", t.Replicas))
	}
	if t.Clients > ManyClients {
		why = append(why, fmt.Sprintf("%d clients are connected", t.Clients))
	}
	return why
}

// Named says whether a person has typed the name of a key: all of it, or its last part, which is
// what follows the last of the characters : / | and #.
func Named(key, typed string) bool {
	return typed != "" && (typed == key || typed == key[strings.LastIndexAny(key, ":/|#")+1:])
}
