package session

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/chart"
)

// Recorder keeps batches in a file.
type Recorder interface {
	Put(model.Batch) // never blocks
	// Close ends the file and says what it holds.
	Close() (account string, err error)
}

// replayed is the badge of a replay: where it is and how fast it goes.
func (s *Session) replayed(look chart.Look) (string, themes.Style) {
	p := s.Playback()
	where := minutes(p.Position()) + "/" + minutes(p.Length())
	switch {
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

// recordingMsg is a recording that was opened, recordedMsg one that has ended, exportedMsg
// where the keys were written to.
type (
	recordingMsg struct {
		r    Recorder
		name string
		err  error
	}
	recordedMsg struct {
		account string
		err     error
	}
	exportedMsg struct {
		path string
		err  error
	}
)

// ToggleRecording begins to keep what is seen, with what is on the board, or ends that. The
// file is opened and closed by a command.
func (s *Session) ToggleRecording() tea.Cmd {
	switch {
	case s.recorder != nil:
		r := s.recorder
		s.recorder = nil
		return func() tea.Msg {
			account, err := r.Close()
			return recordedMsg{account, err}
		}
	case s.Record == nil:
		s.Warn("Nothing can be recorded here.")
	case !s.Started():
		s.Warn("There is nothing to record yet.")
	default:
		open := s.Record
		return func() tea.Msg {
			r, name, err := open()
			return recordingMsg{r, name, err}
		}
	}
	return nil
}

func (s *Session) recording(msg recordingMsg) {
	if msg.err != nil {
		s.Warn(msg.err.Error())
		return
	}
	s.recorder = msg.r
	msg.r.Put(s.Live().Past())
	s.Say("Recording to " + safetext.Clean(msg.name) + ", from what is on the timelines on; F ends it.")
}

func (s *Session) recorded(msg recordedMsg) {
	if msg.err != nil {
		s.Warn(msg.err.Error())
		return
	}
	s.Say(strings.ToUpper(msg.account[:1]) + msg.account[1:] + ".")
}

// capsuleMsg is a capsule that was saved, and what it holds.
type capsuleMsg struct {
	account string
	err     error
}

// NoCapsule says why no capsule can be saved; "" when it can.
func (s *Session) NoCapsule() string {
	switch {
	case s.Replayed():
		return "A replay is of a file already: hand that on."
	case s.Capsule == nil:
		return "No capsule can be saved here."
	case !s.Started():
		return "There is nothing to save yet."
	}
	return ""
}

// SaveCapsule saves the last minutes and what is known about them in one file.
func (s *Session) SaveCapsule() tea.Cmd {
	if why := s.NoCapsule(); why != "" {
		s.Warn(why)
		return nil
	}
	board, save := s.Freeze(), s.Capsule
	s.Say("Saving a capsule…")
	return func() tea.Msg {
		account, err := save(board)
		return capsuleMsg{account, err}
	}
}

func (s *Session) saved(msg capsuleMsg) {
	if msg.err != nil {
		s.Warn(msg.err.Error())
		return
	}
	s.Say(strings.ToUpper(msg.account[:1]) + msg.account[1:] + ".")
}

// ExportKeys writes the keys on the board to a file.
func (s *Session) ExportKeys() tea.Cmd {
	if s.Export == nil || s.Board().At == 0 {
		s.Warn("There is nothing to export yet.")
		return nil
	}
	batch, export := s.Board().Batch(), s.Export
	return func() tea.Msg {
		path, err := export(batch)
		return exportedMsg{path, err}
	}
}

func (s *Session) exported(msg exportedMsg) {
	if msg.err != nil {
		s.Warn(msg.err.Error())
		return
	}
	s.Say("Exported to " + safetext.Clean(msg.path))
}
