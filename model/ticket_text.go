package model

import (
	"fmt"
	"strings"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// Nothing returns the start of the sentence that says why an order is not carried out.
func (s *Order) Nothing() string {
	if s.Change.Kind != NoChange {
		return "nothing is changed"
	}
	return "nothing is fired"
}

// Title returns what a change does to a key, in a few words.
func (c Change) Title() string {
	switch c.Kind {
	case Give:
		return fmt.Sprintf("give %d more", c.Units)
	case Free:
		return "free now"
	case Block:
		return "block for " + format.Span(c.For)
	}
	return "unblock"
}

// Title returns what an order does, without its key.
func (s *Order) Title() string {
	if s.Change.Kind != NoChange {
		return s.Change.Title()
	}
	what := "fire " + format.Plural(s.N, "request")
	switch {
	case s.N == 0:
		what = "fire " + format.PerSecond(s.Rate) + " until stopped"
	case s.Rate > 0:
		what += " at " + format.PerSecond(s.Rate)
	}
	if s.Shape.Kind != Even {
		what += ", " + s.Shape.String()
	}
	if s.Scratch {
		what += ", at a scratch copy"
	}
	if s.Cost > 1 {
		what += fmt.Sprintf(", cost %d each", s.Cost)
	}
	return what
}

// Words returns what a ticket says, each a word and a clause; name writes a key as the terminal may show it.
// waits stands for the commands as long as they are not known, and is "" then.
func (t *Ticket) Words(name func(key string) string, waits string) [][2]string {
	keys, commands := collect.Map(t.Keys, name), make([]string, len(t.Commands))
	for i, c := range t.Commands {
		if shown := name(t.Order.Key); shown != safetext.Clean(t.Order.Key) { // its middle is hidden
			c = strings.ReplaceAll(c, t.Order.Key, shown)
		}
		commands[i] = safetext.Clean(c)
	}
	sends := strings.Join(commands, "; ")
	switch {
	case waits != "":
		sends = waits
	case sends == "" && t.Order.Change.Kind == NoChange:
		sends = "nothing: a request would be denied now, and is not written"
	}
	way := [][2]string{{"path", t.Path + " to " + safetext.Clean(t.Server)}, {"sends", sends}, {"writes", strings.Join(keys, ", ")}}
	if t.Order.Change.Kind != NoChange {
		return t.changeWords(way)
	}
	lines := append(t.fate(), way...)
	slot := fmt.Sprint(t.Slot)
	if t.InSlot >= 0 {
		slot += ", with " + format.Plural(t.InSlot, "other watched key")
	}
	return append(lines, [2]string{"slot", slot}, [2]string{"server", t.At.Time().UTC().Format("2006-01-02 15:04:05.000 UTC")})
}

// fate returns the lines about what becomes of the requests, and of those of others.
func (t *Ticket) fate() [][2]string {
	fate := "not known"
	if f := t.Forecast; f.Known {
		fate = fmt.Sprintf("%d admitted, %d denied", f.Admitted, f.Denied)
		if f.Admitted > 0 {
			fate += ", " + format.Short(f.Remaining) + " left"
		}
	}
	if t.Order.N == 0 {
		fate = "in its first minute " + fate
	}
	last := "denied ones repeated, the last is admitted after " + format.Wait(t.LastIn)
	switch {
	case t.LastIn == limiter.Never:
		last = "the denied ones are never admitted"
	case t.LastIn == 0:
		last = "all are admitted at once"
	}
	others := "not watched for a whole window: not known"
	if at := t.Organic; at.Known {
		others = fmt.Sprintf("lose %d of their admissions, at %s now", at.Lost, format.PerSecond(at.PerSecond))
	}
	return [][2]string{{"will do", fate}, {"", last + " · the key is as new in " + format.Wait(t.AsNew)}, {"others", others}}
}

// changeWords returns the lines of the ticket of a change; way says how it reaches the key.
func (t *Ticket) changeWords(way [][2]string) (lines [][2]string) {
	undo := "ratescope undo, until another program has written"
	if t.Raise != nil {
		lines = append(lines, [2]string{"changes", t.Raise.String() + ", until its application sets it anew"})
		undo = "ratescope undo, until another program has set the limit; what is counted stays"
	}
	lines = append(append(lines, [2]string{"now", t.Was.String()}, [2]string{"then", t.Will.String()}), way...)
	lines = append(lines, [2]string{"undo", undo})
	if t.Unheeded {
		lines = append(lines, [2]string{"obeyed", "only by a limiter that was made with a Block; this key was never seen blocked"})
	}
	return lines
}

// String describes the state of a key as a clause.
func (s Standing) String() string {
	if !s.Known {
		return "not known"
	}
	text := fmt.Sprintf("%s used, room for %s", format.Short(s.Used), format.Short(s.Remaining))
	if s.Next > 0 {
		text += ", next admission in " + format.Wait(s.Next)
	}
	if s.AsNew > 0 {
		text += ", as new in " + format.Wait(s.AsNew)
	}
	if s.Blocked > 0 {
		text += ", blocked for " + format.Span(s.Blocked)
	}
	return text
}

// Parts returns what was done to take an action back, as clauses.
func (t *TakenBack) Parts() (parts []string) {
	for _, p := range []struct {
		n    int
		what string
	}{{len(t.Restored), "as before"}, {len(t.Removed), "removed"}, {len(t.Expired), "expired already"}} {
		if p.n > 0 {
			parts = append(parts, format.Plural(p.n, "key")+" "+p.what)
		}
	}
	if t.Lowered != nil {
		parts = append(parts, t.Lowered.String()+", and what was counted since stays")
	}
	if t.Withdrawn {
		parts = append(parts, format.Plural(int(t.Units), "unit")+" taken off")
	}
	if n := len(t.Open); n == 1 {
		parts = append(parts, "whether "+t.Open[0]+" was counted is not known: look at the key with ratescope peek")
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("whether %d more were counted, from %s to %s, is not known: look at the key with ratescope peek",
			n, t.Open[0], t.Open[n-1]))
	}
	if len(parts) == 0 {
		parts = []string{"no key had changed"}
	}
	return parts
}
