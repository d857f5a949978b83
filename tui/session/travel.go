package session

import (
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
)

// Zoom shows a longer stretch of time or a shorter one, and keeps that for the next start.
func (s *Session) Zoom(coarser bool) tea.Cmd {
	if !s.Time.Zoom(coarser) {
		if coarser {
			s.Say("This is the longest stretch of time there is.")
		} else {
			s.Say("This is the shortest stretch of time there is.")
		}
		return nil
	}
	return s.Remember("zoom", strconv.Itoa(s.Time.Zoomed()))
}

// RestoreZoom takes up the zoom of an earlier start; what is no number is left.
func (s *Session) RestoreZoom(steps string) {
	if n, err := strconv.Atoi(steps); err == nil {
		s.Time.SetZoom(n)
	}
}

// Adjust raises or lowers what + and - change: the speed of a replay, else how much is fired.
func (s *Session) Adjust(up bool) tea.Cmd {
	if !s.Replayed() {
		return s.Orders.Adjust(up)
	}
	s.Faster(up)
	s.Say("Speed: " + speedText(s.Playback().Speed) + ".")
	return nil
}

// askTime lets a person type an instant of the past, to be shown under the cursor.
func (s *Session) askTime() tea.Cmd {
	s.Open(s.NewPrompt("go to ", "", "14:02:11, or 30s for as long ago · enter goes", nil, func(text string, kept bool) tea.Cmd {
		if !kept || strings.TrimSpace(text) == "" {
			return nil
		}
		at, ok := readMoment(text, s.At())
		if !ok {
			s.Warn("A time is 14:02:11 or 14:02 of the last day, or 30s, 5m, 1h ago.")
			return nil
		}
		if s.Replayed() {
			s.Seek(at)
			return nil
		}
		return s.Visit(s.Selected(), at)
	}, nil))
	return nil
}

// readMoment reads a time of day, of the last 24 hours before now, or how long ago.
func readMoment(text string, now limiter.Instant) (limiter.Instant, bool) {
	text = strings.TrimSuffix(strings.TrimSpace(text), " ago")
	for _, layout := range []string{"15:04:05.999", "15:04:05", "15:04"} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		local := now.Time().In(time.Local)
		at := time.Date(local.Year(), local.Month(), local.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.Local)
		if at.After(local) {
			at = at.AddDate(0, 0, -1)
		}
		return limiter.InstantOf(at), true
	}
	ago, err := time.ParseDuration(strings.TrimPrefix(text, "-"))
	if err != nil || ago < 0 {
		return 0, false
	}
	return now.Add(-ago), true
}
