package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
)

// Player is what plays a recording: its clock is that of the screen. Its methods may be
// called from any goroutine.
type Player interface {
	Now(local time.Time) limiter.Instant // the moment of the replay at an instant of this machine's clock
	Playback(local time.Time) model.Playback
	Pause() // or go on
	Seek(to limiter.Instant)
	Restart()
	Faster(yes bool)
}

// Recorder keeps batches in a file.
type Recorder interface {
	Put(model.Batch) // never blocks
	// Close ends the file and says what it holds.
	Close() (account string, err error)
}

// steer does what means something else in a replay, and says whether it did.
func (a *App) steer(act action) bool {
	p := a.o.Player
	if p == nil {
		return false
	}
	switch act {
	case actPause:
		p.Pause()
	case actMore, actLess:
		p.Faster(act == actMore)
		a.say(false, "Speed: "+speedText(p.Playback(time.Now()).Speed)+".")
	case actRecord:
		p.Restart()
	case actEarlier, actLater:
		if a.screen == smallMultiples {
			return false
		}
		step := a.seekStep()
		if act == actEarlier {
			step = -step
		}
		p.Seek(p.Now(time.Now()).Add(step))
	default:
		return false
	}
	a.now = p.Now(time.Now())
	return true
}

// seekStep is a twelfth of what the timeline shows, but a second at least.
func (a *App) seekStep() time.Duration {
	step := time.Second
	if k := a.current(); k != nil {
		step = max(step, k.Timeline.Window()/6)
	}
	return step
}

// replayed is the badge of a replay: where it is and how fast it goes.
func (a *App) replayed() (string, themes.Style) {
	p := a.o.Player.Playback(time.Now())
	where := minutes(p.Position()) + "/" + minutes(p.Length())
	switch {
	case p.Ended && p.CutOff != "":
		return "REPLAY " + where + " cut off here", a.Look.BadgeWarn
	case p.Ended:
		return "REPLAY " + where + " end of recording", a.Look.BadgeWarn
	case p.Paused:
		return "REPLAY " + where + " paused", a.Look.BadgeWarn
	}
	return "REPLAY " + where + " " + speedText(p.Speed), a.Look.BadgeLive
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

// toggleRecording begins to keep what is seen, with what is on the board, or ends that.
func (a *App) toggleRecording() tea.Cmd {
	switch {
	case a.recorder != nil:
		r := a.recorder
		a.recorder = nil
		return func() tea.Msg {
			account, err := r.Close()
			return recordedMsg{account, err}
		}
	case a.o.Record == nil:
		a.say(true, "Nothing can be recorded here.")
	case !a.started:
		a.say(true, "There is nothing to record yet.")
	default:
		r, name, err := a.o.Record()
		if err != nil {
			a.say(true, err.Error())
			return nil
		}
		a.recorder = r
		r.Put(a.board.Past())
		a.say(false, "Recording to "+safetext.Clean(name)+", from what is on the timelines on; R ends it.")
	}
	return nil
}

// recordedMsg is what a recording came to.
type recordedMsg struct {
	account string
	err     error
}

func (a *App) recorded(msg recordedMsg) {
	if msg.err != nil {
		a.say(true, msg.err.Error())
		return
	}
	a.say(false, strings.ToUpper(msg.account[:1])+msg.account[1:]+".")
}
