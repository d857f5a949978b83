package session

import (
	"fmt"
	"strconv"
	"time"

	"ratescope/themes"
	"ratescope/tui/chart"
)

// replayed returns the badge of a replay: where it is and how fast it goes.
func (s *Session) replayed(look chart.Look) (string, themes.Style) {
	p := s.Shown.Playback()
	where := minutes(p.Position()) + "/" + minutes(p.Length())
	switch {
	case p.Past:
		return "REPLAY " + where + " reading the past", look.BadgeWarn
	case p.Ended && p.CutOff != "":
		return "REPLAY " + where + " cut off here", look.BadgeWarn
	case p.Ended:
		return "REPLAY " + where + " end of recording", look.BadgeWarn
	case p.Paused:
		return "REPLAY " + where + " paused", look.BadgeWarn
	}
	return "REPLAY " + where + " " + speedText(p.Speed), look.BadgeLive
}

func speedText(v float64) string { return "×" + strconv.FormatFloat(v, 'g', 4, 64) }

// minutes prints a length of time as a player does.
func minutes(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
