package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"ratescope/limiter"
)

// several is a limiter that decides about several limits in one call.
type several interface {
	AllowAll(ctx context.Context, key string, n int64, limits ...limiter.Limit) ([]limiter.Decision, error)
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
	if _, ok := c.Limiter.(several); !ok || c.Policy != nil || c.LimitFor != nil || c.Limit != (limiter.Limit{}) {
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
	if len(m.Limits) > 0 {
		ctx, cancel := within(r.Context(), m.Timeout)
		defer cancel()
		return m.Limiter.(several).AllowAll(ctx, key, n, m.Limits...)
	}
	limit := m.LimitFor(r)
	if err := checkLimit(limit); err != nil {
		return nil, fmt.Errorf("%w: LimitFor returned %+v: %v", errNoLimit, limit, err)
	}
	d, err := limiter.Apply(r.Context(), timed{m.Limiter, m.Timeout}, m.Policy, key, limit, n)
	return []limiter.Decision{d}, err
}

// timed bounds each call of a limiter, and not the waits between two of them.
type timed struct {
	limiter.Limiter
	timeout time.Duration
}

func (t timed) AllowN(ctx context.Context, key string, limit limiter.Limit, n int64) (limiter.Decision, error) {
	ctx, cancel := within(ctx, t.timeout)
	defer cancel()
	return t.Limiter.AllowN(ctx, key, limit, n)
}

func (t timed) Peek(ctx context.Context, key string, limit limiter.Limit, n int64) (limiter.Decision, error) {
	ctx, cancel := within(ctx, t.timeout)
	defer cancel()
	return t.Limiter.Peek(ctx, key, limit, n)
}

// within bounds a context, when there is a timeout.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}
