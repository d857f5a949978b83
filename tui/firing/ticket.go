package firing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// ticketDialog shows the forecast of an order and asks for its confirmation. On any server but the
// embedded one, no request is sent from the screen without it.
type ticketDialog struct {
	o      *Orders
	ticket model.Ticket
	lines  [][2]string // a word and what it says
	why    []string    // why the server counts as one of production
	inputs []textinput.Model
	focus  int
	waits  string // why it cannot be confirmed yet; "" once its commands are known
	wrong  string // what was wrong with the answer
	name   string // of what is confirmed; "" that of the order
	yes    string // what enter does; "" fires the order or makes its change
	do     func(model.Order) tea.Cmd
}

// The inputs of a ticket. Only a production server requires the name of the key.
const (
	inputReason = iota
	inputName
)

// issue shows the ticket of an order; do carries the order out.
func (o *Orders) issue(order model.Order, k *model.Watched, do func(model.Order) tea.Cmd) tea.Cmd {
	of := order
	of.N = cmp.Or(of.N, max(int(of.Rate*60), 1))
	t := collect.If(order.Change.Kind != model.NoChange, k.ChangeTicket, k.Ticket)(of, o.keys.LiveAt())
	t.Order = order
	t.Issued, t.Server = o.app.Now(), o.keys.Live().Server.Target
	t.Path = o.arming.Path(order)
	t.Keys = o.arming.Keys(order, o.keys.LiveAt())
	d := &ticketDialog{o: o, why: o.Armament().Production, do: do}
	var later tea.Cmd
	if order.Target.Foreign() && (order.Change.Kind == model.NoChange || t.Raise != nil) { // it reads from the server
		d.waits = "what the key holds is read first"
		later = func() tea.Msg {
			commands, err := o.arming.Preview(o.app.Context(), order)
			return shell.Then(func() tea.Cmd { return d.previewed(commands, err) })
		}
	} else {
		var err error
		if t.Commands, err = o.arming.Preview(o.app.Context(), order); err != nil {
			return o.app.Warn(nothing(order) + o.name(order.Key) + ": " + err.Error() + ".")
		}
	}
	for name, other := range o.keys.Live().Keys() {
		if name != order.Key && !other.Gone && model.HashSlot(name) == t.Slot {
			t.InSlot++
		}
	}
	d.ticket = t
	d.lines = d.ticket.Words(o.name, d.waits)
	d.open()
	return later
}

// open makes the inputs of a ticket and shows it.
func (d *ticketDialog) open() tea.Cmd {
	look := d.o.app.Canvas.Look
	asked := []string{"reason "}
	if len(d.why) > 0 {
		asked = append(asked, "key    ")
	}
	for _, prompt := range asked {
		in := widget.NewInput(look, prompt, look.Raised)
		in.CharLimit = 200
		d.inputs = append(d.inputs, in)
	}
	d.focus = len(d.inputs) - 1
	for i := range d.inputs[:d.focus] {
		d.inputs[i].Blur() // a cursor stands in one of them alone
	}
	return d.o.app.Open(d)
}

// previewed completes the ticket that was waiting for the commands of its first request.
func (d *ticketDialog) previewed(commands []string, err error) tea.Cmd {
	d.o.app.Redraw()
	if err != nil {
		d.waits = "it cannot be done: " + err.Error()
		d.wrong = d.waits
		return nil
	}
	d.waits, d.wrong, d.ticket.Commands = "", "", commands
	d.lines = d.ticket.Words(d.o.name, d.waits)
	return nil
}

// Update edits the answers; enter carries the order out.
func (d *ticketDialog) Update(msg tea.Msg) (tea.Cmd, bool) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "esc":
			return nil, false
		case "enter":
			return d.confirm()
		case "tab", "shift+tab", "up", "down":
			d.inputs[d.focus].Blur()
			d.focus = (d.focus + 1) % len(d.inputs)
			return d.inputs[d.focus].Focus(), true
		}
	}
	var cmd tea.Cmd
	d.inputs[d.focus], cmd = d.inputs[d.focus].Update(msg)
	return cmd, true
}

