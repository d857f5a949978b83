package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"ratescope/limiter"
	"ratescope/limiter/internal/absent"
)

// RemoteHost names a client by the host part of its address.
func RemoteHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Transport keeps requests that we send under a cap: each waits for its turn, as long as
// its context allows. Everything that shares the limiter's keys shares the cap, so with
// Redis it holds for all processes together. It may be used by many goroutines.
type Transport struct {
	Limiter limiter.Limiter
	Limit   limiter.Limit
	// Key names whose cap it is; the request's host when nil. "" is not limited.
	Key func(*http.Request) string
	// Policy settles what is over the limit; waiting as long as the context allows when nil.
	Policy limiter.Policy
	// OnFailure must be FailOpen or FailClosed, which returns the limiter's error. A
	// limiter.Breaker as the Limiter bounds how long its store may take, and falls back.
	OnFailure Failure
	// Base sends the requests; http.DefaultTransport when nil.
	Base http.RoundTripper

	counts counters
}

// Counts returns what was done so far.
func (t *Transport) Counts() Counts { return t.counts.read() }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.admit(r); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper closes the body whatever happens
		}
		return nil, err
	}
	if t.Base != nil {
		return t.Base.RoundTrip(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (t *Transport) admit(r *http.Request) error {
	key := r.URL.Host
	if t.Key != nil {
		key = t.Key(r)
	}
	if key == "" {
		return nil
	}
	if absent.Value(t.Limiter) || t.OnFailure != FailOpen && t.OnFailure != FailClosed {
		return errors.New("the transport is not set up: it needs a Limiter, and FailOpen or FailClosed in OnFailure")
	}
	d, err := t.decide(r.Context(), key)
	switch {
	case err == nil && d.Allowed:
		t.counts.admitted.Add(1)
		return nil
	case err == nil:
		err = &limiter.LimitedError{Key: key, Decision: d}
		fallthrough
	case errors.Is(err, limiter.ErrLimited):
		t.counts.denied.Add(1)
		return fmt.Errorf("not sent: %w", err)
	case r.Context().Err() != nil:
		t.counts.gaveUp.Add(1)
		return fmt.Errorf("not sent: %w", err)
	case t.OnFailure == FailOpen && !errors.Is(err, limiter.ErrBadRequest):
		t.counts.open.Add(1)
		return nil
	}
	t.counts.closed.Add(1)
	return fmt.Errorf("not sent, because its limit could not be checked: %w", err)
}

func (t *Transport) decide(ctx context.Context, key string) (limiter.Decision, error) {
	if t.Policy != nil {
		return limiter.Apply(ctx, t.Limiter, t.Policy, key, t.Limit, 1)
	}
	return limiter.Wait(ctx, t.Limiter, key, t.Limit, 1)
}
