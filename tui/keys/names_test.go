package keys_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// TestLongNamesSayWhoseKeyItIs has keys as the library limits names them, which begin and end
// alike, and looks for the part between on the screens that list keys.
func TestLongNamesSayWhoseKeyItIs(t *testing.T) {
	var people []tuitest.Personality
	for _, who := range []string{"10.0.0.7/login/10", "10.0.0.11/api/100", "alice/upload/20"} {
		one := tuitest.Overrun()[0]
		one.Name, one.How, one.Limit = "LIMITS:LIMITER/"+who+"/1/minute", limiter.SlidingLog, limiter.Limit{Count: 2, Window: time.Minute}
		people = append(people, one)
	}
	for _, size := range [][2]int{{140, 42}, {80, 24}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{}, people...)
		s.Run(5 * time.Second)
		for screen, own := range map[string]string{"1": "10.0.0.7/login", "2": "10.0.0.7/login", "5": "10.0.0.7/login", "6": "…10.0.0"} {
			s.Press(screen)
			s.See(own)
			for _, line := range strings.Split(s.Text(), "\n") {
				at := strings.Index(line, "LIMITS:LI")
				if at >= 0 && !strings.Contains(line, "keys 3 · ") && strings.Contains(line[at:min(at+40, len(line))], "…") {
					t.Errorf("screen %s in %dx%d keeps what all names begin with and cuts the rest: %s", screen, size[0], size[1], line)
				}
			}
		}
	}
}

// TestThePastBeforeWatchingBeganIsUnknown scrolls a pause back beyond the first reading, where
// counters tell nothing.
func TestThePastBeforeWatchingBeganIsUnknown(t *testing.T) {
	one := tuitest.Overrun()[0]
	one.How, one.Limit = limiter.FixedWindow, limiter.Limit{Count: 20, Window: time.Minute}
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, one)
	s.Run(5 * time.Second)
	s.Press("p")
	for range 6 {
		s.Press("left")
	}
	s.See("Nothing was watched yet at", "– admitted", "– denied")
	s.Press("right", "right", "right", "right", "right", "right")
	if text := s.Text(); strings.Contains(text, "– admitted") {
		t.Errorf("the moment of the pause is not known any more:\n%s", text)
	}
}

// TestTheTitleSaysWhatAllNamesShare: rows say what differs.
func TestTheTitleSaysWhatAllNamesShare(t *testing.T) {
	var people []tuitest.Personality
	for _, who := range []string{"0000:subscription-6000", "0001:subscription-6001", "0002:subscription-6002"} {
		one := tuitest.Overrun()[0]
		one.Name = "LIMITS:LIMITER/tenant-" + who + "/requests/per-user/100/1/minute"
		people = append(people, one)
	}
	s := tuitest.NewStage(t, 200, 55, tui.Options{}, people...)
	s.Run(5 * time.Second)
	s.See("keys 3 · LIMITS:LIMITER/tenant-…/requests/per-user/100/1/minute", " 0000:subscription-6000 ", " 0002:subscription-6002 ")
}

// TestPanesKeepTheirSize pauses and lets keys come and go: no border moves.
func TestPanesKeepTheirSize(t *testing.T) {
	injector := &ledger{}
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, tuitest.Crowd(40)...)
	few := true
	s.Edit = func(b *model.Batch) {
		if few {
			b.Readings = b.Readings[:min(len(b.Readings), 33)]
		}
	}
	s.Run(2 * time.Second)
	corners := func() (list []int) {
		for i, line := range strings.Split(s.Text(), "\n") {
			if strings.HasPrefix(line, "╭") || strings.HasPrefix(line, "╰") {
				list = append(list, i)
			}
		}
		return list
	}
	before := corners()
	few = false
	s.Run(2 * time.Second)
	s.Press("p")
	if after := corners(); !slices.Equal(before, after) || len(before) < 6 {
		t.Errorf("the borders were in the rows %v and are in %v", before, after)
	}
}

// TestWithoutFramesTheTableShowsItsFocus looks at the table's first line, with and
// without the focus.
func TestWithoutFramesTheTableShowsItsFocus(t *testing.T) {
	s := tuitest.NewStage(t, 80, 24, tui.Options{})
	s.Run(time.Second)
	heading := func() string {
		for line := range strings.Lines(s.Text()) {
			if strings.Contains(line, "used/limit") {
				return line
			}
		}
		return ""
	}
	if line := heading(); !strings.HasPrefix(line, "─ key ") {
		t.Errorf("nothing marks the focus in %q", line)
	}
	s.Press("tab")
	if line := heading(); !strings.HasPrefix(line, "  key  ") {
		t.Errorf("the table has no focus and says %q", line)
	}
}
