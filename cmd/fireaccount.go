package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// fireAccount is what became of the requests fired at one key.
type fireAccount struct {
	Key      report.Text     `json:"key"`              // of requests to an application without a key, the URL
	URL      report.Text     `json:"url,omitempty"`    // without its password and the values of its query
	Method   report.Text     `json:"method,omitempty"` // of requests to an application
	Ticket   *ticketAccount  `json:"ticket,omitempty"` // what was foretold
	Requests []firedRequest  `json:"requests"`         // in the order in which their answers came
	Findings []headerFinding `json:"findings,omitzero"`
	Summary  fireSummary     `json:"summary"`
	Latency  *latencies      `json:"latency_us,omitempty"` // of what was answered
	Outcome  *fireOutcome    `json:"outcome,omitempty"`    // the forecast beside what happened, and what is left

	Words    []string `json:"-"` // the ticket as lines of text
	fired    []model.Fired
	outcomes model.Outcomes
}

// headerFinding is where a header of an application did not say what then happened. Said and True are
// null where there is no such wait.
type headerFinding struct {
	Header string `json:"header"`
	Said   *int64 `json:"said_ms"`
	True   *int64 `json:"true_ms"`
	What   string `json:"what"`
}

// firedRequest is the fate of one of them. Remaining and RetryAfter are null unless the
// limiter decided; RetryAfter is 0 when it was admitted and -1 when no wait helps.
type firedRequest struct {
	At         int64  `json:"at_ms"`
	Cost       int64  `json:"cost"`
	Outcome    string `json:"outcome"` // admitted, denied, error or unknown
	Remaining  *int64 `json:"remaining"`
	RetryAfter *int64 `json:"retry_after_ms"`
	Latency    int64  `json:"latency_us"`
	Status     int    `json:"status,omitempty"` // of HTTP

	err string
}

// fireSummary counts the outcomes. What failed and what was never answered are apart
// from what the limiter decided.
type fireSummary struct {
	ID       string `json:"id"` // of the action in the audit file, which undo takes; "" where nothing was sent
	Admitted int    `json:"admitted"`
	Denied   int    `json:"denied"`
	Error    int    `json:"error"`
	Unknown  int    `json:"unknown"`
}

