package lab

import (
	"fmt"

	"ratescope/limiter"
)

// Keeps lists what a candidate holds about the key at an instant, line by line.
func Keeps(c Candidate, state limiter.State, at limiter.Instant, s Setup) []string {
	if c.Scripted() {
		return []string{"what the commands below say"}
	}
	switch c.Algorithm.Kind() {
	case limiter.KindWindow:
		if state.Current == 0 {
			return []string{"nothing"}
		}
		return []string{fmt.Sprintf("a counter: %d in the window from %s", state.Current, s.clock(state.Start))}
	case limiter.KindWeighted:
		if state.Current == 0 && state.Previous == 0 {
			return []string{"nothing"}
		}
		return []string{
			fmt.Sprintf("previous: %d", state.Previous),
			fmt.Sprintf("current: %d in the window from %s", state.Current, s.clock(state.Start)),
		}
	case limiter.KindArrival:
		switch {
		case state.TAT == 0:
			return []string{"nothing"}
		case state.TAT < at:
			return []string{fmt.Sprintf("TAT: %s, passed %s ago", s.clock(state.TAT), Seconds(at.Sub(state.TAT)))}
		}
		return []string{fmt.Sprintf("TAT: %s, %s from now", s.clock(state.TAT), Seconds(state.TAT.Sub(at)))}
	case limiter.KindBucket:
		if state.Filled == 0 {
			return []string{"nothing"}
		}
		what := "tokens"
		if c.Algorithm.Fills() {
			what = "level"
		}
		return []string{fmt.Sprintf("%s: %s at %s", what, Number(state.Level), s.clock(state.Filled))}
	}
	return keepsLog(state.Log, s)
}

// shownEntries is how many entries of a log are listed.
const shownEntries = 4

// keepsLog lists the newest entries of a log.
func keepsLog(log []limiter.Entry, s Setup) []string {
	var lines []string
	switch len(log) {
	case 0:
		return []string{"nothing"}
	case 1:
		lines = []string{"a log of 1 entry:"}
	default:
		lines = []string{fmt.Sprintf("a log of %d entries, the newest:", len(log))}
	}
	for i := len(log) - 1; i >= max(0, len(log)-shownEntries); i-- {
		line := s.clock(log[i].At)
		if log[i].Count != 1 {
			line += fmt.Sprintf(" × %d", log[i].Count)
		}
		lines = append(lines, line)
	}
	return lines
}
