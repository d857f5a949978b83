package firing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/firing"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
	"ratescope/tui/widget"
)

// TestATicketWaitsForWhatIsRead: what is written at a key of another library follows from what
// the key holds, so that its ticket cannot be confirmed before that was read.
func TestATicketWaitsForWhatIsRead(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	app, k := newApp(t), &keys{}
	limit := limiter.Limit{Count: 5, Window: time.Minute}
	k.board.Apply(model.Batch{At: limiter.InstantOf(now), Readings: []model.Reading{{
		Key: "api", Type: "string", At: limiter.InstantOf(now), State: limiter.State{Algorithm: limiter.GCRA},
		Target: model.Target{Algorithm: limiter.GCRA, Limit: limit, LimitKnown: true, Window: limit.Window, Library: "redis-rate",
			Evidence: model.Known, Exact: true},
	}}})
	injector := &injector{feed: tuitest.NewFeed(now)}
	o := firing.New(app, k.look(), firing.Options{Injector: injector, Arming: armed{}, Name: func(key string) string { return key }})
	read := o.Fire(model.Order{N: 1})
	dialog := app.Over
	if read == nil || dialog == nil {
		t.Fatal("there is no ticket that reads the key")
	}
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	if cmd, open := dialog.Update(enter); cmd != nil || !open {
		t.Error("the ticket was confirmed before the key was read")
	}
	if text := painted(dialog, 100, 40); !strings.Contains(text, "is read first") {
		t.Error(text)
	}
	read().(shell.Then)()
	if text := painted(dialog, 100, 40); !strings.Contains(text, "EVALSHA 0123456789 1 api") || strings.Contains(text, "is read first") {
		t.Error(text)
	}
	for height, whole := range map[int]bool{24: true, 20: true, 15: false} {
		text := painted(dialog, 60, height)
		if strings.Contains(text, "new in 12s") != whole || strings.Contains(text, "…") == whole || !strings.Contains(text, "EVALSHA") {
			t.Errorf("at 60x%d:\n%s", height, text)
		}
	}
	if cmd, open := dialog.Update(enter); cmd == nil || open {
		t.Error("the ticket cannot be confirmed")
	}
}

// TestOneCursor: a ticket of production asks for the name of the key and for a reason, and a cursor stands where
// the next letter goes, in that one alone.
func TestOneCursor(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	app, k := newApp(t), &keys{}
	limit := limiter.Limit{Count: 5, Window: time.Minute}
	k.board.Apply(model.Batch{At: limiter.InstantOf(now), Readings: []model.Reading{{
		Key: "api", Type: "zset", At: limiter.InstantOf(now), State: limiter.State{Algorithm: limiter.SlidingLog},
		Target: model.Target{Algorithm: limiter.SlidingLog, Limit: limit, LimitKnown: true, Window: limit.Window},
	}}})
	o := firing.New(app, k.look(), firing.Options{Injector: &injector{feed: tuitest.NewFeed(now)},
		Arming: armed{production: []string{"it has replicas (2)"}}, Name: func(key string) string { return key }})
	o.Fire(model.Order{N: 1})
	for _, want := range []string{"key ", "reason"} {
		p := canvas(100, 40)
		app.Over.Paint(p, cell.Rect{})
		var rows []string
		lines := strings.Split(p.Buffer.Plain(), "\n")
		for y := range p.Buffer.H {
			for x := range p.Buffer.W {
				if c := p.Buffer.At(x, y); c.R == ' ' && c.S.Attr&themes.Reverse != 0 {
					rows = append(rows, strings.Trim(lines[y], " │"))
				}
			}
		}
		if len(rows) != 1 || !strings.HasPrefix(rows[0], strings.TrimSpace(want)) {
			t.Errorf("cursors stand in %q, want one behind %s", rows, want)
		}
		app.Over.Update(tea.KeyPressMsg{Code: tea.KeyTab})
	}
}

// painted draws a dialog on a canvas of its own.
func painted(d shell.Overlay, w, h int) string {
	p := canvas(w, h)
	d.Paint(p, cell.Rect{})
	return p.Buffer.Plain()
}

func canvas(w, h int) *widget.Canvas {
	p := &widget.Canvas{}
	p.SetTheme(themes.Sixteen(true), false)
	p.Buffer.Resize(w, h)
	p.Begin()
	return p
}

// armed is an Arming that never ends.
type armed struct {
	production []string
	not        bool // it has not begun
}

func (a armed) Arming() arming.Status {
	return arming.Status{Armed: !a.not, Left: arming.Lasts, Production: a.production}
}
func (armed) Arm(context.Context) error                      { return nil }
func (armed) Disarm()                                        {}
func (armed) Meet(model.Server)                              {}
func (armed) Path(model.Order) string                        { return "the limiter's own script" }
func (armed) Keys(s model.Order, _ limiter.Instant) []string { return []string{s.Key} }
func (armed) Preview(_ context.Context, s model.Order) ([]string, error) {
	return []string{"EVALSHA 0123456789 1 " + s.Key}, nil
}
