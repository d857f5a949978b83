package lab

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/lab/accuracy"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// mapView is a map of two bursts: from left to right when in the window the first one
// comes, upwards how large they are, by colour the most that is admitted in one true
// window, a tile a candidate. It shows at a glance where candidates disagree.
type mapView struct {
	plain
	setup   lab.Setup // what the tiles were worked out for
	columns int
	rows    int
	tiles   [][]float64 // by candidate: most/limit of each cell, row by row from below
	x, y    int         // the cursor
}

// How fine a map is at most.
const (
	mapColumns = 56
	mapRows    = 15
)

func newMapView(s *Screen) *mapView {
	m := &mapView{x: -1}
	sideways := func(dx int) func() { return func() { m.x = min(max(m.x+dx, 0), max(m.columns-1, 0)) } }
	m.plain = plain{"map", shell.Actions{
		act("map", "earlier burst", "← h", "moves the burst to earlier in the window", sideways(-1), "left", "h"),
		act("map", "later burst", "→ l", "moves the burst to later in the window", sideways(1), "right", "l"),
		act("map", "run the burst", "enter", "shows the bursts under the cursor as a run", func() { m.run(s) }, "enter").Hinted("run it"),
	}}
	return m
}

// move makes the bursts larger or smaller.
func (m *mapView) move(_ *Screen, by int) { m.y = min(max(m.y-by, 0), max(m.rows-1, 0)) }

// open begins with the cursor on the largest burst at the end of the window.
func (m *mapView) open(s *Screen) error {
	if s.run.Setup().Limit.Count == 0 {
		return fmt.Errorf("a limit of 0 denies nothing, so there is nothing to disagree about: raise it with w")
	}
	if _, ok := s.run.Setup().Algorithms(); !ok {
		return errors.New("there is no map of a script, which is asked only what comes: add an algorithm with w")
	}
	return nil
}

// layout works the tiles out where the setup or the room is another one.
func (m *mapView) layout(s *Screen, r cell.Rect) {
	setup, ok := s.run.Setup().Algorithms()
	if !ok {
		m.tiles = nil
		return
	}
	columns, rows, _, _ := m.divide(r, len(setup.Candidates))
	rows = min(rows, largestBurst(setup)) // each row is another size
	if m.tiles != nil && columns == m.columns && rows == m.rows && reflect.DeepEqual(setup, m.setup) {
		return
	}
	m.setup, m.columns, m.rows, m.tiles = setup, columns, rows, nil
	if columns < 2 || rows < 2 {
		return
	}
	for _, c := range setup.Candidates {
		tile := make([]float64, columns*rows)
		for i := range tile {
			list := lab.TwoBursts(setup, m.phase(i%columns), m.size(i/columns))
			tile[i] = float64(lab.MostAdmitted(c, setup, list)) / float64(setup.Limit.Count)
		}
		m.tiles = append(m.tiles, tile)
	}
	if m.x < 0 {
		for m.x = columns * 9 / 10; m.y < rows-1 && int64(m.size(m.y)) < setup.Limit.Count; m.y++ {
		}
	}
	m.x, m.y = min(m.x, columns-1), min(m.y, rows-1)
}

// divide returns how large a tile is, and how many stand beside and below each other.
func (m *mapView) divide(r cell.Rect, n int) (columns, rows, across, down int) {
	across = 1
	for n > across && (across < 2 || n > 4 && across < 3) && r.W/(across+1) >= 30 {
		across++
	}
	down = (n + across - 1) / across
	return min(r.W/across-10, mapColumns), min((r.H-2)/down-2, mapRows), across, down
}

// phase is when in the window the first burst of a column comes.
func (m *mapView) phase(x int) time.Duration {
	return (time.Duration(x) * m.setup.Limit.Window / time.Duration(m.columns)).Truncate(time.Microsecond)
}

