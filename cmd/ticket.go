package cmd

import (
	"fmt"
	"io"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
)

// ticketAccount is what an order to fire will do, before it does it. Waits are in milliseconds, -1 is
// never and null not known.
type ticketAccount struct {
	At        int64         `json:"at_ms"` // of the server's clock
	Path      string        `json:"path"`
	Server    report.Text   `json:"server"`
	Admitted  *int          `json:"admitted"`
	Denied    *int          `json:"denied"`
	LastIn    *int64        `json:"last_in_ms"` // until all are in, if the denied ones came again
	AsNew     *int64        `json:"as_new_ms"`
	PerSecond *float64      `json:"others_per_s"`
	Displaced *int64        `json:"others_lose"` // admissions of others, until the key is as new
	Slot      int           `json:"slot"`
	Keys      []report.Text `json:"keys"`
	Commands  []report.Text `json:"commands"`
	Concerns  []string      `json:"production,omitempty"` // why the server counts as one of production
}

// Issue enters the ticket of the order; words are its lines of text.
func (f *fireAccount) Issue(t model.Ticket, concerns, words []string, o report.Options) {
	l := &ticketAccount{At: t.At.Millis(), Path: t.Path, Server: report.Text(t.Server), Slot: t.Slot, Keys: o.List(t.Keys),
		Commands: commandsOf(&t, o), Concerns: concerns}
	if t.Forecast.Known {
		l.Admitted, l.Denied = &t.Forecast.Admitted, &t.Forecast.Denied
		l.LastIn, l.AsNew = new(report.Millis(t.LastIn)), new(report.Millis(t.AsNew))
	}
	if t.Organic.Known {
		l.PerSecond, l.Displaced = &t.Organic.PerSecond, &t.Organic.Lost
	}
	f.Ticket, f.words = l, words
}

// commandsOf returns the commands of a ticket.
func commandsOf(t *model.Ticket, o report.Options) []report.Text {
	list := make([]report.Text, len(t.Commands))
	for i, c := range t.Commands {
		if o.Mask {
			c = strings.ReplaceAll(c, t.Order.Key, string(o.Name(t.Order.Key)))
		}
		list[i] = report.Text(c)
	}
	return list
}

// fireOutcome compares the forecast with what happened.
type fireOutcome struct {
	Right    *bool  `json:"forecast_right"` // null without a forecast, or where not all was sent and decided
	Units    *int64 `json:"residue_units"`  // that this order charged and that still count; null where a script does not say
	Until    *int64 `json:"residue_until_ms"`
	Admitted int    `json:"admitted"`
	Denied   int    `json:"denied"`
}

// compare works out the comparison once all is answered.
func (f *fireAccount) compare() {
	if f.Ticket == nil || f.Outcome != nil {
		return
	}
	s := f.Summary
	o := &fireOutcome{Admitted: s.Admitted, Denied: s.Denied}
	if !f.untold {
		o.Units = &f.units
	}
	if f.until != 0 {
		o.Until = new(f.until.Millis())
	}
	if l := f.Ticket; l.Admitted != nil && s.Error+s.Unknown == 0 && s.Admitted+s.Denied == *l.Admitted+*l.Denied {
		right := s.Admitted == *l.Admitted
		o.Right = &right
	}
	f.Outcome = o
}

// charge notes what an admitted request leaves behind.
func (f *fireAccount) charge(a model.Fired) {
	if a.Outcome != model.Admitted {
		return
	}
	if a.Answer != nil {
		f.untold = true
		return
	}
	f.units += a.Cost
	if reset := a.Decision.ResetAfter; reset > 0 && reset != limiter.Never {
		f.until = max(f.until, a.At.Add(reset))
	}
}

// verdict is the comparison in words; "" without one.
func (f *fireAccount) verdict() string {
	o := f.Outcome
	switch {
	case o == nil || o.Right == nil:
		return ""
	case *o.Right:
		return "as forecast"
	}
	return fmt.Sprintf("the forecast was %d admitted and %d denied", *f.Ticket.Admitted, *f.Ticket.Denied)
}

// Markdown prints the report of an order: what was forecast, what happened, and what is left.
func (f *fireAccount) Markdown(w io.Writer) error {
	f.finish()
	var b strings.Builder
	quoted := func(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }
	fmt.Fprintf(&b, "# Fired at %s\n\n", quoted(f.Key.Clean()))
	if f.Summary.ID != "" {
		fmt.Fprintf(&b, "Audit id %s.", quoted(f.Summary.ID))
		if f.URL == "" {
			fmt.Fprintf(&b, " `ratescope undo %s` takes it back.", f.Summary.ID)
		}
		b.WriteString("\n\n")
	}
	if f.Ticket != nil {
		b.WriteString("## Before\n\n")
		for _, l := range f.words {
			fmt.Fprintf(&b, "- %s\n", strings.Join(strings.Fields(l), " "))
		}
		b.WriteString("\n")
	}
	s := f.Summary
	b.WriteString("## What happened\n\n| | admitted | denied | error | unknown |\n|---|---|---|---|---|\n")
	if l := f.Ticket; l != nil && l.Admitted != nil {
		fmt.Fprintf(&b, "| forecast | %d | %d | | |\n", *l.Admitted, *l.Denied)
	}
	fmt.Fprintf(&b, "| fired | %d | %d | %d | %d |\n\n", s.Admitted, s.Denied, s.Error, s.Unknown)
	if v := f.verdict(); v != "" {
		fmt.Fprintf(&b, "%s%s.\n\n", strings.ToUpper(v[:1]), v[1:])
	}
	if l := f.Latency; l != nil {
		fmt.Fprintf(&b, "Latency in ms: p50 %s, p90 %s, p99 %s, max %s.\n\n", inMillis(l.P50), inMillis(l.P90), inMillis(l.P99), inMillis(l.Max))
	}
	if o := f.Outcome; o != nil {
		left := "what the script charged, which is not known"
		if o.Units != nil {
			left = fmt.Sprintf("%d units", *o.Units)
		}
		fmt.Fprintf(&b, "Left behind: %s", left)
		if o.Until != nil {
			fmt.Fprintf(&b, ", gone by %s", report.Instant(*o.Until))
		}
		b.WriteString(".\n\n")
	}
	for _, l := range f.Findings {
		fmt.Fprintf(&b, "- %s: %s\n", l.Header, report.Text(l.What).Clean())
	}
	b.WriteString("\n## Each request\n\n| n | at | outcome | remaining | retry after | ms |\n|---|---|---|---|---|---|\n")
	for i, r := range f.Requests {
		remaining := "–"
		if r.Remaining != nil {
			remaining = fmt.Sprint(*r.Remaining)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s |\n", i+1, clock(r.At), r.Outcome, remaining, report.Wait(r.RetryAfter, "–", "never"), inMillis(r.Latency))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
