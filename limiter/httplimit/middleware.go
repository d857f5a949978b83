// Package httplimit keeps HTTP under a limit from both sides: a middleware for servers,
// which answers 429 with Retry-After and the RateLimit fields of the IETF draft
// (draft-ietf-httpapi-ratelimit-headers-10), and a RoundTripper for clients, which keeps
// our own calls under the limit of another service.
package httplimit

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/internal/admit"
	"ratescope/limiter/internal/given"
)

// Failure says what happens to a request when the limiter cannot decide, because its
// store is away. There is no default: each is wrong for some services. It is not used where the
// request itself is why there is no decision, by its key, its cost, or the value that another program
// keeps at its key: a client must not get past a limit by choosing them.
type Failure uint8

const (
	_          Failure = iota
	FailOpen           // let it through, uncounted
	FailClosed         // answer 503
	FailOver           // let Config.Fallback decide
)

// Config sets up a Middleware.
//
// Every request is one, whatever its method is: HEAD and OPTIONS cost as much as GET. A websocket is the
// request that opens it, and of HTTP/2 each stream is a request. Skip says which are not limited.
type Config struct {
	Limiter limiter.Limiter
	Limit   limiter.Limit
	// Limits are several limits with different windows, as in 10 a second and 1,000 an hour,
	// in place of Limit. They are decided about in one call and charged together or not at
	// all, and the fields have an item for each. They need a limiter.Memory or a
	// redisstore.Store, and have no Policy: a denied request is answered at once.
	Limits []limiter.Limit
	// Rules are limits on several keys, as 100 a minute for an address and 1,000 an hour for a user,
	// in place of Limit, Limits, LimitFor, Key and Name. They are decided about together as Limits are.
	Rules []Rule
	// Skip says which requests are not limited, as Preflight does or one for the paths of health checks.
	// None is when nil.
	Skip func(*http.Request) bool
	// LimitFor is the limit of one request, as of the plan of who asks; Limit when nil.
	LimitFor func(*http.Request) limiter.Limit
	// Key names who asks. "" is not limited. When nil it is RemoteHost, which behind a proxy is the
	// proxy: use ClientIP then.
	Key func(*http.Request) string
	// Cost of a request; 1 when nil, and where it is 0. Below 0 it is not known, as ContentLength of a
	// body in chunks is not, and answered 400.
	Cost func(*http.Request) int64
	// Policy settles denied requests; limiter.Drop when nil, which answers 429 at once.
	Policy limiter.Policy
	// OnFailure must be chosen.
	OnFailure Failure
	// Fallback decides under FailOver while the store is away, as a limiter.Memory does, for
	// this process alone: limiter.BreakerConfig.Processes in a Breaker of your own divides the limit.
	Fallback limiter.Limiter
	// Timeout bounds each call of the limiter; 0 does not. When it is over the limiter could
	// not decide. A redisstore.Store keeps to it even while its server does not answer.
	Timeout time.Duration
	// Failures in a row after which the limiter is not asked any more, so that a request costs no
	// Timeout; each Probe one request asks it again. 5 and 1 s when 0; Failures below 0 ask always.
	Failures int
	Probe    time.Duration
	// OnChange is told when the limiter is not asked any more, and when it is again.
	OnChange func(away bool, err error)
	// DenyForeign answers 429, in place of 503, to a request whose key cannot be kept: it holds a value of
	// another program, or has no place on the store. Neither is let through, whatever OnFailure says.
	DenyForeign bool
	// OnError is told why the limiter could not decide about a request; nothing is when nil. Under
	// FailOver that are those for which it was asked. It must not block.
	OnError func(*http.Request, error)
	// Name of the limit in the RateLimit fields; "default" when empty. Printable ASCII.
	Name string
	// Denied writes the body of a 429, to whose fields it may add; a line of text when nil.
	Denied http.Handler
}

// Rule is a key of a request and limits on it.
type Rule struct {
	// Name of the rule in the RateLimit fields, and in front of its keys, so that keys of two rules
	// are never the same. Printable ASCII without quotes, backslashes, braces and colons.
	Name string
	// Key names what is limited; the rule does not apply to a request for which it is "".
	Key func(*http.Request) string
	// Limits have different windows.
	Limits []limiter.Limit
	// LimitsFor are those of one request, as of a plan, in place of Limits.
	LimitsFor func(*http.Request) []limiter.Limit
}

// Preflight reports whether a request is one with which a browser asks what another site may send. A
// handler answers it without the work that a limit protects; let Skip except it.
func Preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// Counts is what a Middleware or a Transport has done so far.
type Counts struct {
	Admitted, Denied int64
	FailedOpen       int64 // let through without a decision
	FailedClosed     int64 // turned away without one
	GaveUp           int64 // whose context was over before there was a decision
	FailedOver       int64 // admitted or denied, and counted there too, by the fallback
	Skipped          int64 // for which the limiter was not asked, because its store was away
}

