package model

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ratescope/model/collect"
)

// Answer is the answer of an application to one request that was fired at it over HTTP.
type Answer struct {
	Status     int
	RetryAfter Wait  // of Retry-After
	Reset      Wait  // of RateLimit (t), RateLimit-Reset or X-RateLimit-Reset
	Remaining  Count // of RateLimit (r), RateLimit-Remaining or X-RateLimit-Remaining
	// XReset is set if Reset comes from an X- field, which no standard defines: in some libraries it is
	// the end of the window, in others the instant at which no unit is used any more.
	XReset bool
}

// Wait is a duration that may not be known.
type Wait struct {
	Known bool
	D     time.Duration
}

// ReadAnswer reads the status and the header of an answer that came at an instant of this machine's
// clock. If Retry-After is a date, the wait is the time from the answer's own Date to it, so that the
// two clocks need not agree.
func ReadAnswer(status int, h http.Header, at time.Time) Answer {
	a := Answer{Status: status, RetryAfter: retryAfter(h, at)}
	a.Remaining, a.Reset = rateLimit(h.Get("RateLimit"))
	for _, prefix := range [...]string{"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(h.Get(prefix+"Remaining")), 10, 64); err == nil && n >= 0 && !a.Remaining.Known {
			a.Remaining = Count{true, n}
		}
		if !a.Reset.Known {
			a.Reset = resetOf(h.Get(prefix+"Reset"), at)
			a.XReset = a.Reset.Known && strings.HasPrefix(prefix, "X-")
		}
	}
	return a
}

// retryAfter reads Retry-After, which is a number of whole seconds or a date.
func retryAfter(h http.Header, at time.Time) Wait {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if w := seconds(text); w.Known {
		return w
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return Wait{}
	}
	if own, err := http.ParseTime(h.Get("Date")); err == nil {
		at = own
	}
	return Wait{true, max(until.Sub(at), 0)}
}

// maxSeconds bounds a plausible wait, in seconds.
const maxSeconds = 100 * 365 * 24 * 3600

func seconds(text string) Wait {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= maxSeconds) {
		return Wait{}
	}
	return Wait{true, time.Duration(v * float64(time.Second))}
}

// resetOf reads a reset, which is a number of seconds from now or, in some libraries, since the epoch.
func resetOf(text string, at time.Time) Wait {
	w := seconds(strings.TrimSpace(text))
	const epoch = 1_000_000_000 * time.Second // more than 30 years is no wait
	if w.Known && w.D > epoch {
		w.D = max(w.D-time.Duration(at.Unix())*time.Second, 0)
	}
	return w
}

// rateLimit reads the RateLimit field of the IETF draft: items "name";r=1;t=2. It returns the item with
// the fewest remaining requests.
func rateLimit(text string) (remaining Count, reset Wait) {
	for item := range strings.SplitSeq(text, ",") {
		r, t := Count{}, Wait{}
		for part := range strings.SplitSeq(item, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "r":
				if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
					r = Count{true, n}
				}
			case "t":
				t = seconds(value)
			}
		}
		if r.Known && (!remaining.Known || r.N < remaining.N) {
			remaining, reset = r, t
		}
	}
	return remaining, reset
}

// Outcome returns the outcome that the answer means: 2xx is admitted, 429 and a 503 with Retry-After are denied,
// and anything else is an error.
func (a *Answer) Outcome() Outcome {
	switch {
	case a.Status >= 200 && a.Status < 300:
		return Admitted
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable && a.RetryAfter.Known:
		return Denied
	}
	return Failed
}

// Finding is a header of an application that disagrees with the requests that followed it.
type Finding struct {
	Header string
	Said   Wait
	True   Wait // when a request was admitted, or seen to be denied still
	What   string
	// Missing is set where the header is not there: no answer was wrong.
	Missing bool
}

// headerTick is the resolution of the headers: a wait that was rounded up to it is correct.
const headerTick = time.Second

