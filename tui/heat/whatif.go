package heat

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// whatIf is other terms that the requests of a row's keys are put through, each key on a limiter
// of its own; nothing is written. The zero whatIf is off.
type whatIf struct {
	other  session.OtherTerms
	row    string          // what the outcome is of,
	keys   int             // how many keys
	second limiter.Instant // as of which second
	result model.WhatIf
	lanes  model.Compared // the same in the columns of the map
	area   cell.Rect      // of the lanes, below the axis of the map; its height is 0 where there is no room
}

// whatIfWindows is how many windows back the requests are taken from.
const whatIfWindows = 3

// askWhatIf lets a person type other terms for the keys of the row under the cursor.
func (h *Screen) askWhatIf() tea.Cmd {
	if h.at >= len(h.rows) {
		return nil
	}
	h.s.AskWhatIf(&h.what.other, h.rows[h.at].keys[0].Reading.Target,
		"algorithm, limit and burst, for every key of the row; x2 doubles · enter keeps · esc ends", func() { h.what.second = 0 })
	return nil
}

// runWhatIf works the other terms out anew, once a second and where the row is another.
func (h *Screen) runWhatIf() {
	if !h.what.other.On || h.at >= len(h.rows) {
		return
	}
	r := &h.rows[h.at]
	name, second := r.prefix+r.keys[0].Reading.Key, h.s.Shown.At()-h.s.Shown.At()%1_000_000
	w := &h.what
	if w.row == name && w.keys == len(r.keys) && w.second == second && w.lanes.End == h.newest && len(w.lanes.Was) == h.width {
		return
	}
	w.row, w.keys, w.second = name, len(r.keys), second
	w.lanes = model.Compared{End: h.newest, Column: steps[h.step], Was: make([]model.Bin, h.width), Would: make([]model.Bin, h.width)}
	w.result = model.RunAll(r.keys, w.other.Terms, whatIfWindows, &w.lanes)
}

// paintWhatIf says in the first line what became of the row's requests and what would have.
func (h *Screen) paintWhatIf(p *widget.Canvas, r cell.Rect) {
	title := []widget.Span{widget.Styled(h.rowName(&h.rows[h.at], 30, 0), p.Look.Title),
		widget.Styled(" what if "+session.TermsText(h.what.other.Terms), p.Look.Injected)}
	p.Flow(cell.Rect{X: r.X + 1, Y: r.Y, W: r.W - 1, H: 1}, append([][]widget.Span{title}, session.WhatIfWords(&h.what.result, &p.Look)...)...)
}

// Heights of a lane of the what-if, and the least that the map keeps beside the two of them.
const (
	tallLane, lowLane = 5, 3
	leastMap          = 6
)

// makeRoom takes the room of the lanes from the lower end of the map. The rows stay as they were
// shared out, so that the cursor stays on its keys.
func (h *Screen) makeRoom() {
	lane := 0
	switch {
	case !h.what.other.On:
	case h.area.H >= leastMap+2*tallLane:
		lane = tallLane
	case h.area.H >= leastMap+2*lowLane:
		lane = lowLane
	}
	h.area.H -= 2 * lane
	h.what.area = cell.Rect{X: h.area.X, Y: h.area.Y + h.area.H + 1, W: h.area.W, H: 2 * lane}
}

// paintLanes draws what became of the row's requests above what would have, on the map's axis of
// time and on one scale.
func (h *Screen) paintLanes(p *widget.Canvas) {
	r := h.what.area
	if r.H == 0 || len(h.what.lanes.Was) != r.W {
		return
	}
	w, lanes := &h.what.result, &h.what.lanes
	var most int64
	for i := range lanes.Was {
		most = max(most, lanes.Was[i].Admitted+lanes.Was[i].Denied)
	}
	was := session.WasDenied(w) + " denied"
	if !w.DeniedKnown && w.WasDenied == 0 {
		was = "denied: not recorded"
	}
	upper, lower := r.Top(r.H / 2)
	h.paintFates(p, upper, lanes.Was, most, widget.Styled("as it was", p.Look.Text),
		widget.Styled(format.Short(w.Was)+" admitted", p.Look.Admitted), widget.Styled(was, p.Look.Denied),
		widget.Styled("up to "+format.Short(most)+" a column", p.Look.Dim))
	h.paintFates(p, lower, lanes.Would, most, widget.Styled(session.TermsText(h.what.other.Terms), p.Look.Injected),
		widget.Styled(format.Short(w.Admitted)+" admitted", p.Look.Admitted), widget.Styled(format.Short(w.Denied)+" denied", p.Look.Denied))
	if x := h.area.X + h.area.W - 1 - int(h.newest.Sub(w.Differs+1)/steps[h.step]); w.Differs != 0 && x >= r.X {
		p.Buffer.Ground(cell.Rect{X: x, Y: r.Y, W: 1, H: r.H}, p.Look.Selected)
	}
}

// paintFates draws requests by time, with words at the left.
func (h *Screen) paintFates(p *widget.Canvas, r cell.Rect, bins []model.Bin, most int64, words ...widget.Span) {
	for i := range bins {
		bins[i].Watched = true
	}
	from := max(len(bins)-1-int(h.newest.Sub(h.what.result.From+1)/steps[h.step]), 0)
	c := chart.Columns{Bins: bins, Max: most, First: from}
	c.Draw(&p.Buffer, r, p.Look)
	x, end := r.X-h.names, r.X-1
	for i, word := range words[:min(len(words), r.H)] {
		p.Buffer.Text(x, r.Y+i, end, safetext.Clip(word.Text, end-x, safetext.Ellipsis), word.Style)
	}
}
