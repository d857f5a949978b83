package heat

import (
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

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
func (v view) paintLanes() {
	r := v.screen.what.area
	if r.H == 0 || len(v.screen.what.lanes.Was) != r.W {
		return
	}
	w, lanes := &v.screen.what.result, &v.screen.what.lanes
	var most int64
	for i := range lanes.Was {
		most = max(most, lanes.Was[i].Admitted+lanes.Was[i].Denied)
	}
	was := format.Short(w.WasDenied) + " denied"
	switch {
	case !w.DeniedKnown && w.WasDenied == 0:
		was = "denied: not recorded"
	case !w.DeniedKnown:
		was = "≥ " + was
	}
	upper, lower := r.Top(r.H / 2)
	v.paintFates(upper, lanes.Was, most, "as it was", v.c.Look.Text, format.Short(w.Was)+" admitted", was,
		"up to "+format.Short(most)+" a column")
	v.paintFates(lower, lanes.Would, most, session.TermsText(v.screen.what.other.Terms), v.c.Look.Injected, format.Short(w.Admitted)+" admitted",
		format.Short(w.Denied)+" denied", "")
	if x := v.columnOf(w.Differs); w.Differs != 0 && x >= r.X {
		v.c.Buffer.Ground(cell.Rect{X: x, Y: r.Y, W: 1, H: r.H}, v.c.Look.Selected)
	}
}

// columnOf returns the column of the screen in which an instant is drawn.
func (v view) columnOf(t limiter.Instant) int {
	return v.screen.area.X + v.screen.area.W - 1 - int(v.screen.newest.Sub(t+1)/steps[v.screen.step])
}

// paintFates draws requests by time, with their name and sums at the left.
func (v view) paintFates(r cell.Rect, bins []model.Bin, most int64, name string, st themes.Style, admitted, denied, scale string) {
	for i := range bins {
		bins[i].Watched = true
	}
	from := max(len(bins)-1-int(v.screen.newest.Sub(v.screen.what.result.From+1)/steps[v.screen.step]), 0)
	c := chart.Columns{Bins: bins, Max: most, First: from}
	c.Draw(&v.c.Buffer, r, v.c.Look)
	x, end := r.X-v.screen.names, r.X-1
	for i, line := range []widget.Span{widget.Styled(name, st), widget.Styled(admitted, v.c.Look.Admitted),
		widget.Styled(denied, v.c.Look.Denied), widget.Styled(scale, v.c.Look.Dim)} {
		if i < r.H {
			v.c.Buffer.Text(x, r.Y+i, end, safetext.Clip(line.Text, end-x, safetext.Ellipsis), line.Style)
		}
	}
}