// Findings compares the headers of an application with the outcomes of the later requests of the same
// run. It returns at most one finding of a kind, the one with the greatest difference.
func Findings(list []Fired) []Finding {
	const long, short, none, left, apart = 0, 1, 2, 3, 4
	var worst [apart + 1]Finding
	var differs [apart + 1]time.Duration
	found := func(kind int, by time.Duration, next Finding) {
		if worst[kind].Header == "" || by > differs[kind] {
			worst[kind], differs[kind] = next, by
		}
	}
	for i := range list {
		f := &list[i]
		a := f.Answer
		if a == nil {
			continue
		}
		if f.Outcome == Admitted && a.Remaining.Known && a.Remaining.N > 0 {
			if next := firstAfter(list, f); next != nil && next.Outcome == Denied {
				found(left, 0, Finding{Header: "RateLimit-Remaining", What: fmt.Sprintf("an answer said that %d remain, and "+
					"the next request, %v later, was denied", a.Remaining.N, rounded(next.Sent.Sub(f.Received)))})
			}
		}
		if f.Outcome != Denied {
			continue
		}
		said, header := a.RetryAfter, "Retry-After"
		if !said.Known {
			found(none, 0, Finding{Header: header, Missing: true, What: fmt.Sprintf("a denial (%d) has no Retry-After, so that a client "+
				"cannot know when to come again", a.Status)})
			if said, header = a.Reset, "RateLimit-Reset"; !said.Known {
				continue
			}
		} else if a.Reset.Known && (said.D-a.Reset.D > headerTick || a.Reset.D-said.D > headerTick && !a.XReset) {
			found(apart, (said.D - a.Reset.D).Abs(), Finding{Header: "RateLimit-Reset", Said: a.Reset, True: said,
				What: fmt.Sprintf("one answer has Retry-After %v and a RateLimit reset of %v", rounded(said.D), rounded(a.Reset.D))})
		}
		admitted := false
		for j := i + 1; j < len(list); j++ {
			next := &list[j]
			wait := next.Sent.Sub(f.Received)
			if next.Answer == nil || wait < 0 {
				continue
			}
			switch {
			case next.Outcome == Admitted && wait+headerTick < said.D && !admitted:
				found(long, said.D-wait, Finding{Header: header, Said: said, True: Wait{true, wait},
					What: fmt.Sprintf("a denial said to come again after %v, and a request %v later was admitted",
						rounded(said.D), rounded(wait))})
			case next.Outcome == Denied && wait > said.D && !admitted:
				found(short, wait-said.D, Finding{Header: header, Said: said, True: Wait{true, wait},
					What: fmt.Sprintf("a denial said to come again after %v, and a request %v later was denied still, with none "+
						"of these admitted between: the wait is too short, or others took the room", rounded(said.D), rounded(wait))})
			}
			admitted = admitted || next.Outcome == Admitted
		}
	}
	return collect.Only(worst[:], func(f Finding) bool { return f.Header != "" })
}

// firstAfter returns the first request that was sent after the answer of f had come; nil if there is
// none, or if other requests were unanswered at that time.
func firstAfter(list []Fired, f *Fired) *Fired {
	var next *Fired
	for i := range list {
		o := &list[i]
		switch {
		case o == f || o.Answer == nil:
		case o.Sent.Before(f.Received) && o.Received.After(f.Sent):
			return nil
		case !o.Sent.Before(f.Received) && (next == nil || o.Sent.Before(next.Sent)):
			next = o
		}
	}
	return next
}

// CompareNext compares the wait that a denial announced with next, the wait by the key behind the
// application, from the same instant. ok is false if the two agree.
func CompareNext(said Wait, next time.Duration) (f Finding, ok bool) {
	if !said.Known || (said.D-next).Abs() <= headerTick {
		return f, false
	}
	return Finding{Header: "Retry-After", Said: said, True: Wait{true, next},
		What: fmt.Sprintf("the last denial said to come again after %v, and the key admits after %v", rounded(said.D), rounded(next))}, true
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