// confirm carries the order out if all answers are right.
func (d *ticketDialog) confirm() (tea.Cmd, bool) {
	order := d.ticket.Order
	order.Ticket, order.Reason = &d.ticket, strings.TrimSpace(d.inputs[inputReason].Value())
	production := len(d.inputs) > inputName
	if production {
		order.Named = d.inputs[inputName].Value()
	}
	switch {
	case d.waits != "":
		d.wrong = d.waits
	case d.ticket.Expired(d.o.app.Now()):
		d.wrong = "the ticket has expired: press esc and ask for a new one"
	case production && !arming.Named(order.Key, order.Named):
		d.wrong = "type the key's name, or its last part"
	case production && order.Reason == "":
		d.wrong = "type why, for the audit file"
	default:
		return d.do(order), false
	}
	return nil, true
}

// label is the number of columns for the labels of a ticket.
const label = 9

// rows returns the lines of the ticket, a word and what it says in turns, in so many rows at most: of each
// as many lines as there is room for, up to three, which leaves the row of the key in sight where it can.
func (d *ticketDialog) rows(look *chart.Look, columns, most int) (rows []widget.Span) {
	const header = 3
	for _, room := range [...]int{most - header, most} {
		for each := 3; each > 0; each-- {
			if rows = d.wrapped(look, columns, each); len(rows) <= 2*room {
				return rows
			}
		}
	}
	return rows[:2*most]
}

// wrapped returns the lines of the ticket with at most so many rows each; what is cut ends in an ellipsis.
func (d *ticketDialog) wrapped(look *chart.Look, columns, each int) (rows []widget.Span) {
	add := func(word, text string, most int, style themes.Style) {
		for _, line := range format.WrapTo(text, columns, most) {
			rows = append(rows, widget.Styled(word, style), widget.Styled(line, style))
			word = ""
		}
	}
	add("key", d.o.name(d.ticket.Order.Key), 2, look.Title.On(look.Raised))
	for i, l := range d.lines { // what it will do in full
		add(l[0], l[1], max(each, 3-2*i), look.Text.On(look.Raised))
	}
	if len(d.why) > 0 {
		add("PROD", strings.Join(d.why, "; "), 2, look.Injected.On(look.Raised))
	}
	if d.wrong != "" {
		add("", d.wrong, 2, look.Denied.On(look.Raised))
	}
	return rows
}

// Paint draws the ticket in the middle.
func (d *ticketDialog) Paint(p *widget.Canvas, _ cell.Rect) {
	width := min(84, p.Buffer.W-4)
	rows := d.rows(&p.Look, width-4-label, max(p.Buffer.H-6-len(d.inputs), 1))
	now := d.o.app.Now()
	foot := collect.If(d.ticket.Expired(now), "expired", "holds for "+format.Minutes(d.ticket.Left(now)+time.Second-1))
	in := p.Overlay(width, len(rows)/2+len(d.inputs)+4, cmp.Or(d.name, d.ticket.Order.Title()), foot)
	y := in.Y
	for i := 0; i < len(rows); i += 2 {
		p.Buffer.Text(in.X, y, in.X+in.W, rows[i].Text, p.Look.Dim.On(p.Look.Raised))
		p.Buffer.Text(in.X+label, y, in.X+in.W, rows[i+1].Text, rows[i+1].Style)
		y++
	}
	for i := len(d.inputs) - 1; i >= 0; i-- { // the name first
		d.inputs[i].SetWidth(max(in.W-label-1, 8))
		p.Buffer.Place(cell.Rect{X: in.X, Y: y, W: in.W, H: 1}, d.inputs[i].View())
		y++
	}
	y++
	yes := cmp.Or(d.yes, collect.If(d.ticket.Order.Change.Kind == model.NoChange, "fire", "do it"))
	x := p.Button(in.X, y, in.X+in.W, "enter", yes, func(int) tea.Cmd {
		cmd, open := d.confirm()
		if !open {
			d.o.app.Open(nil)
		}
		return cmd
	})
	p.Button(x, y, in.X+in.W, "esc", "leave it", func(int) tea.Cmd { return d.o.app.Open(nil) })
}

