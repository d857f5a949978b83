package firing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/tui/format"
	"ratescope/tui/shell"
)

// TakerBack takes back what actions wrote. It decides alone what can be, and the audit file has it
// first.
type TakerBack interface {
	TakeBack(ctx context.Context, t model.TakeBack) (model.TakenBack, error)
}

// action is something that was fired or changed from here.
type action struct {
	id, key, what string
	fired         bool         // requests, which can also be withdrawn
	raise         *model.Raise // of a limit that Redis keeps; nil for the rest
	at            time.Time
}

// mostActions bounds how many can be taken back from the screen; ratescope undo knows them all.
const mostActions = 50

// takenBackMsg is what came of taking an action back.
type takenBackMsg struct {
	order model.TakeBack
	done  model.TakenBack
	err   error
}

// did keeps an action, to be taken back from the screen.
func (o *Orders) did(a action) {
	if a.id == "" {
		return
	}
	a.at = o.app.Now()
	o.actions = append(o.actions, a)
	if n := len(o.actions); n > mostActions {
		o.actions = slices.Delete(o.actions, 0, n-mostActions)
	}
}

// ended keeps an order that is over as an action.
func (o *Orders) ended(r *runningOrder, tally model.Outcomes) {
	if tally.Total() == 0 {
		return
	}
	o.did(action{id: r.audit, key: r.at, fired: true, what: fmt.Sprintf("%s: %d admitted, %d denied", format.Plural(tally.Total(), "request"), tally.Admitted, tally.Denied)})
}

// OpenActions lists what was fired and changed from here, the newest first, to be taken back.
func (o *Orders) OpenActions() tea.Cmd {
	switch {
	case o.takerBack == nil:
		o.app.Warn("Nothing can be taken back at this source.")
		return nil
	case len(o.actions) == 0:
		o.app.Warn("Nothing was fired or changed from here yet.")
		return nil
	}
	if st := o.Armament(); !st.Armed {
		o.app.Warn("Firing is not armed: press ! to arm it.")
		return nil
	}
	var choices []shell.Choice
	for _, a := range slices.Backward(o.actions) {
		what := a.what + ", " + format.Span(o.app.Now().Sub(a.at)) + " ago"
		choices = append(choices, shell.Choice{Name: "undo " + o.name(a.key), What: what, Value: model.TakeBack{Action: a.id, Key: a.key}})
		if a.fired {
			choices = append(choices, shell.Choice{Name: "withdraw " + o.name(a.key), What: what, Aside: "keeps others'", Value: model.TakeBack{Action: a.id, Key: a.key, Withdraw: true}})
		}
	}
	p := o.app.NewPicker("take back", choices)
	p.Chosen = func(c shell.Choice) tea.Cmd {
		back := c.Value.(model.TakeBack)
		if o.arming == nil {
			return o.takeBack(back)
		}
		o.confirmTakeBack(back, c.What)
		return nil
	}
	o.app.Open(p)
	return nil
}

// confirmTakeBack lays the ticket of taking an action back over the screen.
func (o *Orders) confirmTakeBack(back model.TakeBack, what string) {
	verb, does := "undo", "every key gets what it held before, with its expiry; refused where another program has written meanwhile or since"
	if i := slices.IndexFunc(o.actions, func(a action) bool { return a.id == back.Action }); i >= 0 && o.actions[i].raise != nil {
		r := o.actions[i].raise
		does = model.Raise{From: r.To, To: r.From, Whose: r.Whose}.String() + "; what was counted since stays; refused where another program has set it since"
	}
	if back.Withdraw {
		verb, does = "withdraw", "what was charged and still counts is taken off; what other programs have written stays"
	}
	t := model.Ticket{Order: model.Order{Key: back.Key}, Issued: o.app.Now(), Server: o.keys.Live().Server.Target}
	d := &ticketDialog{o: o, ticket: t, why: o.Armament().Production, name: verb + " " + what, yes: "take back"}
	d.lines = [][2]string{{"will do", does}, {"id", back.Action}, {"server", d.server()}}
	d.do = func(order model.Order) tea.Cmd {
		back.Named, back.Reason = order.Named, order.Reason
		return o.takeBack(back)
	}
	d.open()
}

// takeBack takes an action back that nothing stands in the way of.
func (o *Orders) takeBack(back model.TakeBack) tea.Cmd {
	ctx, taker := o.app.Context(), o.takerBack
	return func() tea.Msg {
		done, err := taker.TakeBack(ctx, back)
		return takenBackMsg{back, done, err}
	}
}

// takenBack says what came of taking an action back, which is then not listed any more.
func (o *Orders) takenBack(msg takenBackMsg) {
	if msg.err != nil {
		o.app.Warn(msg.err.Error())
		return
	}
	o.actions = slices.DeleteFunc(o.actions, func(a action) bool { return a.id == msg.order.Action })
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{len(msg.done.Restored), "as before"}, {len(msg.done.Removed), "removed"}, {len(msg.done.Expired), "expired already"}} {
		if p.n > 0 {
			parts = append(parts, format.Plural(p.n, "key")+" "+p.what)
		}
	}
	if msg.done.Lowered != nil {
		parts = append(parts, msg.done.Lowered.String()+", and what was counted since stays")
	}
	if msg.order.Withdraw {
		parts = append(parts, format.Plural(int(msg.done.Units), "unit")+" taken off")
	}
	if len(parts) == 0 {
		parts = []string{"no key had changed"}
	}
	o.app.Say(o.name(msg.order.Key) + ": taken back, " + strings.Join(parts, ", ") + ".")
}