// latencies are percentiles of how long answers took, in microseconds.
type latencies struct {
	P50 int64 `json:"p50"`
	P90 int64 `json:"p90"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func newFireAccount(key string, o report.Options) *fireAccount {
	return &fireAccount{Key: o.Name(key), Requests: []firedRequest{}}
}

// Found enters what the answers of an application did not say as it was, and returns it as lines
// of text.
func (f *fireAccount) Found(list []model.Finding) (lines []string) {
	wait := func(w model.Wait) *int64 { return collect.Known(w.Known, report.Millis(w.D)) }
	for _, l := range list {
		f.Findings = append(f.Findings, headerFinding{Header: l.Header, Said: wait(l.Said), True: wait(l.True), What: l.What})
		lines = append(lines, "finding: "+l.Header+": "+l.What)
	}
	return lines
}

// finish works out the percentiles, how right the forecast was, and what is left of the requests.
func (f *fireAccount) finish() {
	var took []int64 // by those that were answered
	units, untold, until := int64(0), false, limiter.Instant(0)
	for _, a := range f.fired {
		if a.Outcome == model.Admitted || a.Outcome == model.Denied {
			took = append(took, a.Latency.Microseconds())
		}
		switch reset := a.Decision.ResetAfter; {
		case a.Outcome != model.Admitted:
		case a.Answer != nil: // which does not say how many units were charged
			untold = true
		default:
			if units += a.Cost; reset > 0 && reset != limiter.Never {
				until = max(until, a.At.Add(reset))
			}
		}
	}
	if s, l := f.Summary, f.Ticket; l != nil {
		f.Outcome = &fireOutcome{Admitted: s.Admitted, Denied: s.Denied, Units: collect.Known(!untold, units),
			Until: collect.Known(until != 0, until.Millis())}
		if l.Admitted != nil && s.Error+s.Unknown == 0 && s.Admitted+s.Denied == *l.Admitted+*l.Denied {
			f.Outcome.Right = new(s.Admitted == *l.Admitted)
		}
	}
	if slices.Sort(took); len(took) > 0 {
		at := func(percent int) int64 { return took[(len(took)*percent+99)/100-1] }
		f.Latency = &latencies{P50: at(50), P90: at(90), P99: at(99), Max: took[len(took)-1]}
	}
}

// Add enters one answer and returns it as a line of text without its end.
func (f *fireAccount) Add(a model.Fired) string {
	r := firedRequest{At: a.At.Millis(), Cost: a.Cost, Outcome: a.Outcome.String(), Latency: a.Latency.Microseconds(), err: a.Err}
	if a.Outcome == model.Admitted || a.Outcome == model.Denied {
		r.RetryAfter = new(report.Millis(a.Decision.RetryAfter))
		r.Remaining = collect.Known(a.Decision.Limit.Count > 0, a.Decision.Remaining)
	}
	if said := a.Answer; said != nil {
		if r.Status = said.Status; said.Remaining.Known {
			r.Remaining = new(said.Remaining.N)
		}
		if a.Outcome == model.Denied && !said.RetryAfter.Known {
			r.RetryAfter = nil
		}
	}
	f.fired, f.Requests = append(f.fired, a), append(f.Requests, r)
	f.outcomes.Add(a.Outcome)
	id, _, _ := strings.Cut(a.Audit, ".")
	f.Summary = fireSummary{id, f.outcomes.Admitted, f.outcomes.Denied, f.outcomes.Failed, f.outcomes.Unanswered}
	var b strings.Builder
	_ = textPages().ExecuteTemplate(&b, "line", map[string]any{"n": len(f.Requests), "r": r, "err": report.Text(r.err)})
	return b.String()
}

func (f *fireAccount) JSON(w io.Writer) error {
	f.finish()
	return report.WriteJSON(w, f)
}

// Total is one line about all of them.
func (f *fireAccount) Total() string {
	f.finish()
	var b strings.Builder
	_ = textPages().ExecuteTemplate(&b, "total", f) // a Builder takes all
	return b.String()
}

// Trouble says in one sentence what went wrong, or is empty when every request was
// decided.
func (f *fireAccount) Trouble() string {
	bad := f.Summary.Error + f.Summary.Unknown
	if bad == 0 {
		return ""
	}
	first := ""
	if i := slices.IndexFunc(f.Requests, func(r firedRequest) bool { return r.err != "" }); i >= 0 {
		first = ": " + report.Text(f.Requests[i].err).Clean()
	}
	verb := collect.If(bad == 1, "was", "were")
	return fmt.Sprintf("%d of %s %s not decided (%s, %d without an answer)%s",
		bad, format.Plural(len(f.Requests), "request"), verb, format.Plural(f.Summary.Error, "error"), f.Summary.Unknown, first)
}

// conclude prints what became of the requests, with lines about it, and writes the report into a file, if it
// has a name. err is why no more were sent.
func (f *fireAccount) conclude(err error, lines []string, reportTo string, o output) error {
	if o.JSON {
		err = cmp.Or(err, f.JSON(o.Out))
	} else {
		for _, l := range append(lines, f.Total()) {
			fmt.Fprintln(o.Out, safetext.Clean(l))
		}
	}
	if reportTo != "" {
		print := collect.If(strings.HasSuffix(reportTo, ".json"), f.JSON, f.Markdown)
		if failed := file.Create(reportTo, false, func(to *os.File) error { return print(to) }); failed != nil {
			err = cmp.Or(err, fmt.Errorf("the report is not written: %w", file.Unwritable(reportTo, failed)))
		}
	}
	if trouble := f.Trouble(); err == nil && trouble != "" {
		err = errors.New(trouble)
	}
	return err
}

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
	f.Ticket, f.Words = l, words
}

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

// Verdict is the comparison in words; "" without one.
func (f *fireAccount) Verdict() string {
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
	return textPages().ExecuteTemplate(w, "fire.md", f)
}
