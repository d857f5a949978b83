package keys

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/shell"
)

// rowActions are what can be done with a row beside what every screen can.
func (d *Screen) rowActions() shell.Actions {
	none := func() string {
		if d.s.Selection.Current() == nil {
			return "There is no key yet."
		}
		return ""
	}
	return shell.Actions{
		shell.Bind("keys", "key menu", "o", "lists what can be done with the key", d.openMenu, "o").For(shell.ToAct).When(none).Hinted("key"),
		shell.Bind("keys", "look ahead", "c", "says what a request would meet, of any cost", d.peek, "c").For(shell.ToLook).When(none).In(shell.OfKey, nil).Also("why explain"),
		shell.Bind("keys", "same prefix", "z", "lists only keys that begin like this one", d.filterPrefix, "z").For(shell.ToFind).When(none).In(shell.OfKey, nil),
		shell.Bind("view", "arrangement", "V", "walks through arrangements of the panes", d.nextArrangement, "V").In(shell.Look, nil),
	}
}

// openMenu lists what can be done with the selected key.
func (d *Screen) openMenu() tea.Cmd { return d.menuAt(-1, -1) }

// menuAt opens the menu beside a cell, or in the middle.
func (d *Screen) menuAt(x, y int) tea.Cmd {
	k := d.s.Selection.Current()
	if k == nil {
		return nil
	}
	first := []shell.Choice{{Name: "select", What: "shows the key at the right, and closes this", Aside: "enter"}}
	p := d.s.Shell.Menu(d.s.Name(k.Reading.Key), first, shell.OfKey)
	if x >= 0 {
		p.Beside(x, y)
	}
	d.s.Shell.Open(p)
	return nil
}

// rightClick selects the row under the mouse and opens its menu.
func (d *Screen) rightClick(x, y int) tea.Cmd {
	first := d.areas.keys.Y + 1
	if d.framed {
		first++
	}
	i := d.table.top + y - first
	if !d.areas.keys.Holds(x, y) || y < first || i >= d.table.lineCount() || y-first >= d.rowsShown() {
		return nil
	}
	d.focus = paneKeys
	d.table.goTo(i)
	return d.menuAt(x, y)
}

// peek says what one request would meet now, of cost 1 or of the cost that is typed.
func (d *Screen) peek() tea.Cmd {
	said := func(text string) {
		cost, err := strconv.ParseInt(cmp.Or(strings.TrimSpace(text), "1"), 10, 64)
		if k := d.s.Selection.Current(); err != nil || cost < 1 {
			d.s.Shell.Warn("A cost is a number of 1 or more.")
		} else if k != nil {
			d.s.Shell.Say(d.s.Name(k.Reading.Key) + ": " + d.lookAhead(k, cost))
		}
	}
	said("")
	var p *shell.Prompt
	p = d.s.Shell.NewPrompt("look ahead with a cost of ", "", "1 where none is typed · ↑↓ another key", said, nil, func(msg tea.KeyPressMsg) bool {
		step := map[string]int{"up": -1, "down": 1}[msg.String()]
		if step != 0 {
			d.table.step(step)
			said(p.Text())
		}
		return step != 0
	})
	d.s.Shell.Open(p)
	return nil
}

// lookAhead says what a request of a cost would meet now.
func (d *Screen) lookAhead(k *model.Watched, cost int64) string {
	if age, old := d.s.Shown.Outdated(k); old {
		return "last read " + format.Span(age) + " ago: what a request would meet is not known."
	}
	if cost == 1 || !k.Gauge.NextKnown {
		return nextTip(&k.Gauge)
	}
	request := fmt.Sprintf("One request of cost %s is ", format.Thousands(cost))
	switch f := k.Reading.Forecast(d.s.Shown.At(), 0, cost); {
	case !f.Known:
		return "What a request of that cost would meet is not known."
	case f.Next == limiter.Never:
		return request + "never admitted: the limit is smaller, or the key does not expire."
	case f.Next > 0:
		return request + "admitted in " + format.Span(f.Next) + ", if nothing else comes."
	}
	return request + fmt.Sprintf("admitted now; there is room for %s.", k.Gauge.Remaining.Short())
}

// filterPrefix lists only the keys that begin like the selected one, or of the group under
// the cursor.
func (d *Screen) filterPrefix() tea.Cmd {
	k := d.s.Selection.Current()
	if k == nil {
		return nil
	}
	prefix := ""
	if g := d.table.group(); g != nil {
		prefix = g.path
	} else if i := strings.LastIndexAny(strings.TrimRight(k.Reading.Key, separators), separators); i >= 0 {
		prefix = k.Reading.Key[:i+1]
	}
	if prefix == "" {
		d.s.Shell.Say("The name has no part before it: there is no prefix.")
		return nil
	}
	d.s.Selection.SetFilter(prefix)
	return nil
}
