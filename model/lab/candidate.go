package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
)

// Fault is a well-known mistake in how a limiter is written. A lesson shows what it does.
type Fault uint8

// The faults.
const (
	NoFault Fault = iota
	// CollidingMembers is a sorted set whose members are milliseconds: a second request in
	// the same millisecond overwrites the first one and is not counted.
	CollidingMembers
	// SecondsAsMillis takes the seconds of TIME and subtracts a window in milliseconds: the
	// window is a thousand times too long, so nothing ever leaves it.
	SecondsAsMillis
	// ClientClock lets every second request bring the clock of another machine, which is
	// Setup.Skew ahead.
	ClientClock
)

var faultNames = [...]string{"", "colliding-members", "seconds-as-millis", "client-clock"}

// Candidate is one algorithm in a comparison, with what sets it apart from the
// convention of the others. It is comparable, and its zero value decides nothing.
type Candidate struct {
	Algorithm limiter.Algorithm
	Variant   string // words of variants of package scenario joined by "/", or ""
	Fault     Fault
	Script    *UserScript // decides in place of Algorithm, which is Unknown; nil is none
}

// ParseCandidate reads ALGORITHM or ALGORITHM/WORD/…, where a word is a value of a
// convention (floor, charged, …) or a fault (colliding-members, seconds-as-millis,
// client-clock).
func ParseCandidate(s string) (Candidate, error) {
	name, rest, _ := strings.Cut(s, "/")
	a, err := limiter.ParseAlgorithm(name)
	if err != nil {
		return Candidate{}, err
	}
	c := Candidate{Algorithm: a}
	var words []string
	for word := range strings.SplitSeq(rest, "/") {
		fault := slices.Index(faultNames[:], word)
		switch {
		case word == "":
		case fault > 0:
			c.Fault = Fault(fault)
		case scenario.SetWord(new(limiter.Convention), word):
			words = append(words, word)
		default:
			return Candidate{}, fmt.Errorf("%q in %q is neither a convention nor a fault: use words such as floor, charged or colliding-members", word, s)
		}
	}
	c.Variant = strings.Join(words, "/")
	if c.Fault != NoFault && a.Kind() != limiter.KindLog && c.Fault != ClientClock {
		return Candidate{}, fmt.Errorf("%q has a fault of logs: use it with sliding-log or stream", s)
	}
	return c, nil
}

// String is the inverse of ParseCandidate, and names a script, which that does not read.
func (c Candidate) String() string {
	if c.Scripted() {
		return "script " + c.Script.Name
	}
	s := c.Algorithm.String()
	if c.Variant != "" {
		s += "/" + c.Variant
	}
	if c.Fault != NoFault {
		s += "/" + faultNames[c.Fault]
	}
	return s
}

// Convention returns the terms that the candidate goes by when the others go by all.
func (c Candidate) Convention(all limiter.Convention) limiter.Convention {
	for word := range strings.SplitSeq(c.Variant, "/") {
		scenario.SetWord(&all, word)
	}
	return all
}

// Bursts reports whether the candidate has a burst and a rate in place of a window, and so
// neither a rule nor a charge for what it denies.
func (c Candidate) Bursts() bool { return c.Algorithm.Bursts() }

// Room is how much the candidate admits at once when nothing was charged: its burst, or
// the limit.
func (c Candidate) Room(l limiter.Limit) int64 {
	if c.Bursts() && l.Burst > 0 {
		return l.Burst
	}
	return l.Count
}

// MaxCandidates is how many algorithms stand side by side.
const MaxCandidates = 6

// Setup is what a run is about: the candidates, their one budget, and the terms.
type Setup struct {
	Candidates []Candidate // 1 to MaxCandidates
	Limit      limiter.Limit
	Convention limiter.Convention
	Cost       int64           // of a request fired by hand; 0 means 1
	Zero       limiter.Instant // when the story begins, aligned to the window
	Skew       time.Duration   // how far the second clock of ClientClock is ahead
}

// Validate says in one sentence what is wrong with the setup, or returns nil.
func (s Setup) Validate() error {
	if n := len(s.Candidates); n < 1 || n > MaxCandidates {
		return fmt.Errorf("%d algorithms cannot be compared: choose 1 to %d", n, MaxCandidates)
	}
	for i, c := range s.Candidates {
		if c.Algorithm == limiter.Unknown && !c.Scripted() {
			return fmt.Errorf("candidate %d is no algorithm: name one", i+1)
		}
		if slices.Contains(s.Candidates[:i], c) {
			return fmt.Errorf("%s is compared with itself: name it once", c)
		}
	}
	if s.Cost < 0 || s.Cost > limiter.MaxCount {
		return fmt.Errorf("a cost of %d is out of range: give 1 or more", s.Cost)
	}
	return s.Limit.Validate()
}

// cost is what a request fired by hand costs.
func (s *Setup) cost() int64 { return max(s.Cost, 1) }

// Clone returns a copy that shares nothing with s.
func (s Setup) Clone() Setup {
	s.Candidates = slices.Clone(s.Candidates)
	return s
}
