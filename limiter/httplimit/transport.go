package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/internal/admit"
	"ratescope/limiter/internal/given"
)

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
	// OnFailure must be FailOpen or FailClosed, which returns the limiter's error. To fall back
	// on a limiter of this process, use a limiter.Breaker as the Limiter.
	OnFailure Failure
	// Timeout bounds each call of the limiter, not the wait between two calls; 0 does not. After
	// five failures in a row the limiter is asked once a second, as a limiter.Breaker does.
	Timeout time.Duration
	// Base sends the requests; http.DefaultTransport when nil.
	Base http.RoundTripper

	counts  counters
	once    sync.Once
	bounded *limiter.Breaker // nil without a Timeout, or where err is set
	err     error            // what is wrong with the Timeout
}

// Counts returns what was done so far.
func (t *Transport) Counts() Counts {
	c := t.counts.read()
	t.once.Do(t.bound) // a Transport may be asked before it was used
	if t.bounded != nil {
		c.Skipped = t.bounded.Counts().Skipped
	}
	return c
}

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
	if given.Absent(t.Limiter) || t.OnFailure != FailOpen && t.OnFailure != FailClosed {
		return errors.New("the transport is not set up: it needs a Limiter, and FailOpen or FailClosed in OnFailure")
	}
	if t.once.Do(t.bound); t.err != nil {
		return fmt.Errorf("the transport is not set up: %w", t.err)
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
	case t.OnFailure == FailOpen && !admit.OfRequest(err):
		t.counts.open.Add(1)
		return nil
	}
	t.counts.closed.Add(1)
	return fmt.Errorf("not sent, because its limit could not be checked: %w", err)
}

func (t *Transport) decide(ctx context.Context, key string) (limiter.Decision, error) {
	l := t.Limiter
	if t.bounded != nil {
		l = t.bounded
	}
	if t.Policy != nil {
		return limiter.Apply(ctx, l, t.Policy, key, t.Limit, 1)
	}
	return limiter.Wait(ctx, l, key, t.Limit, 1)
}

// bound puts the limiter behind a Breaker where there is a Timeout. The Transport has no
// constructor, so this is done once, by the first call.
func (t *Transport) bound() {
	if t.Timeout != 0 {
		t.bounded, t.err = limiter.NewBreaker(limiter.BreakerConfig{Limiter: t.Limiter, Timeout: t.Timeout})
	}
}
