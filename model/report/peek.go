package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Peek is what would happen to one request of cost 1 now.
type Peek struct {
	Key
	Allowed *bool `json:"allowed"` // null when the limit is not known

	asNew time.Duration
}

// PeekOf works r out at the given instant.
func PeekOf(r *model.Reading, at limiter.Instant, o Options) Peek {
	p := Peek{Key: KeyOf(r, at, o), asNew: r.Gauge(at).Reset}
	if p.Next != nil {
		p.Allowed = known(*p.Next == 0)
	}
	return p
}

// JSON prints p as one object.
func (p Peek) JSON(w io.Writer) error { return writeJSON(w, p) }

// Text prints p in a few lines for people, the verdict first.
func (p Peek) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.Key.Key.clean(), p.verdict())
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("limit", "%s", p.limit())
	if p.Used != nil {
		room := ""
		if p.Remaining != nil {
			room = ", room for " + number(p.Remaining)
		}
		line("used", "%s%s", number(p.Used), room)
	}
	if p.Previous != nil && p.Current != nil && p.Weight != nil && p.Estimate != nil {
		line("estimate", "%d × %.2f + %d = %.4g", p.Previous.Count, *p.Weight, p.Current.Count, *p.Estimate)
	}
	if p.Exact != nil {
		line("exact", "%d", *p.Exact)
	}
	if p.Next != nil {
		line("next slot", "%s", wait(p.Next, "now", "never"))
		line("as new", "%s", wait(known(millis(p.asNew)), "now", "never"))
	}
	if len(p.Notes) > 0 {
		line("notes", "%s", p.notes())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p Peek) verdict() string {
	switch {
	case p.Allowed == nil && p.Algorithm == nil:
		return "whether a request would be admitted is not known, because the algorithm is not"
	case p.Allowed == nil:
		return "whether a request would be admitted is not known, because the limit is not"
	case *p.Limit == 0:
		return "a request would be admitted now, because nothing is limited: this key only counts"
	case *p.Allowed:
		return fmt.Sprintf("a request would be admitted now: %s of %d used", number(p.Used), *p.Limit)
	case *p.Next < 0:
		return fmt.Sprintf("a request would be denied, and no waiting helps: one costs more than the limit of %d", *p.Limit)
	}
	return fmt.Sprintf("a request would be denied now: %s of %d used, the next slot frees in %s",
		number(p.Used), *p.Limit, wait(p.Next, "no time", "never"))
}

func (p Peek) limit() string {
	var b strings.Builder
	if p.Limit != nil && *p.Limit == 0 {
		b.WriteString("none, counted")
	} else {
		b.WriteString(number(p.Limit))
	}
	if p.Window != nil {
		b.WriteString(" in " + each(*p.Window))
	}
	algorithm := "algorithm unknown"
	if p.Algorithm != nil {
		algorithm = *p.Algorithm
	}
	if p.Type == "none" {
		return fmt.Sprintf("%s, %s, not on the server yet", b.String(), algorithm)
	}
	return fmt.Sprintf("%s, %s, kept in a %s", b.String(), algorithm, p.Type.clean())
}
