package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ratescope/limiter"
	"ratescope/limiter/internal/admit"
)

// checkLimits says what is wrong with the limits of a configuration, for the limiter and the fallback.
func (c *Config) checkLimits(l limiter.Limiter, rules []admit.Rule[*http.Request]) error {
	one := c.LimitFor != nil || c.Limit != (limiter.Limit{})
	switch {
	case len(rules) > 0:
		if one || len(c.Limits) > 0 || c.Key != nil || c.Name != "" || c.Policy != nil {
			return errors.New("Config.Rules stand alone: leave Limit, Limits, LimitFor, Key, Name and Policy out")
		}
		return admit.Check(l, rules)
	case len(c.Limits) > 0:
		if one || c.Policy != nil {
			return errors.New("Config.Limits stand alone: leave Limit, LimitFor and Policy out")
		}
		return admit.Decides(l, true, limiter.OnKey("any", c.Limits...)...)
	case c.LimitFor != nil && c.Limit == (limiter.Limit{}):
		return nil
	}
	return admit.Decides(l, false, limiter.KeyLimit{Key: "any", Limit: c.Limit})
}

// decide returns a decision for each limit of a request, and the name of each; none where it is not
// limited.
func (m *Middleware) decide(r *http.Request) (names []string, all []limiter.Decision, err error) {
	c, ctx := &m.config, r.Context()
	if c.OnFailure == FailOver && c.OnError != nil {
		ctx = context.WithValue(ctx, requestKey{}, r)
	}
	parts, names, err := m.parts(r)
	if err != nil || len(parts) == 0 {
		return nil, nil, err
	}
	n := c.Cost(r)
	if n < 0 {
		return nil, nil, fmt.Errorf("%w: the cost of the request is not known", limiter.ErrBadRequest)
	}
	if len(m.rules) > 0 || len(c.Limits) > 0 {
		all, err = m.breaker.AllowKeys(ctx, max(n, 1), parts...)
		return names, all, err
	}
	d, err := limiter.Apply(ctx, m.breaker, c.Policy, parts[0].Key, parts[0].Limit, max(n, 1))
	return names, []limiter.Decision{d}, err
}

// parts returns the limits of a request, and the name of each.
func (m *Middleware) parts(r *http.Request) (parts []limiter.KeyLimit, names []string, err error) {
	if len(m.rules) > 0 {
		return admit.Parts(m.breaker, m.rules, r)
	}
	c, key := &m.config, m.config.Key(r)
	switch {
	case key == "":
		return nil, nil, nil
	case len(c.Limits) > 0:
		parts = limiter.OnKey(key, c.Limits...)
	default:
		parts = limiter.OnKey(key, c.LimitFor(r))
		if err := admit.Decides(m.breaker, false, limiter.KeyLimit{Key: "any", Limit: parts[0].Limit}); err != nil {
			return nil, nil, fmt.Errorf("%w: LimitFor returned %+v: %v", admit.ErrNoLimit, parts[0].Limit, err)
		}
	}
	for range parts {
		names = append(names, c.Name)
	}
	return parts, names, nil
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
