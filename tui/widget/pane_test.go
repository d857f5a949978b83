package widget_test

import (
	"strings"
	"testing"

	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// sheet returns an empty canvas of so many cells.
func sheet(w, h int) *widget.Canvas {
	p := &widget.Canvas{}
	p.SetTheme(themes.Sixteen(true), false)
	p.Buffer.Resize(w, h)
	p.Begin()
	return p
}

// row reads a row of a canvas.
func row(p *widget.Canvas, y int) string {
	var b strings.Builder
	for x := range p.Buffer.W {
		b.WriteRune(p.Buffer.At(x, y).R)
	}
	return strings.TrimRight(strings.ReplaceAll(b.String(), "\x00", " "), " ")
}

func spans(texts ...string) (list []widget.Span) {
	for _, t := range texts {
		list = append(list, widget.Styled(t, themes.Style{}))
	}
	return list
}

func TestSpansThatDoNotFitEndWithAnEllipsis(t *testing.T) {
	for _, c := range []struct {
		columns int
		want    string
	}{{12, "window · now"}, {11, "window · n…"}, {7, "window…"}, {6, "windo…"}, {1, "…"}, {0, ""}} {
		p := sheet(12, 1)
		p.SpansFit(0, 0, c.columns, spans("window", " · now")...)
		if got := row(p, 0); got != c.want {
			t.Errorf("%d columns say %q, want %q", c.columns, got, c.want)
		}
	}
}

func TestSentencesFlowIntoTheNextRow(t *testing.T) {
	p := sheet(20, 3)
	below := p.Flow(cell.Rect{W: 20, H: 3}, spans("one two"), spans("three"), spans("four five"), spans("a sentence too long for it"))
	for y, want := range []string{"one two · three", "four five", "a sentence too long…"} {
		if got := row(p, y); got != want {
			t.Errorf("row %d says %q, want %q", y, got, want)
		}
	}
	if below != 3 {
		t.Errorf("the row below is %d, want 3", below)
	}
	if below = p.Flow(cell.Rect{W: 20, H: 1}, spans("one two three four"), spans("five")); below != 1 {
		t.Errorf("what has no row ends at %d, want 1", below)
	}
}

// TestPanelsLeaveTheKeptRowInSight: whatever row is kept, it stands whole outside of a panel that leaves room for the header.
func TestPanelsLeaveTheKeptRowInSight(t *testing.T) {
	const kept = "rl:alice 9/10"
	for y := 3; y < 23; y++ {
		for h := 3; h <= 19; h++ {
			p := sheet(80, 24)
			p.Buffer.Text(30, 1, 80, "header", themes.Style{})
			p.Buffer.Text(30, y, 80, kept, themes.Style{})
			p.Keep(cell.Rect{Y: y, W: 80, H: 1})
			p.Overlay(60, h, "title", "")
			whole := strings.Contains(p.Buffer.Plain(), kept)
			if header := row(p, 1); !whole || !strings.Contains(header, "header") || !strings.Contains(p.Buffer.Plain(), "title") {
				t.Fatalf("a panel of %d rows, with row %d to be kept:\n%s", h, y, p.Buffer.Plain())
			}
		}
	}
	p := sheet(80, 24)
	p.Buffer.Text(30, 9, 80, kept, themes.Style{})
	p.Keep(cell.Rect{Y: 9, W: 80, H: 1})
	if in := p.Overlay(60, 22, "title", ""); in.H != 20 || strings.Contains(p.Buffer.Plain(), kept) {
		t.Errorf("a panel as high as the sheet has %d rows:\n%s", in.H, p.Buffer.Plain())
	}
}

func TestALongToastEndsWithAnEllipsis(t *testing.T) {
	p := sheet(60, 20)
	toast := widget.Toast{Text: strings.Repeat("nothing was fired ", 40)}
	if n := toast.Rows(60); n != 5 {
		t.Errorf("the toast takes %d rows, want 5", n)
	}
	toast.Paint(p, cell.Rect{Y: 10, W: 60})
	if last := row(p, 14); !strings.HasSuffix(last, "…") {
		t.Errorf("its last row says %q", last)
	}
}

func TestTheFocusHasAShape(t *testing.T) {
	for _, framed := range []bool{true, false} {
		for _, focused := range []bool{true, false} {
			p := sheet(20, 4)
			p.Framed = framed
			p.Section(p.Buffer.Bounds(), focused, spans("keys")...)
			if got := strings.Contains(row(p, 0), p.Look.SelMark+"keys"); got != focused {
				t.Errorf("framed %v, focused %v: the title says %q", framed, focused, row(p, 0))
			}
		}
	}
}
