package keys

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
)

// arrangement is which panes the dashboard shows, and where.
type arrangement uint8

const (
	allPanes   arrangement = iota // the table, the selected key, the alerts and the injector
	watching                      // the table and the selected key
	tableAbove                    // the table over the whole width, the selected key below
	oneKey                        // the selected key, with a few rows of the table above
	arrangements
)

var arrangementNames = [...]string{"everything", "keys beside the timeline", "a wide table above", "one key"}

// nextArrangement shows the panes in the next way.
func (d *Screen) nextArrangement() tea.Cmd {
	d.arrangement = (d.arrangement + 1) % arrangements
	d.expanded = false
	d.s.Shell.Say("Panes: " + arrangementNames[d.arrangement] + ".")
	return nil
}

// without lays out an arrangement that leaves out the injector and the alerts.
func (a *areas) without(body cell.Rect, how arrangement, framed bool) {
	bars := 4
	switch {
	case framed:
		bars = barsHeight
	case body.H >= 28:
		bars = 6
	}
	switch how {
	case watching:
		if framed {
			left, right := body.Left(min(max(body.W*55/100, 56), 104))
			a.keys = left
			a.timeline, a.bars = right.Top(right.H - bars)
			return
		}
		a.keys, body = body.Top(max((body.H-bars)/2, 4))
	case tableAbove:
		a.keys, body = body.Top(max((body.H-bars)*3/5, 4))
	default:
		a.keys, body = body.Top(max(min(body.H/5, 8), 4))
	}
	if framed && how == tableAbove {
		a.timeline, a.bars = body.Left(body.W * 55 / 100)
		return
	}
	a.timeline, a.bars = body.Top(body.H - bars)
}

// ToastRoom is where a toast may lie: above the injector's buttons where these have no frame.
func (d *Screen) ToastRoom() cell.Rect {
	if d.framed || d.areas.injector.H == 0 || d.expanded {
		return d.area
	}
	room, _ := d.area.Top(d.areas.injector.Y - d.area.Y)
	return room
}
