package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"ratescope/model"
)

// Fire is what became of the requests fired at one key.
type Fire struct {
	Key      Text      `json:"key"`
	Requests []Request `json:"requests"` // in the order in which their answers came
	Summary  Summary   `json:"summary"`
}

// Request is the fate of one of them. Remaining and RetryAfter are null unless the
// limiter decided; RetryAfter is 0 when it was admitted and -1 when no wait helps.
type Request struct {
	At         int64  `json:"at_ms"`
	Cost       int64  `json:"cost"`
	Outcome    string `json:"outcome"` // admitted, denied, error or unknown
	Remaining  *int64 `json:"remaining"`
	RetryAfter *int64 `json:"retry_after_ms"`
	Latency    int64  `json:"latency_us"`

	err string
}

// Summary counts the outcomes. What failed and what was never answered are apart
// from what the limiter decided.
type Summary struct {
	ID       string `json:"id"` // of the action in the audit file, which undo takes; "" where nothing was sent
	Admitted int    `json:"admitted"`
	Denied   int    `json:"denied"`
	Error    int    `json:"error"`
	Unknown  int    `json:"unknown"`
}

// NewFire returns an account of no requests yet.
func NewFire(key string, o Options) *Fire {
	return &Fire{Key: o.name(key), Requests: []Request{}}
}

// Add enters one answer and returns it as a line of text without its end.
func (f *Fire) Add(a model.Fired) string {
	r := Request{
		At: a.At.Millis(), Cost: a.Cost, Outcome: a.Outcome.String(),
		Latency: a.Latency.Microseconds(), err: a.Err,
	}
	if a.Outcome == model.Admitted || a.Outcome == model.Denied {
		r.RetryAfter = known(millis(a.Decision.RetryAfter))
		if a.Decision.Limit.Count > 0 {
			r.Remaining = known(a.Decision.Remaining)
		}
	}
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

func (r Request) line(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5d  %s  %-8s  cost %d", n, clock(r.At), r.Outcome, r.Cost)
	if r.Remaining != nil {
		fmt.Fprintf(&b, "  remaining %d", *r.Remaining)
	}
	if r.RetryAfter != nil && *r.RetryAfter != 0 {
		fmt.Fprintf(&b, "  retry after %s", wait(r.RetryAfter, "", "never"))
	}
	fmt.Fprintf(&b, "  %s ms", strconv.FormatFloat(float64(r.Latency)/1000, 'f', 2, 64))
	if r.err != "" {
		fmt.Fprintf(&b, "  %s", Text(r.err).clean())
	}
	return b.String()
}

// JSON prints f as one object.
func (f *Fire) JSON(w io.Writer) error { return writeJSON(w, f) }

// Total is one line about all of them.
func (f *Fire) Total() string {
	s := f.Summary
	id := ""
	if s.ID != "" {
		id = " · id " + s.ID
	}
	return fmt.Sprintf("%s: %d fired, %d admitted, %d denied, %s, %d unknown%s",
		f.Key.clean(), len(f.Requests), s.Admitted, s.Denied, plural(s.Error, "error"), s.Unknown, id)
}

// Trouble says in one sentence what went wrong, or is empty when every request was
// decided.
func (f *Fire) Trouble() string {
	bad := f.Summary.Error + f.Summary.Unknown
	if bad == 0 {
		return ""
	}
	first := ""
	for _, r := range f.Requests {
		if r.err != "" {
			first = ": " + Text(r.err).clean()
			break
		}
	}
	return fmt.Sprintf("%d of %s were not decided (%s, %d without an answer)%s",
		bad, plural(len(f.Requests), "request"), plural(f.Summary.Error, "error"), f.Summary.Unknown, first)
}

// instant prints milliseconds since the epoch as a moment in UTC.
func instant(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// clock is the time of day alone.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05.000") }

// plural prints n things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
