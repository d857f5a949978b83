package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ratescope/limiter"
)

// decidesSeveral reports whether a limiter, and each that it wraps, decides about several
// limits in one call.
func decidesSeveral(l limiter.Limiter) bool {
	for {
		if _, ok := l.(limiter.Several); !ok {
			return false
		}
		wrapper, ok := l.(interface{ Unwrap() limiter.Limiter })
		if !ok {
			return true
		}
		l = wrapper.Unwrap()
	}
}

// errNoLimit is a LimitFor that returned no limit: a fault of the program, not of the client.
var errNoLimit = errors.New("the request has no limit")

// checkLimits says what is wrong with the limits of a configuration.
func (c *Config) checkLimits() error {
	if len(c.Limits) == 0 {
		if c.LimitFor != nil && c.Limit == (limiter.Limit{}) {
			return nil
		}
		return checkLimit(c.Limit)
	}
	if !decidesSeveral(c.Limiter) || c.Fallback != nil && !decidesSeveral(c.Fallback) || c.Policy != nil || c.LimitFor != nil || c.Limit != (limiter.Limit{}) {
		return errors.New("Config.Limits stands alone: it needs a limiter.Memory or a redisstore.Store, and no Limit, LimitFor or Policy")
	}
	for _, l := range c.Limits {
		if err := checkLimit(l); err != nil {
			return err
		}
	}
	return nil
}

// checkLimit refuses, beside what no limiter takes, a limit that denies nothing.
func checkLimit(l limiter.Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Count == 0 {
		return fmt.Errorf("%w: a limit of 0 counts and denies nothing, so its middleware would admit everything: set a Count", limiter.ErrBadRequest)
	}
	return nil
}

// decide returns a decision for each limit.
func (m *Middleware) decide(r *http.Request, key string, n int64) ([]limiter.Decision, error) {
	ctx := r.Context()
	if m.OnFailure == FailOver && m.OnError != nil {
		ctx = context.WithValue(ctx, requestKey{}, r)
	}
	if len(m.Limits) > 0 {
		return m.breaker.AllowAll(ctx, key, n, m.Limits...)
	}
	limit := m.LimitFor(r)
	if err := checkLimit(limit); err != nil {
		return nil, fmt.Errorf("%w: LimitFor returned %+v: %v", errNoLimit, limit, err)
	}
	d, err := limiter.Apply(ctx, m.breaker, m.Policy, key, limit, n)
	return []limiter.Decision{d}, err
}

// requestKey is the request in the context of a call, for OnError.
type requestKey struct{}

// breaker bounds the calls of the limiter, as the configuration says.
func (c *Config) breaker() (*limiter.Breaker, error) {
	b := limiter.BreakerConfig{
		Limiter: c.Limiter, Timeout: c.Timeout, Failures: c.Failures, Probe: c.Probe, Fallback: c.Fallback, OnChange: c.OnChange,
	}
	if tell := c.OnError; tell != nil && c.OnFailure == FailOver {
		b.OnError = func(ctx context.Context, err error) {
			r, _ := ctx.Value(requestKey{}).(*http.Request)
			tell(r, err)
		}
	}
	return limiter.NewBreaker(b)
}
