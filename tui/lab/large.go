package lab

import (
	"fmt"

	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// figure is the point that a candidate makes in presenter mode: the most that it admitted in one
// true window, what that means, and what would become of one more request now.
type figure struct {
	number string
	style  themes.Style
	words  []widget.Span // three lines
}

// figure returns the figure of a candidate.
func (p painter) figure(i int) figure {
	s, t := p.s.run.Setup(), p.s.run.Counts(i)
	m := p.s.run.Ask(i, max(s.Cost, 1))
	next := m.Decision
	st := p.c.Look.Title
	if s.Limit.Count > 0 && t.Largest > s.Limit.Count {
		st = p.c.Look.Denied
	}
	number, what, of := fmt.Sprint(t.Largest), fmt.Sprintf("in one %s window,", format.Length(s.Limit.Window)), fmt.Sprintf("limit %d",
		s.Limit.Count)
	now := fmt.Sprintf("%s room for %d", p.mark(true), lab.Room(p.s.run.Ask(i, 0).Decision, s.Candidates[i], s))
	switch {
	case s.Candidates[i].Scripted():
		mark, fate := p.fate(m)
		return figure{number, st, []widget.Span{widget.Styled(what, st), widget.Styled(of, st), widget.Styled(mark+" "+lab.Explain(s.Candidates[i], m, s).Verdict, fate)}}
	case s.Limit.Count == 0:
		number, what, of, now = fmt.Sprint(p.s.run.Ask(i, 0).Decision.Used), "in the last "+format.Length(s.Limit.Window), "", "counts only"
	case next.RetryAfter == limiter.Never:
		now = p.mark(false) + " never"
	case !next.Allowed:
		now = p.mark(false) + " slot in " + lab.Seconds(next.RetryAfter)
	}
	fate := p.outcome(next.Allowed)
	if p.s.guess.asked { // that is what is to be predicted
		now, fate = "and one more?", p.c.Look.Accent
	}
	return figure{number, st, []widget.Span{widget.Styled(what, st), widget.Styled(of, st), widget.Styled(now, fate)}}
}

// grows reports whether the words of all candidates' figures fit in large type beside their
// numbers, of which the longest has so many digits: one size of type for one rank.
func (p painter) grows(r cell.Rect) bool {
	if p.c.Buffer.ASCII {
		return false
	}
	for i := range p.s.run.Setup().Candidates {
		f := p.figure(i)
		for _, line := range f.words {
			if r.H < widget.TypeRows*len(f.words) || !widget.Settable(line.Text) ||
				wideDigit*len(f.number)+1+widget.TypeCells(line.Text, true) > r.W {
				return false
			}
		}
	}
	return true
}

// wideDigit is how many cells a digit takes of two cells to a dot.
const wideDigit = 8

// paintLarge is a candidate's picture in presenter mode.
func (p painter) paintLarge(r cell.Rect, i int) {
	f := p.figure(i)
	x, end := r.X, r.X+r.W
	const words = 20
	switch wide := x + wideDigit*len(f.number) + words; {
	case p.c.Buffer.ASCII || r.H < widget.TypeRows || x+wideDigit/2*len(f.number)+words > end: // no half blocks, or no room
		x = p.c.Buffer.Text(x, r.Y, end, f.number, f.style.With(themes.Bold)) + 1
	case r.H >= 2*widget.TypeRows && wide+2 <= end:
		for i, row := range widget.Enlarge(f.number, widget.Finely) { // twice as large: each cell is two beside and two below each other
			for k, c := range []rune(row) {
				for half, part := range [...]rune{'▀', '▄'} {
					if c == '█' || c == part {
						p.c.Buffer.Fill(x+2*k, r.Y+2*i+half, 2, '█', f.style)
					}
				}
			}
		}
		x = wide - words + 1
	default:
		p.c.Large(x, r.Y, end-words, f.number, false, f.style)
		x += wideDigit/2*len(f.number) + 1
	}
	grows := p.grows(r)
	for row, line := range f.words {
		switch {
		case grows:
			p.c.Large(x, r.Y+widget.TypeRows*row, end, line.Text, true, line.Style)
		case row < r.H:
			p.c.Buffer.Text(x, r.Y+row, end, line.Text, line.Style.With(themes.Bold))
		}
	}
}
