package session

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Zoom shows a longer or a shorter period.
func (s *Session) Zoom(coarser bool) tea.Cmd {
	if !s.Shown.Time.Zoom(coarser) {
		if coarser {
			s.Shell.Say("This is the longest stretch of time there is.")
		} else {
			s.Shell.Say("This is the shortest stretch of time there is.")
		}
	}
	return nil
}

// Adjust raises or lowers what + and - change: the speed of a replay, or the amount of requests that
// are fired.
func (s *Session) Adjust(up bool) tea.Cmd {
	if !s.Shown.Replayed() {
		return s.Orders.Adjust(up)
	}
	s.Shown.Faster(up)
	s.Shell.Say("Speed: " + speedText(s.Shown.Playback().Speed) + ".")
	return nil
}

// askTime asks for an instant of the past, and shows it under the cursor.
func (s *Session) askTime() tea.Cmd {
	hint := "14:02:11, a date before it, or 30s for as long ago · enter goes"
	s.Shell.Open(s.Shell.NewPrompt("go to ", "", hint, nil, func(text string, kept bool) tea.Cmd {
		if !kept || strings.TrimSpace(text) == "" {
			return nil
		}
		at, ok := format.ReadMoment(text, s.Shown.At(), s.Shown.At())
		if !ok {
			s.Shell.Warn("A time is " + format.Moments + ".")
			return nil
		}
		if s.Shown.Replayed() {
			s.Shown.Seek(at)
			return nil
		}
		return s.Visit(s.Selection.Selected(), at)
	}, nil))
	return nil
}

// askFormat asks for the format in which the rows that match the filter are exported.
func (s *Session) askFormat() {
	s.AskFormat(format.Plural(len(s.Rows.Rows()), "key"), func(f report.Format) tea.Cmd { return s.Files.ExportRows(s.Rows.Rows(), f) })
}

// AskFormat asks for the format of an export; what names the exported data.
func (s *Session) AskFormat(what string, export func(report.Format) tea.Cmd) {
	s.Shell.Open(s.Shell.NewPrompt(fmt.Sprintf("export %s as ", what), "csv", "csv, md or jsonl · enter exports", nil,
		func(text string, kept bool) tea.Cmd {
			f, err := report.ReadFormat(strings.TrimSpace(text))
			switch {
			case !kept:
				return nil
			case err != nil:
				s.Shell.Warn(safetext.Sentence(err.Error()))
				return nil
			}
			return export(f)
		}, nil))
}
