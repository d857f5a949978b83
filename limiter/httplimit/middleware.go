// Package httplimit keeps HTTP under a limit from both sides: a middleware for servers,
// which answers 429 with Retry-After and the RateLimit fields of the IETF draft
// (draft-ietf-httpapi-ratelimit-headers), and a RoundTripper for clients, which keeps our
// own calls under somebody else's cap.
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
// store is away. There is no default: both are wrong for somebody.
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
	// Denied writes the body of a 429 whose fields are set; a line of text when nil.
	Denied http.Handler
}

// Counts is what a Middleware or a Transport has done so far.
type Counts struct {
	Admitted, Denied int64
	FailedOpen       int64 // let through without a decision
	FailedClosed     int64 // turned away without one
}

type counters struct{ admitted, denied, open, closed atomic.Int64 }

func (c *counters) read() Counts {
	return Counts{Admitted: c.admitted.Load(), Denied: c.denied.Load(), FailedOpen: c.open.Load(), FailedClosed: c.closed.Load()}
}

// Middleware limits the requests to a handler. It may be used by many goroutines.
type Middleware struct {
	Config
	policyField string
	counts      counters
}

// New checks the configuration.
func New(c Config) (*Middleware, error) {
	if c.Limiter == nil {
		return nil, errors.New("the middleware has no limiter: set Config.Limiter")
	}
	if err := c.Limit.Validate(); err != nil {
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
	if c.Denied == nil {
		c.Denied = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("Too many requests.\n"))
		})
	}
	m := &Middleware{Config: c}
	m.policyField = fmt.Sprintf("%q;q=%d;w=%d", c.Name, c.Limit.Count, seconds(c.Limit.Window))
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
		d, err := limiter.Apply(r.Context(), m.Limiter, m.Policy, key, m.Limit, n)
		switch {
		case err != nil && r.Context().Err() != nil:
			return // whoever asked has gone
		case err != nil && !errors.Is(err, limiter.ErrLimited):
			m.undecided(w, r, next)
			return
		}
		m.fields(w.Header(), d)
		if d.Allowed && err == nil {
			m.counts.admitted.Add(1)
			next.ServeHTTP(w, r)
			return
		}
		m.counts.denied.Add(1)
		if d.RetryAfter >= 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(max(seconds(d.RetryAfter), 1), 10))
		}
		w.WriteHeader(http.StatusTooManyRequests)
		m.Denied.ServeHTTP(w, r)
	})
}

// undecided does as was chosen, and counts it.
func (m *Middleware) undecided(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if m.OnFailure == FailOpen {
		m.counts.open.Add(1)
		next.ServeHTTP(w, r)
		return
	}
	m.counts.closed.Add(1)
	http.Error(w, "The rate limiter is not available.", http.StatusServiceUnavailable)
}

// fields sets RateLimit-Policy, which is the limit, and RateLimit, which is what is left
// of it: r units now, and t seconds until there is more.
func (m *Middleware) fields(h http.Header, d limiter.Decision) {
	h.Set("RateLimit-Policy", m.policyField)
	wait := d.ResetAfter
	if !d.Allowed && d.RetryAfter > 0 {
		wait = d.RetryAfter
	}
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", m.Name, d.Remaining, seconds(wait)))
}

// seconds rounds up, so that waiting that long is enough.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
