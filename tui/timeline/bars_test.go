package timeline_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/timeline"
	"ratescope/tui/widget"
)

// painted returns the rows that explain a key in so many cells, and the canvas they are on.
func painted(k *model.Watched, w, h int) ([]string, *widget.Canvas) {
	p := &widget.Canvas{}
	p.SetTheme(themes.Sixteen(true), false)
	p.Buffer.Resize(w, h)
	p.Begin()
	p.Buffer.Clear(cell.Rect{W: w, H: h})
	timeline.PaintWindow(p, cell.Rect{W: w, H: h}, k, limiter.Instant(1e9), false)
	rows := strings.Split(p.Buffer.Plain(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows, p
}

// overLimit is a fixed window that counts denied requests with the others.
func overLimit(used int64) *model.Watched {
	limit := limiter.Limit{Count: 10, Window: time.Minute}
	return &model.Watched{
		Reading: model.Reading{
			Key: "login", Type: "string", TTL: 54 * time.Second, Notes: []model.Note{"over its limit"},
			Target: model.Target{Algorithm: limiter.FixedWindow, Limit: limit, LimitKnown: true, Window: time.Minute},
		},
		Gauge: model.Gauge{
			Used: model.Count{Known: true, N: used}, Current: model.Count{Known: true, N: used}, Remaining: model.Count{Known: true, N: max(10-used, 0)},
			DeniedInW: model.Count{Known: true, N: max(used-10, 0)}, NextKnown: true, Next: 54 * time.Second, Reset: 54 * time.Second,
			End: limiter.Instant(1e9).Add(54 * time.Second),
		},
	}
}

func TestABarBeyondItsLimitIsDrawnAsDenied(t *testing.T) {
	for _, c := range []struct {
		used   int64
		beyond bool
	}{{8, false}, {10, false}, {57, true}} {
		rows, p := painted(overLimit(c.used), 62, 8)
		y := 0
		if !strings.HasPrefix(rows[y], "current") {
			t.Fatalf("the bar of the current window is not in row %d:\n%s", y, strings.Join(rows, "\n"))
		}
		bars, beyond := 0, 0
		for x := range 62 {
			if at := p.Buffer.At(x, y); at.R == p.Look.Reach[len(p.Look.Reach)-1] {
				if bars++; at.S.Fg == p.Look.Denied.Fg {
					beyond++
				}
			}
		}
		if bars == 0 || beyond > 0 != c.beyond || beyond == bars {
			t.Errorf("of %d used of 10, %d of %d cells of the bar are drawn as denied", c.used, beyond, bars)
		}
	}
}

func TestNotesGoOnInTheNextRow(t *testing.T) {
	const first, second = "denied in the window: 47 · expires in 54s", "over its limit · string"
	rows, _ := painted(overLimit(57), 50, 8)
	if text := strings.Join(rows, "\n"); !strings.Contains(text, "\n"+first+"\n"+second) {
		t.Errorf("the notes are not in two rows:\n%s", text)
	}
	rows, _ = painted(overLimit(57), 50, 4)
	if got := rows[3]; strings.TrimSpace(got) != first { // a note that there is no room for is left out as a whole
		t.Errorf("the last row that there is room for says %q", got)
	}
}

func TestALogWithoutInstantsIsCounted(t *testing.T) {
	k := overLimit(8)
	k.Reading.Target.Algorithm = limiter.SlidingLog
	rows, _ := painted(k, 62, 8)
	if !strings.HasPrefix(rows[0], "counts") || strings.Contains(strings.Join(rows, "\n"), "oldest") {
		t.Errorf("a log that tells only how many it holds is explained as\n%s", strings.Join(rows, "\n"))
	}
}

func TestAKnownLimitIsNotCalledUnknown(t *testing.T) {
	k := overLimit(8)
	k.Gauge.Used.Known, k.Gauge.Remaining.Known, k.Gauge.NextKnown = false, false, false
	rows, _ := painted(k, 62, 8)
	if text := strings.Join(rows, "\n"); strings.Contains(text, "limit unknown") || !strings.Contains(text, "how much is used is not known") {
		t.Errorf("a key that is not read whole is explained as\n%s", text)
	}
}

// TestWhyThereIsNoVerdictIsNotCut in any width of the pane.
func TestWhyThereIsNoVerdictIsNotCut(t *testing.T) {
	k := overLimit(57)
	k.Gauge.NextKnown = false
	for _, width := range []int{40, 52, 62, 80} {
		rows, _ := painted(k, width, 8)
		text, _, found := strings.Cut(strings.Join(rows, "\n"), "frees is not known")
		if rest := strings.Split(strings.TrimPrefix(strings.Join(rows, "\n"), text+"frees is not known"), "\n")[0]; !found ||
			strings.TrimSpace(rest) != "" && strings.TrimSpace(rest) != ", so there is no verdict" {
			t.Errorf("in %d columns: %q", width, rest)
		}
	}
}
