package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
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

	words  []string        // the ticket as lines of text
	units  int64           // charged
	untold bool            // units were charged of which the answer did not say how many
	until  limiter.Instant // when the last of them counts no more
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

// newFireAccount returns an account of no requests yet.
func newFireAccount(key string, o report.Options) *fireAccount {
	return &fireAccount{Key: o.Name(key), Requests: []firedRequest{}}
}

// At says that the requests went to an application.
func (f *fireAccount) At(url, method string) {
	f.URL, f.Method, f.Findings = report.Text(url), report.Text(method), []headerFinding{}
}

// Found enters what the answers of an application did not say as it was, and returns it as lines
// of text.
func (f *fireAccount) Found(list []model.Finding) (lines []string) {
	wait := func(w model.Wait) *int64 {
		if !w.Known {
			return nil
		}
		return new(report.Millis(w.D))
	}
	for _, l := range list {
		f.Findings = append(f.Findings, headerFinding{Header: l.Header, Said: wait(l.Said), True: wait(l.True), What: l.What})
		lines = append(lines, "finding: "+l.Header+": "+l.What)
	}
	return lines
}

// finish works out the percentiles, and how right the forecast was.
func (f *fireAccount) finish() {
	f.compare()
	var all []int64
	for _, r := range f.Requests {
		if r.Outcome == model.Admitted.String() || r.Outcome == model.Denied.String() {
			all = append(all, r.Latency)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(percent int) int64 { return all[(len(all)*percent+99)/100-1] }
	f.Latency = &latencies{P50: at(50), P90: at(90), P99: at(99), Max: all[len(all)-1]}
}

// Add enters one answer and returns it as a line of text without its end.
func (f *fireAccount) Add(a model.Fired) string {
	r := firedRequest{
		At: a.At.Millis(), Cost: a.Cost, Outcome: a.Outcome.String(),
		Latency: a.Latency.Microseconds(), err: a.Err,
	}
	if a.Outcome == model.Admitted || a.Outcome == model.Denied {
		r.RetryAfter = new(report.Millis(a.Decision.RetryAfter))
		if a.Decision.Limit.Count > 0 {
			r.Remaining = new(a.Decision.Remaining)
		}
	}
	if said := a.Answer; said != nil {
		if r.Status = said.Status; said.Remaining.Known {
			r.Remaining = new(said.Remaining.N)
		}
		if a.Outcome == model.Denied && !said.RetryAfter.Known {
			r.RetryAfter = nil
		}
	}
	f.charge(a)
	f.Requests = append(f.Requests, r)
	f.Summary.ID, _, _ = strings.Cut(a.Audit, ".")
	switch a.Outcome {
	case model.Admitted:
		f.Summary.Admitted++
	case model.Denied:
		f.Summary.Denied++
	case model.Failed:
		f.Summary.Error++
	default:
		f.Summary.Unknown++
	}
	return r.line(len(f.Requests))
}

func (r firedRequest) line(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5d  %s  %-8s  cost %d", n, clock(r.At), r.Outcome, r.Cost)
	if r.Status != 0 {
		fmt.Fprintf(&b, "  HTTP %d", r.Status)
	}
	if r.Remaining != nil {
		fmt.Fprintf(&b, "  remaining %d", *r.Remaining)
	}
	if r.RetryAfter != nil && *r.RetryAfter != 0 {
		fmt.Fprintf(&b, "  retry after %s", report.Wait(r.RetryAfter, "", "never"))
	}
	fmt.Fprintf(&b, "  %s ms", inMillis(r.Latency))
	if r.err != "" {
		fmt.Fprintf(&b, "  %s", report.Text(r.err).Clean())
	}
	return b.String()
}

// JSON prints f as one object.
func (f *fireAccount) JSON(w io.Writer) error {
	f.finish()
	return report.WriteJSON(w, f)
}

// Total is one line about all of them.
func (f *fireAccount) Total() string {
	s := f.Summary
	id := ""
	if s.ID != "" {
		id = " · id " + s.ID
	}
	f.finish()
	took := ""
	if l := f.Latency; l != nil && len(f.Requests) > 1 {
		took = fmt.Sprintf(" · p50 %s p99 %s max %s ms", inMillis(l.P50), inMillis(l.P99), inMillis(l.Max))
	}
	if v := f.verdict(); v != "" {
		took = " · " + v + took
	}
	return fmt.Sprintf("%s: %d fired, %d admitted, %d denied, %s, %d unknown%s%s",
		f.Key.Clean(), len(f.Requests), s.Admitted, s.Denied, format.Plural(s.Error, "error"), s.Unknown, took, id)
}

// Trouble says in one sentence what went wrong, or is empty when every request was
// decided.
func (f *fireAccount) Trouble() string {
	bad := f.Summary.Error + f.Summary.Unknown
	if bad == 0 {
		return ""
	}
	first := ""
	for _, r := range f.Requests {
		if r.err != "" {
			first = ": " + report.Text(r.err).Clean()
			break
		}
	}
	verb := "were"
	if bad == 1 {
		verb = "was"
	}
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
		err = cmp.Or(err, writeReport(f, reportTo))
	}
	if trouble := f.Trouble(); err == nil && trouble != "" {
		err = errors.New(trouble)
	}
	return err
}

// inMillis prints microseconds as milliseconds.
func inMillis(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'f', 2, 64) }

// clock is the time of day alone.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05.000") }