type counters struct{ admitted, denied, open, closed, gaveUp atomic.Int64 }

func (c *counters) read() Counts {
	return Counts{Admitted: c.admitted.Load(), Denied: c.denied.Load(),
		FailedOpen: c.open.Load(), FailedClosed: c.closed.Load(), GaveUp: c.gaveUp.Load()}
}

// Middleware limits the requests to a handler. It may be used by many goroutines.
type Middleware struct {
	config  Config
	rules   []admit.Rule[*http.Request]
	breaker *limiter.Breaker
	counts  counters
}

// New checks the configuration.
func New(c Config) (*Middleware, error) {
	switch {
	case given.Absent(c.Limiter):
		return nil, errors.New("the middleware has no limiter: set Config.Limiter")
	case c.Policy != nil && given.Absent(c.Policy) || c.Denied != nil && given.Absent(c.Denied):
		return nil, fmt.Errorf("the policy (%T) or the handler of denied requests (%T) is a nil pointer: leave it out, or make one",
			c.Policy, c.Denied)
	case c.OnFailure < FailOpen || c.OnFailure > FailOver:
		return nil, errors.New("what happens when the limiter cannot decide is not chosen: set Config.OnFailure to FailOpen, " +
			"FailClosed or FailOver")
	case (c.OnFailure == FailOver) != (c.Fallback != nil):
		return nil, errors.New("FailOver and Config.Fallback belong together: set both, as with a limiter.Memory, or neither")
	}
	m := &Middleware{}
	c.Limits = slices.Clone(c.Limits)
	for _, r := range c.Rules {
		m.rules = append(m.rules, admit.Rule[*http.Request](r))
	}
	var err error
	if m.breaker, err = c.breaker(); err != nil {
		return nil, err
	}
	if err := c.checkLimits(m.breaker, m.rules); err != nil {
		return nil, err
	}
	c.Name = cmp.Or(c.Name, "default")
	if strings.ContainsFunc(c.Name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return nil, fmt.Errorf("the name %q cannot stand in a header: use printable ASCII without quotes and backslashes", c.Name)
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
	if len(m.rules) == 0 {
		m.rules = []admit.Rule[*http.Request]{c.rule()}
	}
	if c.Denied == nil {
		c.Denied = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("Too many requests.\n"))
		})
	}
	m.config = c
	return m, nil
}

// Counts returns what was done so far.
func (m *Middleware) Counts() Counts {
	c := m.counts.read()
	if m.breaker != nil {
		b := m.breaker.Counts()
		c.FailedOver, c.Skipped = b.FellBack, b.Skipped
	}
	return c
}

// Handler returns next behind the limit.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.breaker == nil {
			http.Error(w, "The rate limiter is not set up: make it with httplimit.New.", http.StatusInternalServerError)
			return
		}
		c := &m.config
		if c.Skip != nil && c.Skip(r) {
			next.ServeHTTP(w, r)
			return
		}
		names, all, err := m.decide(r)
		if err == nil && len(all) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		d := limiter.Combine(all)
		if err != nil && (!errors.Is(err, limiter.ErrLimited) || r.Context().Err() != nil) {
			m.undecided(w, r, next, err)
			return
		}
		fields(w.Header(), names, all)
		if d.Allowed && err == nil {
			m.counts.admitted.Add(1)
			next.ServeHTTP(w, r)
			return
		}
		m.counts.denied.Add(1)
		if d.RetryAfter != limiter.Never {
			w.Header().Set("Retry-After", strconv.FormatInt(max(seconds(d.RetryAfter), 1), 10))
		}
		body := denial{ResponseWriter: w}
		c.Denied.ServeHTTP(&body, r)
		body.WriteHeader(http.StatusTooManyRequests)
	})
}

// denial sends 429 with the first byte of the body, so that a handler that writes the body can set fields.
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
	if m.config.OnError != nil {
		m.config.OnError(r, err)
	}
	switch {
	case errors.Is(err, admit.ErrNoLimit):
		m.counts.closed.Add(1)
		http.Error(w, "The request has no limit.", http.StatusInternalServerError)
	case r.Context().Err() != nil: // the client may have gone; a deadline of our own has not
		m.counts.gaveUp.Add(1)
		http.Error(w, "The request waited for its turn in vain.", http.StatusServiceUnavailable)
	case errors.Is(err, limiter.ErrBadRequest):
		m.counts.closed.Add(1)
		http.Error(w, "The request has a name or a size that cannot be limited.", http.StatusBadRequest)
	case admit.OfRequest(err) && m.config.DenyForeign:
		m.counts.denied.Add(1)
		http.Error(w, "Too many requests.", http.StatusTooManyRequests)
	case m.config.OnFailure == FailOpen && !admit.OfRequest(err):
		m.counts.open.Add(1)
		next.ServeHTTP(w, r)
	default:
		m.counts.closed.Add(1)
		http.Error(w, "The rate limiter is not available.", http.StatusServiceUnavailable)
	}
}
