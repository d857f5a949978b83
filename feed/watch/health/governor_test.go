package health

import (
	"testing"
	"time"

	"ratescope/model"
)

// machine is a server with its load, as a Governor is told of it.
type machine struct {
	Sample
	governor *Governor
	wrong    float64 // times the estimate, what the own commands really take; 0 is 1
}

// pass lets time go by, in which others use so much of the server's processor and send so many
// commands a second, and the governed program takes what it may.
func (m *machine) pass(d time.Duration, others, rate float64) {
	seconds := d.Seconds()
	own := time.Duration(m.governor.Share * float64(d))
	m.At = m.At.Add(d)
	m.OwnCPU += own
	m.OwnCommands += int64(12 * seconds / 0.1)
	m.CPU += time.Duration(float64(own)*max(m.wrong, 1)) + time.Duration(others*float64(d))
	m.Commands += int64(12*seconds/0.1) + int64(rate*seconds)
	m.governor.Take(m.Sample)
}

func newMachine(base, most float64) *machine {
	begun := Sample{At: time.Unix(1000, 0), Trip: time.Millisecond, Commands: 5000, CPU: time.Hour}
	m := &machine{Sample: begun, governor: NewGovernor(base, most)}
	m.governor.Take(m.Sample)
	return m
}

const interval = 100 * time.Millisecond

// TestGovernor: an idle server gives more within a second, and one on which a load begins no
// more than the budget within one interval, whatever it is that tells of the load.
func TestGovernor(t *testing.T) {
	loads := map[string]func(*machine){
		"a processor in use": func(m *machine) { m.pass(interval, 0.3, 0) },
		"commands":           func(m *machine) { m.pass(interval, 0.001, 500) },
		"slow answers": func(m *machine) {
			m.Trip = 20 * time.Millisecond
			if m.pass(interval, 0, 0); m.governor.Share != 0.10 {
				t.Error("one slow answer is taken for a load")
			}
			m.pass(interval, 0, 0)
			m.Trip = time.Millisecond
		},
	}
	for name, load := range loads {
		m := newMachine(0.01, 0.10)
		if m.governor.Share != 0.01 || m.governor.Pace != model.PaceSteady {
			t.Fatalf("it begins with %v, %v", m.governor.Share, m.governor.Pace)
		}
		for range 9 {
			m.pass(interval, 0.005, 3)
		}
		if m.governor.Share != 0.10 || m.governor.Pace != model.PaceIdle {
			t.Errorf("%s: of a server that is idle for a second %v may be taken, %v", name, m.governor.Share, m.governor.Pace)
		}
		load(m)
		if m.governor.Share != 0.01 || m.governor.Pace != model.PaceBusy {
			t.Errorf("%s: in the first interval of a load %v may be taken, %v", name, m.governor.Share, m.governor.Pace)
		}
		for range calmBefore {
			if m.pass(interval, 0.005, 3); m.governor.Share != 0.01 {
				t.Errorf("%s: %v may be taken as soon as a load pauses", name, m.governor.Share)
			}
		}
		for range 4 {
			m.pass(interval, 0.005, 3)
		}
		if m.governor.Share != 0.10 {
			t.Errorf("%s: after the load %v may be taken", name, m.governor.Share)
		}
	}
}

// TestGovernorIsBounded: it stays between its bounds whatever it is told, and a most that is no
// more than the base is never left.
func TestGovernorIsBounded(t *testing.T) {
	fixed := newMachine(0.02, 0.02)
	for range 20 {
		fixed.pass(interval, 0, 0)
	}
	if !fixed.governor.Fixed() || fixed.governor.Share != 0.02 {
		t.Errorf("a share that was given as the bound became %v", fixed.governor.Share)
	}
	// What the server says it used is believed, not what the search is thought to have cost.
	wrong := newMachine(0.01, 0.10)
	wrong.wrong = 3
	used := wrong.CPU
	for range 100 {
		wrong.pass(interval, 0, 0)
	}
	if share := (wrong.CPU - used).Seconds() / (100 * interval).Seconds(); share > overdrawn*0.10 {
		t.Errorf("with a cost three times the estimate %v of a core was taken", share)
	}
}

// TestGovernorCountsItsOwn: commands of this program that are on their way are no load, and a
// server that was restarted is met anew.
func TestGovernorCountsItsOwn(t *testing.T) {
	m := newMachine(0.01, 0.10)
	for i := range 20 {
		m.OwnCommands += 400 // sent, and executed one interval later
		if i > 0 {
			m.Commands += 400
		}
		m.pass(interval, 0, 0)
	}
	if m.governor.Share != 0.10 {
		t.Errorf("its own commands leave it %v, %v", m.governor.Share, m.governor.Pace)
	}
	m.Commands, m.CPU = 3, time.Millisecond
	if m.pass(interval, 0, 0); m.governor.Share != 0.01 || m.governor.Pace != model.PaceSteady {
		t.Errorf("of a server that was restarted %v may be taken", m.governor.Share)
	}
	m.governor.Reset()
	if m.pass(interval, 0.5, 9000); m.governor.Share != 0.01 || m.governor.Pace != model.PaceSteady {
		t.Errorf("the first sample of a server tells %v", m.governor.Pace)
	}
}
