package firing

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/rediscli"
	"ratescope/tui/shell"
)

// Changer changes keys: it frees them, gives units back, and blocks them. It decides which changes
// are allowed, and writes every change to the audit file first.
type Changer interface {
	Change(ctx context.Context, s model.Order) (model.Changed, error)
}

// changes makes changes of keys.
type changes struct {
	orders  *Orders
	changer Changer // nil: keys cannot be changed
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
		o.app.Warn("There is no key yet.")
		return nil
	}
	copies := cs.changer == nil || o.CanFire() != ""
	aside := ""
	if copies {
		if why := cs.cannotCopy(); why != "" {
			o.app.Warn(why)
			return nil
		}
		aside = "copies redis-cli"
	}
	possible := func(c model.Change) error { _, err := k.Reading.AimChange(c); return err }
	if copies {
		possible = func(c model.Change) error {
			return rediscli.Can(&k.Reading, o.keys.Live().Server, c, o.keys.LiveAt())
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
		o.app.Warn("Nothing can be changed at " + o.name(k.Reading.Key) + ": " + possible(model.Change{Kind: model.Free}).Error() + ".")
		return nil
	}
	p := o.app.NewPicker(o.name(k.Reading.Key), choices)
	p.Chosen = func(c shell.Choice) tea.Cmd {
		change := c.Value.(model.Change)
		if copies {
			return cs.copyChange(change)
		}
		return o.fireThen(model.Order{Change: change}, cs.launchChange)
	}
	o.app.Open(p)
	return nil
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
	return tea.SetClipboard(rediscli.For(&k.Reading, o.keys.Live().Server, c, o.keys.LiveAt()))
}

// launchChange makes a change that is checked and confirmed.
func (cs *changes) launchChange(order model.Order) tea.Cmd {
	o := cs.orders
	ctx, changer := o.app.Context(), cs.changer
	return func() tea.Msg {
		done, err := changer.Change(ctx, order)
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
	if o.taker == nil {
		undo = " · ratescope undo " + msg.done.Action + " takes it back"
	}
	if len(msg.done.Unsaved) > 0 {
		undo = " · this cannot be undone: " + strings.Join(msg.done.Unsaved, "; ")
	}
	o.app.Say(o.name(msg.order.Key) + ": " + what + undo + ".")
}