// reported compares the outcomes of an order with its ticket.
func reported(t *model.Ticket, tally model.Outcomes) string {
	text := fmt.Sprintf("%s: %d admitted, %d denied", format.Plural(tally.Total(), "request"), tally.Admitted, tally.Denied)
	if odd := tally.Failed + tally.Unanswered; odd > 0 {
		text += fmt.Sprintf(", %d failed or unknown", odd)
	}
	if f := t.Forecast; f.Known && tally.Total() == f.Admitted+f.Denied {
		if f.Admitted == tally.Admitted && f.Denied == tally.Denied {
			text += ", as forecast"
		} else {
			text += fmt.Sprintf("; the forecast was %d and %d", f.Admitted, f.Denied)
		}
	}
	return text
}

// Arming protects servers other than the embedded one: firing has to be armed first, and each order
// confirmed.
type Arming interface {
	Arming() arming.Status
	// Arm arms firing. It blocks until the server has given its identity.
	Arm(ctx context.Context) error
	Disarm()
	// Meet receives the state of the server with every batch.
	Meet(s model.Server)
	// Preview returns the commands of an order, one of each kind. Keys returns the keys that it may
	// write to, and Path describes in words how it reaches the limiter.
	Preview(ctx context.Context, s model.Order) ([]string, error)
	Keys(s model.Order, now limiter.Instant) []string
	Path(s model.Order) string
}

// permission decides whether requests may be fired from the screen.
type permission struct {
	app      *shell.App
	injector Injector
	refused  error // why nothing is fired where injector is nil
	arming   Arming
	stop     func() // ends what is under way
	wasArmed bool   // at the last tick
}

// Armament returns the state of the arming. On the embedded server, where nothing has to be armed,
// firing is always armed.
func (p *permission) Armament() arming.Status {
	switch {
	case p.injector == nil:
		return arming.Status{Refused: p.refused}
	case p.arming != nil:
		return p.arming.Arming()
	}
	err := p.injector.Armed()
	return arming.Status{Refused: err, Armed: err == nil}
}

var errNoInjector = errors.New("nothing can be fired at this source")

// HostKeys returns the keys of the dashboard that mean the same on every screen.
func (p *permission) HostKeys() shell.Actions {
	return shell.Actions{
		shell.Bind("fire", "arm", "!", "arms firing for ten minutes, or disarms it", p.ToggleArming).
			In(shell.Server, p.ArmedText).When(func() string {
			switch st := p.Armament(); {
			case st.Refused != nil:
				return st.Refused.Error()
			case p.arming == nil:
				return "Nothing of others is here: firing is always armed."
			}
			return ""
		}),
	}
}

// ToggleArming arms firing, or disarms it and stops all running orders. It is not called where nothing has to be armed.
func (p *permission) ToggleArming() tea.Cmd {
	if p.Armament().Armed {
		p.stop()
		p.arming.Disarm()
		p.wasArmed = false
		return p.app.Say("Firing is disarmed.")
	}
	ctx, a := p.app.Context(), p.arming
	return func() tea.Msg {
		err := a.Arm(ctx)
		return shell.Then(func() tea.Cmd { return p.armed(err) })
	}
}

// armed handles the result of Arming.Arm.
func (p *permission) armed(err error) tea.Cmd {
	if err != nil {
		return p.app.Warn(err.Error())
	}
	st := p.Armament()
	p.wasArmed = st.Armed
	text := "Firing is armed for ten minutes: ! disarms, x stops."
	if len(st.Production) > 0 {
		text = "Firing is armed. This counts as production because " + st.Production[0] +
			": each order asks for the key's name and a reason."
	}
	return p.app.Say(text)
}

// Meet gives the arming the present state of the server.
func (p *permission) Meet(server model.Server) {
	if p.arming != nil {
		p.arming.Meet(server)
		p.WatchArming()
	}
}

// WatchArming stops all running orders after the arming has ended by itself, and says why.
func (p *permission) WatchArming() {
	if p.arming == nil {
		return
	}
	st := p.Armament()
	if p.wasArmed && !st.Armed {
		p.stop()
		p.app.Warn("Firing is disarmed: " + st.Ended + ".")
	}
	p.wasArmed = st.Armed
}

// ArmedText returns the badge of an arming, with the server's risk and the time left; "" if firing is
// not armed or always armed.
func (p *permission) ArmedText() string {
	st := p.Armament()
	if p.arming == nil || !st.Armed {
		return ""
	}
	text := collect.If(len(st.Production) > 0, "ARMED PROD ", "ARMED ")
	return text + format.Minutes(st.Left+time.Second-1)
}
