package firing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui/shell"
)

// changes makes changes of keys.
type changes struct {
	orders *Orders
	change func(context.Context, model.Order) (model.Changed, error) // see Options
}

// changedMsg delivers the result of a change.
type changedMsg struct {
	order model.Order
	done  model.Changed
	err   error
}

// usualBlock is how long a block from the screen lasts.
const usualBlock = 10 * time.Minute

// OpenChanges lists the changes that the selected key's library allows. If nothing may be written,
// choosing one copies the lines of redis-cli that make it.
func (cs *changes) OpenChanges() tea.Cmd {
	o := cs.orders
	k := o.keys.Live().Key(o.keys.Selected())
	if k == nil {
		return o.app.Warn("There is no key yet.")
	}
	copies := cs.change == nil || o.CanFire() != ""
	aside := ""
	if copies {
		if why := cs.cannotCopy(); why != "" {
			return o.app.Warn(why)
		}
		aside = "copies redis-cli"
	}
	possible := func(c model.Change) error { _, err := k.Reading.AimChange(c); return err }
	if copies {
		possible = func(c model.Change) error {
			return report.CheckChangeLines(&k.Reading, o.keys.Live().Server, c, o.keys.LiveAt())
		}
	}
	var choices []shell.Choice
	for _, c := range []model.Change{{Kind: model.Give, Units: model.UsualGift}, {Kind: model.Free}, {Kind: model.Block, For: usualBlock},
		{Kind: model.Unblock}} {
		if possible(c) != nil {
			continue
		}
		choices = append(choices, shell.Choice{Name: c.Title(), What: changeWhat(&k.Reading, c), Aside: aside,
			Last: !copies && o.arming == nil, Value: c})
	}
	if len(choices) == 0 {
		return o.app.Warn("Nothing can be changed at " + o.name(k.Reading.Key) + ": " + possible(model.Change{Kind: model.Free}).Error() + ".")
	}
	p := o.app.NewPicker(o.name(k.Reading.Key), choices)
	p.Chosen = func(c shell.Choice) tea.Cmd {
		change := c.Value.(model.Change)
		if copies {
			return cs.copyChange(change)
		}
		return o.fireThen(model.Order{Change: change}, cs.launchChange)
	}
	return o.app.Open(p)
}

// changeWhat describes what a change does to the key of a reading.
func changeWhat(r *model.Reading, c model.Change) string {
	if _, raises := r.Target.RaiseOf(r.Key, c); raises {
		return "raises its limit, which Redis keeps"
	}
	switch c.Kind {
	case model.Give:
		return "refunds the newest requests that count"
	case model.Free:
		return "removes what is counted: the key is as new"
	case model.Block:
		return "denies all, where its limiter looks for blocks"
	}
	return "ends a block; what is counted stays"
}

// cannotCopy returns why the lines of redis-cli cannot be copied; "" if they can.
func (cs *changes) cannotCopy() string {
	o := cs.orders
	switch {
	case o.mask:
		return "The lines would name the key in full, which --mask hides."
	case o.keys.Live().Server.Embedded:
		return "The embedded Redis has no address for redis-cli."
	}
	return ""
}

// copyChange puts the lines of redis-cli that make a change by hand on the clipboard.
func (cs *changes) copyChange(c model.Change) tea.Cmd {
	o := cs.orders
	k := o.keys.Live().Key(o.keys.Selected())
	if k == nil {
		return nil
	}
	o.app.Say("Copied: the redis-cli lines for " + o.name(k.Reading.Key) + " (" + c.Title() + "). Read them before you run them.")
	return tea.SetClipboard(report.ChangeLines(&k.Reading, o.keys.Live().Server, c, o.keys.LiveAt()))
}

// launchChange makes a change that is checked and confirmed.
func (cs *changes) launchChange(order model.Order) tea.Cmd {
	o := cs.orders
	ctx, change := o.app.Context(), cs.change
	return func() tea.Msg {
		done, err := change(ctx, order)
		return changedMsg{order, done, err}
	}
}

// changed shows the result of a change.
func (cs *changes) changed(msg changedMsg) {
	o := cs.orders
	if msg.err != nil {
		o.app.Warn(msg.err.Error())
		return
	}
	what := msg.order.Change.Title()
	o.did(action{id: msg.done.Action, key: msg.order.Key, what: what, raise: msg.done.Raise})
	switch {
	case msg.done.Raise != nil:
		what = "changed " + msg.done.Raise.String()
	case msg.order.Change.Kind == model.Give:
		what = fmt.Sprintf("gave %s", format.Plural(int(msg.done.Units), "unit"))
	case len(msg.done.Removed)+len(msg.done.Written) == 0:
		what += ", and there was nothing to remove"
	}
	undo := " · U takes it back"
	if o.undo == nil {
		undo = " · ratescope undo " + msg.done.Action + " takes it back"
	}
	if len(msg.done.Unsaved) > 0 {
		undo = " · this cannot be undone: " + strings.Join(msg.done.Unsaved, "; ")
	}
	o.app.Say(o.name(msg.order.Key) + ": " + what + undo + ".")
}

