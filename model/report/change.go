package report

import (
	"fmt"
	"io"
	"strings"

	"ratescope/model"
	"ratescope/model/plural"
)

// Change is what was done to one key instead of firing requests at it.
type Change struct {
	ID       string    `json:"id"` // of the action in the audit file, which undo takes; "" where nothing was written
	Key      Text      `json:"key"`
	Change   string    `json:"change"`
	At       int64     `json:"at_ms"` // of the server's clock, of the forecast
	Before   *Standing `json:"before"`
	Forecast *Standing `json:"forecast"` // how it stands afterwards, if no other client sends a request
	Commands []Text    `json:"commands"`
	Notes    []string  `json:"notes"`
	Units    *int64    `json:"units,omitempty"` // given
	Limit    string    `json:"limit,omitempty"` // what is changed of a limit that its library keeps in Redis
	Removed  []Text    `json:"removed"`
	Written  []Text    `json:"written"`

	server Text
	names  Options
}

// Standing is how a key stands at one instant. Waits are in milliseconds, -1 is never.
type Standing struct {
	Used      int64  `json:"used"`
	Remaining int64  `json:"remaining"`
	Next      *int64 `json:"next_admission_ms"`
	AsNew     *int64 `json:"as_new_ms"`
	Blocked   int64  `json:"blocked_ms"`
}

// ChangeOf is the account of a change that is about to be made, by its ticket; notes are sentences
// about it.
func ChangeOf(t model.Ticket, notes []string, o Options) *Change {
	c := &Change{
		Key: o.name(t.Order.Key), Change: t.Order.Change.String(), At: t.At.Millis(), Before: standing(t.Was), Forecast: standing(t.Will),
		Commands: []Text{}, Notes: append([]string{}, notes...), Removed: []Text{}, Written: []Text{}, server: Text(t.Server), names: o,
	}
	if t.Raise != nil {
		c.Limit = t.Raise.String()
	}
	for _, line := range t.Commands {
		if o.Mask {
			line = strings.ReplaceAll(line, t.Order.Key, string(o.name(t.Order.Key)))
		}
		c.Commands = append(c.Commands, Text(line))
	}
	return c
}

func standing(s model.Standing) *Standing {
	if !s.Known {
		return nil
	}
	return &Standing{s.Used, s.Remaining, known(millis(s.Next)), known(millis(s.AsNew)), s.Blocked.Milliseconds()}
}

// Lines are the ticket as lines of text.
func (c *Change) Lines() []string {
	texts := make([]string, len(c.Commands))
	for i, t := range c.Commands {
		texts[i] = t.clean()
	}
	lines := []string{
		c.Change + " " + c.Key.clean() + " at " + c.server.clean(),
		"now      " + c.Before.words(),
		"then     " + c.Forecast.words(),
		"sends    " + strings.Join(texts, "; "),
	}
	if c.Limit != "" {
		lines = append(lines, "changes  "+c.Limit+", until its application sets it anew")
	}
	for _, n := range c.Notes {
		lines = append(lines, "note     "+n)
	}
	return lines
}

// words are a standing as a clause.
func (s *Standing) words() string {
	if s == nil {
		return "not known"
	}
	text := fmt.Sprintf("%d used, room for %d, next admission in %s, as new in %s", s.Used, s.Remaining, wait(s.Next, "no time", "never"), wait(s.AsNew, "no time", "never"))
	if s.Blocked > 0 {
		text += fmt.Sprintf(", blocked for %s", wait(&s.Blocked, "0 ms", "never"))
	}
	return text
}

// Done enters what came of the change.
func (c *Change) Done(d model.Changed) {
	c.ID = d.Action
	for _, k := range d.Removed {
		c.Removed = append(c.Removed, c.names.name(k))
	}
	for _, k := range d.Written {
		c.Written = append(c.Written, c.names.name(k))
	}
	if strings.HasPrefix(c.Change, "give") {
		c.Units = &d.Units
	}
	for _, why := range d.Unsaved {
		c.Notes = append(c.Notes, "this cannot be undone, what it removed was not saved: "+why)
	}
}

// JSON prints c as one object.
func (c *Change) JSON(w io.Writer) error { return writeJSON(w, c) }

// Text prints c as one line.
func (c *Change) Text(w io.Writer) error {
	what := plural.Of(len(c.Removed), "key") + " removed"
	switch {
	case c.Limit != "":
		what = c.Limit
	case c.Units != nil:
		what = plural.Of(int(*c.Units), "unit") + " given"
	case len(c.Written) > 0:
		what = "blocked until " + instant(c.At+c.Forecast.blocked())
	case len(c.Removed) == 0:
		what = "there was nothing to remove"
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s · id %s\n", c.Key.clean(), c.Change, what, c.ID)
	return err
}

func (s *Standing) blocked() int64 {
	if s == nil {
		return 0
	}
	return s.Blocked
}
