package lab_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestTheFormulaLightsUpWithThePicture: below the lanes and in the decision view tab goes through the terms of the rule, each
// with what it stands for; the mouse over a term does the same, and over a column of the lane it names the term of that column.
func TestTheFormulaLightsUpWithThePicture(t *testing.T) {
	for _, size := range [][2]int{{140, 42}, {80, 24}} {
		learn(t, size[0], size[1], threeLanes(t), func(x *program) {
			x.See("PAUSED")
			x.Press("g", "9", "enter", "b", "g", "1", "1", "enter", "b", "C", "a", "a")
			x.See("one more request at sliding window counter")
			for _, what := range []string{"previous × weight", "previous      "} { // the rule, and where there is room the bar
				if column, row, found := x.Find(what); found {
					x.Send(tea.MouseMotionMsg{X: column, Y: row})
					x.See("why · previous: 10 in the window before, over by 10 s")
					x.Send(tea.MouseMotionMsg{X: 0, Y: 0})
					x.See("one more request at sliding window counter")
				} else if size[0] > 80 {
					t.Errorf("%q is not on screen", what)
				}
			}
			lane, row, found := x.Find("sliding window counter ")
			if !found {
				t.Fatalf("%v: the lane in focus is not on screen", size)
			}
			named := map[string]bool{}
			for column := lane; column < lane+70; column++ {
				x.Send(tea.MouseMotionMsg{X: column, Y: row + 1})
				x.Wait(100 * time.Millisecond)
				for _, term := range []string{"why · weight: ", "why · current: ", "why · n: "} {
					if strings.Contains(x.Screen(), term) {
						named[term] = true
					}
				}
			}
			if len(named) != 3 {
				t.Errorf("%v: the columns of the lane name %v", size, named)
			}
			x.Send(tea.MouseMotionMsg{X: 0, Y: 0})
			for _, what := range []string{"previous: 10 in", "weight: the part", "current: 1 since", "n: this request"} {
				for i := 0; i < 5 && !strings.Contains(x.Screen(), "why · "+what); i++ {
					x.Press("tab") // through the numbers of the task first
					x.Wait(100 * time.Millisecond)
				}
				x.See("why · " + what)
			}
			x.Press("tab")
			x.See("tab or the mouse marks")
			x.Press("C")
			x.Press("a", "D")
			x.See("tab or the mouse marks what a term means")
			x.Press("a", "a")
			rule := "previous × weight + current"
			x.See(rule)
			x.Press("tab")
			x.See("previous: 10 in the window before, over by 10 s")
			x.Press("tab")
			x.See("weight: the part of that window since 1 s")
			x.Press("tab")
			x.See("current: 1 since 10 s")
			column, row, _ := x.Find(rule)
			x.Send(tea.MouseMotionMsg{X: column, Y: row})
			x.See("previous: 10 in the window before, over by 10 s")
			x.Send(tea.MouseMotionMsg{X: 0, Y: 0})
			x.See("tab or the mouse marks")
			lane, caption, _ := x.Find("tab or the mouse marks")
			seen := map[string]bool{}
			for column := lane; column < size[0]-2; column++ {
				x.Send(tea.MouseMotionMsg{X: column, Y: caption - 1})
				x.Wait(100 * time.Millisecond)
				for _, term := range []string{"previous: ", "weight: ", "current: ", "n: "} {
					if strings.Contains(x.Screen(), term) {
						seen[term] = true
					}
				}
			}
			if !seen["weight: "] || !seen["current: "] || !seen["n: "] {
				t.Errorf("%v: the columns name %v", size, seen)
			}
		})
	}
}
