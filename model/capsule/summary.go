package capsule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/report"
)

// Bounds of the summary: it is to be read.
const (
	mostKeys   = 20
	mostEvents = 60
	mostAlerts = 40
)

// summary returns the capsule in Markdown.
func (c *Content) summary(s report.Snapshot) []byte {
	var b strings.Builder
	server, end := &c.Board.Server, c.Board.At
	t := c.Board.Totals()
	fmt.Fprintf(&b, "# Rate limits on %s\n\n", report.CodeSpan(server.Target))
	fmt.Fprintf(&b, "From %s to %s, %s, by the server's clock. Made by %s.\n\n", moment(c.Begin), moment(end), format.Elapsed(end.Sub(c.Begin)), report.PlainMarkdown(c.By))
	if c.Cut {
		b.WriteString("What came before that is left out: it was more than is kept in memory, and \"ratescope record\" keeps all of it.\n\n")
	}
	fmt.Fprintf(&b, "At the end **%d of %d keys denied requests**, %d were near their limit", t.Throttled, t.Keys, t.Near)
	if t.Broken > 0 {
		fmt.Fprintf(&b, ", %d could not be read", t.Broken)
	}
	b.WriteString(".\n")
	if server.Err != "" {
		fmt.Fprintf(&b, "\nThe server was away: %s\n", report.PlainMarkdown(server.Err))
	}
	if !c.Board.Sweep.Complete() {
		b.WriteString("\nNot every key of the server had been looked at: there may be more.\n")
	}
	if c.SVG != "" {
		fmt.Fprintf(&b, "\n![The dashboard at the end](%s)\n", pictureName)
	}
	c.keys(&b, s)
	c.happened(&b)
	c.health(&b)
	if n := strings.Count(string(c.Audit), "\n"); n > 0 {
		fmt.Fprintf(&b, "\n## Fired from here\n\n%d audit lines of this time are in audit.jsonl. In the recording the requests are marked.\n", n)
	}
	if c.Text != "" {
		fmt.Fprintf(&b, "\n## The picture as text\n\n````text\n%s\n````\n", strings.TrimRight(c.Text, "\n"))
	}
	b.WriteString("\n## To look further\n\n    ratescope replay FILE    # the same screens again: pause, go back\n    ratescope lab FILE       # what another algorithm would have done\n\nFILE is the capsule itself.\n")
	return []byte(b.String())
}

// keys lists the fullest keys.
func (c *Content) keys(b *strings.Builder, s report.Snapshot) {
	full := slices.DeleteFunc(slices.Clone(s.Keys), func(k report.Key) bool { return k.Utilization == nil || k.Evidence == model.Likely.String() })
	slices.SortStableFunc(full, func(x, y report.Key) int { return cmp.Compare(*y.Utilization, *x.Utilization) })
	b.WriteString("\n## The fullest keys\n\n")
	if len(full) == 0 {
		b.WriteString("No key with a known limit was there.\n")
		return
	}
	b.WriteString("| key | algorithm | used | limit | full | next admission |\n|---|---|---|---|---|---|\n")
	for _, k := range full[:min(len(full), mostKeys)] {
		r := k.Row()
		fmt.Fprintf(b, "| %s | %s | %s | %s in %s | %s | %s |\n", report.CodeSpan(string(k.Key)), r[1], r[2], r[3], r[4], r[5], r[7])
	}
	if more := len(full) - mostKeys; more > 0 {
		fmt.Fprintf(b, "\n%d more are in keys.json.\n", more)
	}
}

// happened lists the events and the alerts.
func (c *Content) happened(b *strings.Builder) {
	b.WriteString("\n## What happened\n\n")
	if len(c.Events) == 0 {
		b.WriteString("Nothing: no key came close to its limit.\n")
	}
	for _, e := range c.Events[max(0, len(c.Events)-mostEvents):] {
		subject := ""
		if e.Key != "" {
			subject = report.CodeSpan(string(e.Key)) + " "
		}
		fmt.Fprintf(b, "- %s %s%s\n", clock(e.At), subject, report.PlainMarkdown(e.Text))
	}
	if more := len(c.Events) - mostEvents; more > 0 {
		fmt.Fprintf(b, "\n%d earlier ones are in events.jsonl.\n", more)
	}
	if len(c.Alerts) == 0 {
		return
	}
	b.WriteString("\n## Alerts\n\n")
	for _, a := range c.Alerts[max(0, len(c.Alerts)-mostAlerts):] {
		fmt.Fprintf(b, "- %s **%s** (%s) %s\n", clock(limiter.Instant(a.At*1000)), a.State, report.PlainMarkdown(a.Severity), report.PlainMarkdown(string(a.Text)))
	}
}

// health says how the server did.
func (c *Content) health(b *strings.Builder) {
	h, s := &c.Board.Health, &c.Board.Server
	b.WriteString("\n## Redis\n\n")
	if s.Version != "" {
		fmt.Fprintf(b, "- version %s, %s\n", report.PlainMarkdown(s.Version), report.PlainMarkdown(cmp.Or(s.Role, "role unknown")))
	}
	if s.RTT > 0 {
		fmt.Fprintf(b, "- round trip %s, its clock %s from this machine's\n", format.Latency(s.RTT), format.Signed(s.Offset))
	}
	for _, m := range []struct {
		format string
		model.Measure
	}{{"- %.0f commands a second\n", h.Ops}, {"- %.2f cores of CPU\n", h.CPU}, {"- %.0f bytes of memory\n", h.MemoryUsed}, {"- %.1f keys a second evicted\n", h.Evicted}} {
		if m.Known {
			fmt.Fprintf(b, m.format, m.V)
		}
	}
	for _, e := range h.Errors {
		fmt.Fprintf(b, "- %s: %d times, %.1f a second at the end\n", report.CodeSpan(e.Name), e.Total, e.Rate)
	}
	for _, concern := range c.Concerns {
		fmt.Fprintf(b, "- **%s**\n", report.PlainMarkdown(concern))
	}
	for _, missing := range h.Missing {
		fmt.Fprintf(b, "- not known: %s\n", report.PlainMarkdown(missing))
	}
}

func moment(at limiter.Instant) string { return at.Time().UTC().Format("2006-01-02 15:04:05 UTC") }

func clock(at limiter.Instant) string { return at.Time().UTC().Format("15:04:05.000") }