// action is an order of requests or a change that was carried out from here.
type action struct {
	id, key, what string
	fired         bool         // requests, which can also be withdrawn
	raise         *model.Raise // of a limit that Redis keeps; nil for the rest
	at            time.Time
}

// takeBacks holds the actions from here that can be taken back.
type takeBacks struct {
	orders  *Orders
	undo    func(context.Context, model.TakeBack) (model.TakenBack, error) // see Options
	actions []action                                                       // newest last
}

// mostActions bounds the actions that can be taken back from the screen; ratescope undo knows all of
// them.
const mostActions = 50

// takenBackMsg delivers the result of taking an action back.
type takenBackMsg struct {
	order model.TakeBack
	done  model.TakenBack
	err   error
}

// did adds an action that can be taken back.
func (b *takeBacks) did(a action) {
	if a.id == "" {
		return
	}
	a.at = b.orders.app.Now()
	b.actions = append(b.actions, a)
	if n := len(b.actions); n > mostActions {
		b.actions = slices.Delete(b.actions, 0, n-mostActions)
	}
}

// ended keeps an order that is over as an action.
func (b *takeBacks) ended(r *runningOrder, tally model.Outcomes) {
	if tally.Total() == 0 {
		return
	}
	b.did(action{id: r.audit, key: r.at, fired: true,
		what: fmt.Sprintf("%s: %d admitted, %d denied", format.Plural(tally.Total(), "request"), tally.Admitted, tally.Denied)})
}

// OpenActions lists the actions that can be taken back, the newest first.
func (b *takeBacks) OpenActions() tea.Cmd {
	switch {
	case b.undo == nil:
		return b.orders.app.Warn("Nothing can be taken back at this source.")
	case len(b.actions) == 0:
		return b.orders.app.Warn("Nothing was fired or changed from here yet.")
	}
	if st := b.orders.Armament(); !st.Armed {
		return b.orders.app.Warn("Firing is not armed: press ! to arm it.")
	}
	var choices []shell.Choice
	for _, a := range slices.Backward(b.actions) {
		what := a.what + ", " + format.Span(b.orders.app.Now().Sub(a.at)) + " ago"
		if a.fired { // stands first, for it is possible where other clients go on writing
			choices = append(choices, shell.Choice{Name: "withdraw " + b.orders.name(a.key), What: what, Aside: "keeps others'",
				Value: model.TakeBack{Action: a.id, Key: a.key, Withdraw: true}})
		}
		choices = append(choices, shell.Choice{Name: "undo " + b.orders.name(a.key), What: what, Value: model.TakeBack{Action: a.id, Key: a.key}})
	}
	p := b.orders.app.NewPicker("take back", choices)
	p.Chosen = func(c shell.Choice) tea.Cmd {
		back := c.Value.(model.TakeBack)
		if b.orders.arming == nil {
			return b.takeBack(back)
		}
		b.confirmTakeBack(back, c.What)
		return nil
	}
	return b.orders.app.Open(p)
}

// confirmTakeBack shows the ticket for taking an action back.
func (b *takeBacks) confirmTakeBack(back model.TakeBack, what string) {
	verb, does := "undo", "every key gets what it held before, with its expiry; refused where another program has written meanwhile or since"
	if i := slices.IndexFunc(b.actions, func(a action) bool { return a.id == back.Action }); i >= 0 && b.actions[i].raise != nil {
		r := b.actions[i].raise
		does = model.Raise{From: r.To, To: r.From, Whose: r.Whose}.String() +
			"; what was counted since stays; refused where another program has set it since"
	}
	if back.Withdraw {
		verb, does = "withdraw", "what was charged and still counts is taken off; what other programs have written stays"
	}
	t := model.Ticket{Order: model.Order{Key: back.Key}, Issued: b.orders.app.Now(), Server: b.orders.keys.Live().Server.Target}
	d := &ticketDialog{o: b.orders, ticket: t, why: b.orders.Armament().Production, name: verb + " " + what, yes: "take back"}
	d.lines = [][2]string{{"will do", does}, {"id", back.Action}, {"server", safetext.Clean(t.Server)}}
	d.do = func(order model.Order) tea.Cmd {
		back.Named, back.Reason = order.Named, order.Reason
		return b.takeBack(back)
	}
	d.open()
}

// takeBack takes an action back that is checked and confirmed.
func (b *takeBacks) takeBack(back model.TakeBack) tea.Cmd {
	ctx, undo := b.orders.app.Context(), b.undo
	return func() tea.Msg {
		done, err := undo(ctx, back)
		return takenBackMsg{back, done, err}
	}
}

// takenBack shows the result of taking an action back, and removes the action from the list.
func (b *takeBacks) takenBack(msg takenBackMsg) {
	if msg.err != nil {
		b.orders.app.Warn(msg.err.Error())
		return
	}
	b.actions = slices.DeleteFunc(b.actions, func(a action) bool { return a.id == msg.order.Action })
	b.orders.app.Say(b.orders.name(msg.order.Key) + ": taken back, " + strings.Join(msg.done.Parts(), ", ") + ".")
}