// size is how large the bursts of a row are: to one and a half times the limit.
func (m *mapView) size(y int) int {
	return max(int(float64(largestBurst(m.setup))*float64(y+1)/float64(m.rows)+0.5), 1)
}

// largestBurst is one and a half times the limit, as far as a burst goes.
func largestBurst(s lab.Setup) int { return int(min(max(s.Limit.Count*3/2, 2), maxBurst)) }

// run shows what is under the cursor.
func (m *mapView) run(s *Screen) {
	if m.tiles == nil {
		return
	}
	if err := s.restart(s.run.Setup()); err != nil {
		s.fail(err)
		return
	}
	for _, a := range lab.TwoBursts(s.run.Setup(), m.phase(m.x), m.size(m.y)) {
		s.run.SeekTo(a.At)
		s.run.Fire(a.Cost)
	}
	s.renew()
	s.view("compare")
}

func (m *mapView) paint(p painter, r cell.Rect) {
	shades := p.c.Look.Shade
	legend := fmt.Sprintf("%c under 1  %c 1  %c over 1  %c from 1.6", shades[0], shades[1], shades[2], shades[3])
	title := []widget.Span{widget.Styled("map", p.c.Look.Title),
		widget.Styled(format.First(widget.TitleRoom(r.W)-len("map  ")-safetext.Width(legend),
			fmt.Sprintf(" · two bursts, the second %g of a window later: the most in one true window, of the limit", lab.BurstsApart),
			fmt.Sprintf(" · two bursts, %g of a window apart: most in a true one", lab.BurstsApart), " · two bursts"), p.c.Look.Dim)}
	in := p.c.Section(r, true, title...)
	p.c.Aside(r, widget.Width(title...), widget.Styled(legend, p.c.Look.Dim))
	if m.tiles == nil {
		p.c.Buffer.Text(in.X, in.Y, in.X+in.W, "There is not enough room for the map.", p.c.Look.Dim)
		return
	}
	_, _, across, down := m.divide(r, len(m.tiles))
	for i := range m.tiles {
		box := cell.Rect{X: in.X + i%across*(in.W/across), Y: in.Y + i/across*(in.H/down), W: in.W / across, H: in.H / down}
		m.paintTile(p, box, i)
	}
}

// paintTile draws one candidate's map with its axes.
func (m *mapView) paintTile(p painter, r cell.Rect, i int) {
	const axis = 6
	at := m.tiles[i][m.y*m.columns+m.x]
	ratio := "  " + lab.Number(at) + " ×"
	name := titleIn(m.setup.Candidates[i], min(30, r.W-safetext.Width(ratio)-1))
	room := r.W - 1 - safetext.Width(name)
	p.c.Spans(r.X, r.Y, r.X+r.W-1, widget.Styled(name, p.c.Look.Title),
		widget.Styled(format.First(room, ratio+" the limit", ratio+" limit", ratio), ratioStyle(p.c.Look, at)))
	tall := max((r.H-2)/max(m.rows, 1), 1) // lines of a row
	for y := range m.rows {
		row := r.Y + 1 + (m.rows-1-y)*tall
		if y == 0 || y == m.rows-1 || y == m.y {
			p.c.Buffer.Right(r.X, row, r.X+axis-1, fmt.Sprint(m.size(y)), p.c.Look.Dim)
		}
		for x := range m.columns {
			v := m.tiles[i][y*m.columns+x]
			glyph, st := ratioShape(p.c.Look, v), ratioStyle(p.c.Look, v)
			for line := range tall {
				p.c.Buffer.Set(r.X+axis+x, row+line, glyph, st)
			}
			if x == m.x && y == m.y {
				p.c.Buffer.Set(r.X+axis+x, row+(tall-1)/2, p.c.Look.Chosen, p.c.Look.Title)
			}
		}
	}
	y := r.Y + 1 + m.rows*tall
	from, to, across, cursor := "0s", format.Length(m.setup.Limit.Window), " first burst at ", max(min(m.x-2, m.columns-12), 4)
	switch { // its name stands where the time of the cursor does not
	case len(from+across) <= cursor:
		from += across
	case cursor+2*len(across) < m.columns:
		to = across + to
	}
	p.c.Buffer.Text(r.X+axis, y, r.X+r.W, from, p.c.Look.Dim)
	p.c.Buffer.Right(r.X+axis, y, r.X+axis+m.columns, to, p.c.Look.Dim)
	if m.y != m.rows-2 {
		p.c.Buffer.Right(r.X, r.Y+1+tall, r.X+axis-1, "size", p.c.Look.Dim)
	}
	p.c.Buffer.Text(r.X+axis+cursor, y, r.X+axis+m.columns-4,
		lab.Seconds(m.phase(m.x).Round(m.setup.Limit.Window/1000)), p.c.Look.Accent)
}

