// Package httplimit keeps HTTP under a limit from both sides: a middleware for servers,
// which answers 429 with Retry-After and the RateLimit fields of the IETF draft
// (draft-ietf-httpapi-ratelimit-headers-10), and a RoundTripper for clients, which keeps
// our own calls under somebody else's cap.
package httplimit

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"ratescope/limiter"
)

// Failure says what happens to a request when the limiter cannot decide, because its
// store is away. There is no default: both are wrong for somebody. It is not asked about
// a key or a cost that no limiter takes: whoever asks must not get past a limit by that.
type Failure uint8

const (
	_          Failure = iota
	FailOpen           // let it through, uncounted
	FailClosed         // answer 503
)

// Config sets up a Middleware.
type Config struct {
	Limiter limiter.Limiter
	Limit   limiter.Limit
	// LimitFor is the limit of one request, as of the plan of who asks; Limit when nil.
	LimitFor func(*http.Request) limiter.Limit
	// Key names who asks. "" is not limited. When nil it is the host part of RemoteAddr,
	// which behind a proxy is the proxy: name your header then.
	Key func(*http.Request) string
	// Cost of a request; 1 when nil. 0 or less is not limited.
	Cost func(*http.Request) int64
	// Policy settles denied requests; limiter.Drop when nil, which answers 429 at once.
	Policy limiter.Policy
	// OnFailure must be chosen.
	OnFailure Failure
	// Name of the limit in the RateLimit fields; "default" when empty. Printable ASCII.
	Name string
	// Denied writes the body of a 429, to whose fields it may add; a line of text when nil.
	Denied http.Handler
}

// Counts is what a Middleware or a Transport has done so far.
type Counts struct {
	Admitted, Denied int64
	FailedOpen       int64 // let through without a decision
	FailedClosed     int64 // turned away without one
	GaveUp           int64 // whose context was over before there was a decision
}

type counters struct{ admitted, denied, open, closed, gaveUp atomic.Int64 }

func (c *counters) read() Counts {
	return Counts{
		Admitted: c.admitted.Load(), Denied: c.denied.Load(),
		FailedOpen: c.open.Load(), FailedClosed: c.closed.Load(), GaveUp: c.gaveUp.Load(),
	}
}

// Middleware limits the requests to a handler. It may be used by many goroutines.
type Middleware struct {
	Config
	policyField string // of Limit
	counts      counters
}

// New checks the configuration.
func New(c Config) (*Middleware, error) {
	if c.Limiter == nil {
		return nil, errors.New("the middleware has no limiter: set Config.Limiter")
	}
	if err := c.Limit.Validate(); err != nil && (c.LimitFor == nil || c.Limit != limiter.Limit{}) {
		return nil, err
	}
	if c.OnFailure != FailOpen && c.OnFailure != FailClosed {
		return nil, errors.New("what happens when the limiter cannot decide is not chosen: set Config.OnFailure to FailOpen or FailClosed")
	}
	if c.Name == "" {
		c.Name = "default"
	}
	for _, r := range c.Name {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return nil, fmt.Errorf("the name %q cannot stand in a header: use printable ASCII without quotes and backslashes", c.Name)
		}
	}
	if c.Key == nil {
		c.Key = RemoteHost
	}
	if c.Cost == nil {
		c.Cost = func(*http.Request) int64 { return 1 }
	}
	if c.Policy == nil {
		c.Policy = limiter.Drop()
	}
	if c.LimitFor == nil {
		c.LimitFor = func(*http.Request) limiter.Limit { return c.Limit }
	}
	if c.Denied == nil {
		c.Denied = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("Too many requests.\n"))
		})
	}
	m := &Middleware{Config: c}
	m.policyField = m.policy(c.Limit)
	return m, nil
}

// Counts returns what was done so far.
func (m *Middleware) Counts() Counts { return m.counts.read() }

// Handler returns next behind the limit.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, n := m.Key(r), m.Cost(r)
		if key == "" || n <= 0 {
			next.ServeHTTP(w, r)
			return
		}
		d, err := limiter.Apply(r.Context(), m.Limiter, m.Policy, key, m.LimitFor(r), n)
		if err != nil && (!errors.Is(err, limiter.ErrLimited) || r.Context().Err() != nil) {
			m.undecided(w, r, next, err)
			return
		}
		if d.Limit.Count > 0 {
			m.fields(w.Header(), d)
		}
		if d.Allowed && err == nil {
			m.counts.admitted.Add(1)
			next.ServeHTTP(w, r)
			return
		}
		m.counts.denied.Add(1)
		if d.RetryAfter >= 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(max(seconds(d.RetryAfter), 1), 10))
		}
		body := denial{ResponseWriter: w}
		m.Denied.ServeHTTP(&body, r)
		body.WriteHeader(http.StatusTooManyRequests)
	})
}

// denial sends 429 with the first byte of the body, so that whoever writes it can set fields.
type denial struct {
	http.ResponseWriter
	sent bool
}

// WriteHeader sends 429 whatever the handler says.
func (d *denial) WriteHeader(int) {
	if !d.sent {
		d.sent = true
		d.ResponseWriter.WriteHeader(http.StatusTooManyRequests)
	}
}

func (d *denial) Write(p []byte) (int, error) {
	d.WriteHeader(http.StatusTooManyRequests)
	return d.ResponseWriter.Write(p)
}

// FlushError sends what there is, for http.ResponseController.
func (d *denial) FlushError() error {
	d.WriteHeader(http.StatusTooManyRequests)
	return http.NewResponseController(d.ResponseWriter).Flush()
}

// Unwrap is for what else http.ResponseController does.
func (d *denial) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// undecided does as was chosen, and counts it.
func (m *Middleware) undecided(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	switch {
	case r.Context().Err() != nil: // whoever asked may have gone; a deadline of our own has not
		m.counts.gaveUp.Add(1)
		http.Error(w, "The request waited for its turn in vain.", http.StatusServiceUnavailable)
	case errors.Is(err, limiter.ErrBadRequest):
		m.counts.closed.Add(1)
		http.Error(w, "The request has a name or a size that cannot be limited.", http.StatusBadRequest)
	case m.OnFailure == FailOpen:
		m.counts.open.Add(1)
		next.ServeHTTP(w, r)
	default:
		m.counts.closed.Add(1)
		http.Error(w, "The rate limiter is not available.", http.StatusServiceUnavailable)
	}
}

// policy is the field that says what the limit is.
func (m *Middleware) policy(l limiter.Limit) string {
	return fmt.Sprintf("%q;q=%d;w=%d", m.Name, l.Count, seconds(l.Window))
}

// fields sets RateLimit-Policy, which is the limit, and RateLimit, which is what is left
// of it: r units now, and t seconds until there is more. A limit that only counts has
// neither, for a quota of 0 would say that nothing is allowed.
func (m *Middleware) fields(h http.Header, d limiter.Decision) {
	switch d.Limit {
	case m.Limit:
		h.Set("RateLimit-Policy", m.policyField)
	default:
		h.Set("RateLimit-Policy", m.policy(d.Limit))
	}
	wait := d.ResetAfter
	if !d.Allowed && d.RetryAfter > 0 {
		wait = d.RetryAfter
	}
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", m.Name, d.Remaining, seconds(wait)))
}

// seconds rounds up, so that waiting that long is enough.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
