package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/tui/lab"
)

// sizesOfLessons are terminals on which a lesson is played.
var sizesOfLessons = [][2]int{{80, 24}, {100, 30}, {120, 36}, {140, 42}, {200, 55}}

// TestTheTaskStandsAboveItsProgress, also once requests were sent, on every terminal; and the marks below the lanes
// are explained.
func TestTheTaskStandsAboveItsProgress(t *testing.T) {
	for _, size := range sizesOfLessons {
		for lesson, want := range map[string][]string{
			"log-one-in-two":        {"A comes by itself. Fire B, C and D", "yours so far: ✓", "▲ admitted, ▼ denied wrongly"},
			"counter-weighted-sum":  {"Fire one request that makes the estimate exactly 3", "estimate after your last request: 10", "▼ "},
			"choose-limiter":        {"to its end at 40 s", "selected: fixed window, most so far: 200", "△ its excess"},
			"bucket-meter-or-queue": {"Fill the queue until it denies you", "get one denied first"},
		} {
			text := ansi.Strip(shoot(t, lab.Options{}, lesson, "enter b", size[0], size[1]))
			for _, words := range want {
				if !strings.Contains(text, words) {
					t.Errorf("%s at %v: %q is not on screen:\n%s", lesson, size, words, text)
				}
			}
		}
	}
}

// TestWhatIfLeavesTheLanesInSight: the titles of all lanes, the requests fired, and the axis of time stand beside the list of
// terms, and the terms below the first ones are reached.
func TestWhatIfLeavesTheLanesInSight(t *testing.T) {
	algorithms := limiter.Algorithms()
	terms := 11 + len(algorithms) // which stand behind the others
	for _, size := range sizesOfLessons {
		text := ansi.Strip(shoot(t, lab.Options{}, "counter-weighted-sum", "enter b w", size[0], size[1]))
		for _, words := range []string{"what if", fmt.Sprint("of ", terms), "sliding window counter ─", "sliding log ─", "█", "now  ", " 10s  "} {
			if !strings.Contains(text, words) {
				t.Errorf("%v: %q is not on screen:\n%s", size, words, text)
			}
		}
		text = ansi.Strip(shoot(t, lab.Options{}, "counter-weighted-sum", "enter b w up", size[0], size[1]))
		if !strings.Contains(text, fmt.Sprintf("%d of %d", terms, terms)) ||
			!strings.Contains(text, describe.Title(algorithms[len(algorithms)-1])+" ") {
			t.Errorf("%v: the last term is not on screen:\n%s", size, text)
		}
	}
}

// TestTheMapHasALegend on every terminal that it fits on.
func TestTheMapHasALegend(t *testing.T) {
	t.Parallel()
	for _, size := range sizesOfLessons {
		text := ansi.Strip(shoot(t, lab.Options{}, "choose-limiter", "enter M", size[0], size[1]))
		if !strings.Contains(text, "under 1") || !strings.Contains(text, "from 1.6") {
			t.Errorf("%v: the shades are not explained:\n%s", size, text)
		}
	}
}