// ratioStyle is the colour of a share of the limit: up to the limit calm, at twice of it as
// what is denied.
func ratioStyle(l chart.Look, v float64) themes.Style {
	if v <= 1 {
		return l.Fill(v * 0.6)
	}
	return l.Fill(min(0.8+0.2*(v-1), 1))
}

// ratioShape is the shape of a share of the limit, for paper and for eyes without colour.
func ratioShape(l chart.Look, v float64) rune {
	switch steps := l.Shade; {
	case v <= 0:
		return ' '
	case v < 1:
		return steps[0]
	case v <= 1.02:
		return steps[1]
	case v < 1.6:
		return steps[2]
	default:
		return steps[3]
	}
}

// accuracyView shows the plots of the accuracy command under the limit on screen.
type accuracyView struct {
	plain
	of       limiter.Limit // the limit of the latest measurement, also while it runs
	measures bool
	lines    []string
	first    int // the line on top
}

func (v *accuracyView) move(_ *Screen, by int) { v.first += by }

// layout measures under the limit on screen, beside what goes on, where that is another one: one limit at a time.
func (v *accuracyView) layout(s *Screen, r cell.Rect) {
	limit := s.run.Setup().Limit
	if v.measures || v.of == limit {
		return
	}
	v.of, v.measures = limit, true
	s.later = append(s.later, func() tea.Msg {
		report, err := accuracy.Measure(s.app.Context(), accuracy.Options{Limit: limit, Seed: accuracy.DefaultSeed})
		return doneMsg(func() {
			if v.measures = false; err != nil {
				v.lines = format.Wrap("Not measured: "+err.Error()+".", r.W-4)
				return
			}
			v.lines = accuracy.Plots(report, s.app.Options.ASCII)
		})
	})
}

func (v *accuracyView) paint(p painter, r cell.Rect) {
	limit := p.s.run.Setup().Limit
	in := p.c.Section(r, true, widget.Styled("accuracy", p.c.Look.Title),
		widget.Styled(fmt.Sprintf(" · as ratescope accuracy --limit %d/%s", limit.Count, format.Length(limit.Window)), p.c.Look.Dim))
	if v.measures || v.of != limit {
		p.c.Buffer.Text(in.X, in.Y+1, in.X+in.W, "measuring…", p.c.Look.Accent)
		return
	}
	v.first = max(min(v.first, len(v.lines)-in.H), 0)
	for i, line := range v.lines[v.first:min(v.first+in.H, len(v.lines))] {
		y, st := in.Y+i, collect.If(!strings.HasPrefix(line, " "), p.c.Look.Title, p.c.Look.Text)
		x := p.c.Buffer.Text(in.X+1, y, in.X+in.W, line, st)
		for at := in.X + 1; at < x; at++ { // the bars: what is wrong or beyond the limit has not the colour of what is admitted
			if c := p.c.Buffer.At(at, y); c.R == '#' || c.R >= '▁' && c.R <= '▏' {
				p.c.Buffer.Set(at, y, c.R, p.c.Look.Near)
			}
		}
	}
}
