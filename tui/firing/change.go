package firing

import (
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

// usualBlock is how long a block from the screen lasts.
const usualBlock = 10 * time.Minute

// OpenChanges lists the changes that the selected key's library allows. If nothing may be written,
// choosing one copies the lines of redis-cli that make it.
func (o *Orders) OpenChanges() tea.Cmd {
	k := o.keys.Live().Key(o.keys.Selected())
	if k == nil {
		return o.app.Warn("There is no key yet.")
	}
	aside, copies := "", o.options.Change == nil || o.CanFire() != ""
	switch {
	case copies && o.options.Mask:
		return o.app.Warn("The lines would name the key in full, which --mask hides.")
	case copies && o.keys.Live().Server.Embedded:
		return o.app.Warn("The embedded Redis has no address for redis-cli.")
	case copies:
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
		return o.app.Warn("Nothing can be changed at " + o.name(k.Reading.Key) + ": " +
			possible(model.Change{Kind: model.Free}).Error() + ".")
	}
	return o.app.Choose(o.name(k.Reading.Key), choices, func(c shell.Choice) tea.Cmd {
		change := c.Value.(model.Change)
		if copies {
			return o.copyChange(change)
		}
		return o.fireThen(model.Order{Change: change}, o.launchChange)
	})
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

// copyChange puts the lines of redis-cli that make a change by hand on the clipboard.
func (o *Orders) copyChange(c model.Change) tea.Cmd {
	k := o.keys.Live().Key(o.keys.Selected())
	if k == nil {
		return nil
	}
	o.app.Say("Copied: the redis-cli lines for " + o.name(k.Reading.Key) + " (" + c.Title() + "). Read them before you run them.")
	return tea.SetClipboard(report.ChangeLines(&k.Reading, o.keys.Live().Server, c, o.keys.LiveAt()))
}

// launchChange makes a change that is checked and confirmed.
func (o *Orders) launchChange(order model.Order) tea.Cmd {
	ctx := o.app.Context()
	return func() tea.Msg {
		done, err := o.options.Change(ctx, order)
		return shell.Then(func() tea.Cmd { return o.changed(order, done, err) })
	}
}

// changed shows the result of a change.
func (o *Orders) changed(order model.Order, done model.Changed, err error) tea.Cmd {
	if err != nil {
		return o.app.Warn(err.Error())
	}
	what := order.Change.Title()
	o.did(action{id: done.Action, key: order.Key, what: what, raise: done.Raise})
	switch {
	case done.Raise != nil:
		what = "changed " + done.Raise.String()
	case order.Change.Kind == model.Give:
		what = fmt.Sprintf("gave %s", format.Plural(int(done.Units), "unit"))
	case len(done.Removed)+len(done.Written) == 0:
		what += ", and there was nothing to remove"
	}
	undo := " · U takes it back"
	if o.options.TakeBack == nil {
		undo = " · ratescope undo " + done.Action + " takes it back"
	}
	if len(done.Unsaved) > 0 {
		undo = " · this cannot be undone: " + strings.Join(done.Unsaved, "; ")
	}
	return o.app.Say(o.name(order.Key) + ": " + what + undo + ".")
}

// action is an order of requests or a change that was carried out from here.
type action struct {
	id, key, what string
	fired         bool         // requests, which can also be withdrawn
	raise         *model.Raise // of a limit that Redis keeps; nil for the rest
	at            time.Time
}

// mostActions bounds the actions that can be taken back from the screen; ratescope undo knows all of
// them.
const mostActions = 50

// did adds an action that can be taken back.
func (o *Orders) did(a action) {
	if a.id == "" {
		return
	}
	a.at = o.app.Now()
	o.actions = append(o.actions, a)
	o.actions = slices.Delete(o.actions, 0, max(len(o.actions)-mostActions, 0))
}

// ended keeps an order that is over as an action.
func (o *Orders) ended(r *runningOrder, tally model.Outcomes) {
	if tally.Total() == 0 {
		return
	}
	o.did(action{id: r.audit, key: r.at, fired: true,
		what: fmt.Sprintf("%s: %d admitted, %d denied", format.Plural(tally.Total(), "request"), tally.Admitted, tally.Denied)})
}

// OpenActions lists the actions that can be taken back, the newest first.
func (o *Orders) OpenActions() tea.Cmd {
	switch {
	case o.options.TakeBack == nil:
		return o.app.Warn("Nothing can be taken back at this source.")
	case len(o.actions) == 0:
		return o.app.Warn("Nothing was fired or changed from here yet.")
	}
	if st := o.Armament(); !st.Armed {
		return o.app.Warn("Firing is not armed: press ! to arm it.")
	}
	var choices []shell.Choice
	for _, a := range slices.Backward(o.actions) {
		what := a.what + ", " + format.Span(o.app.Now().Sub(a.at)) + " ago"
		if a.fired { // stands first, for it is possible where other clients go on writing
			choices = append(choices, shell.Choice{Name: "withdraw " + o.name(a.key), What: what, Aside: "keeps others'",
				Value: model.TakeBack{Action: a.id, Key: a.key, Withdraw: true}})
		}
		choices = append(choices, shell.Choice{Name: "undo " + o.name(a.key), What: what, Value: model.TakeBack{Action: a.id, Key: a.key}})
	}
	return o.app.Choose("take back", choices, func(c shell.Choice) tea.Cmd {
		back := c.Value.(model.TakeBack)
		if o.arming == nil {
			return o.takeBack(back)
		}
		return o.confirmTakeBack(back, c.What)
	})
}

// confirmTakeBack shows the ticket for taking an action back.
func (o *Orders) confirmTakeBack(back model.TakeBack, what string) tea.Cmd {
	verb, does := "undo",
		"every key gets what it held before, with its expiry; refused where another program has written meanwhile or since"
	if i := slices.IndexFunc(o.actions, func(a action) bool { return a.id == back.Action }); i >= 0 && o.actions[i].raise != nil {
		r := o.actions[i].raise
		does = model.Raise{From: r.To, To: r.From, Whose: r.Whose}.String() +
			"; what was counted since stays; refused where another program has set it since"
	}
	if back.Withdraw {
		verb, does = "withdraw", "what was charged and still counts is taken off; what other programs have written stays"
	}
	t := model.Ticket{Order: model.Order{Key: back.Key}, Issued: o.app.Now(), Server: o.keys.Live().Server.Target}
	d := &ticketDialog{o: o, ticket: t, why: o.Armament().Production, name: verb + " " + what, yes: "take back"}
	d.lines = [][2]string{{"will do", does}, {"id", back.Action}, {"server", safetext.Clean(t.Server)}}
	d.do = func(order model.Order) tea.Cmd {
		back.Named, back.Reason = order.Named, order.Reason
		return o.takeBack(back)
	}
	return d.open()
}

// takeBack takes an action back that is checked and confirmed, and removes it from the list.
func (o *Orders) takeBack(back model.TakeBack) tea.Cmd {
	ctx := o.app.Context()
	return func() tea.Msg {
		done, err := o.options.TakeBack(ctx, back)
		return shell.Then(func() tea.Cmd {
			if err != nil {
				return o.app.Warn(err.Error())
			}
			o.actions = slices.DeleteFunc(o.actions, func(a action) bool { return a.id == back.Action })
			return o.app.Say(o.name(back.Key) + ": taken back, " + strings.Join(done.Parts(), ", ") + ".")
		})
	}
}
