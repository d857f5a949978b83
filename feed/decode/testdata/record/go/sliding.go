package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/RussellLuo/slidingwindow"
	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
	"github.com/gofiber/fiber/v2"
	fiberlimiter "github.com/gofiber/fiber/v2/middleware/limiter"
	fiber3 "github.com/gofiber/fiber/v3"
	fiber3limiter "github.com/gofiber/fiber/v3/middleware/limiter"
	fiberredis "github.com/gofiber/storage/redis/v3"
	"github.com/redis/go-redis/v9"

	"recorder"
)

// datastore is the Redis datastore that RussellLuo/slidingwindow shows for its users: a
// counter <key>@<start in ns> that expires after two windows, anew with every addition.
type datastore struct {
	client *redis.Client
	ttl    time.Duration
}

func (d datastore) Add(key string, start, delta int64) (int64, error) {
	name := fmt.Sprintf("%s@%d", key, start)
	n, err := d.client.IncrBy(context.Background(), name, delta).Result()
	if err == nil {
		err = d.client.Expire(context.Background(), name, d.ttl).Err()
	}
	return n, err
}

func (d datastore) Get(key string, start int64) (int64, error) {
	n, err := d.client.Get(context.Background(), fmt.Sprintf("%s@%d", key, start)).Int64()
	if err == redis.Nil {
		err = nil
	}
	return n, err
}

func russellLuo() []recorder.Scenario {
	l := recorder.Library{
		Name: "russellluo-slidingwindow", Version: version("github.com/RussellLuo/slidingwindow"), Client: "go-redis " + version(goRedis),
		Algorithm: "sliding-window", Denied: "free", Call: "AllowN(time.Now(), %d)", InRedis: []string{"window"},
		Notes: []string{"the datastore is the user's; this one does what the library's own example does", "int(prev * weight) + cur + n > limit is refused",
			"windows are aligned by time.Truncate, to the year 1", "TTL 2 windows, renewed with every addition",
			"the previous window's count is the process's own snapshot"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			store := datastore{client: client(addr, db), ttl: 2 * c.Window()}
			interval := time.Duration(0)
			if s, ok := c.Other["sync_ms"].(int); ok {
				interval = time.Duration(s) * time.Millisecond
			}
			lim, _ := slidingwindow.NewLimiter(c.Window(), int64(c.Limit), func() (slidingwindow.Window, slidingwindow.StopFunc) {
				return slidingwindow.NewSyncWindow("alice", slidingwindow.NewBlockingSynchronizer(store, interval))
			})
			return func(cost int64) (recorder.Answer, error) {
				ok := lim.AllowN(time.Now(), cost)
				return recorder.Said(ok, ok), nil
			}, nil
		},
	}
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000), Story: recorder.Whole},
		recorder.Variant{Name: "sliding", Configured: recorder.Per(8, 4000), Story: recorder.Sliding},
		recorder.Variant{Name: "sync-200ms", Configured: recorder.Per(8, 4000).With("sync_ms", 200), Story: recorder.Sliding, Denied: "free",
			Notes: []string{"Redis is told at most every 200 ms: in between the process counts alone and Redis is behind"}},
		recorder.Variant{Name: "minute", Configured: recorder.Per(100, 60000), Story: recorder.RealisticCost},
	)
}

func httprateRedis() []recorder.Scenario {
	l := recorder.Library{
		Name: "httprate-redis", Version: version("github.com/go-chi/httprate-redis"), Client: "go-redis " + version(goRedis) + ", httprate " + version("github.com/go-chi/httprate"),
		Algorithm: "sliding-window", Denied: "free", Call: "OnLimit(w, r, \"alice\") with an increment of %d", InRedis: []string{"window"},
		Notes: []string{"<prefix>:<hash of key and window start>: the hash hides which keys belong together", "round(prev * weight + cur) + n > limit is refused",
			"TTL 3 windows in whole seconds, renewed with every request: the window is TTL / 3", "Retry-After is always the whole window",
			"windows are aligned by time.Truncate, to the year 1"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			config := &httprateredis.Config{Client: client(addr, db), WindowLength: c.Window(), FallbackDisabled: true}
			if p, ok := c.Other["prefix"].(string); ok {
				config.PrefixKey = p
			}
			lim := httprate.NewRateLimiter(int(c.Limit), c.Window(), httprateredis.WithRedisLimitCounter(config))
			return func(cost int64) (recorder.Answer, error) {
				w := httptest.NewRecorder()
				req := httptest.NewRequest(http.MethodGet, "/", nil)
				req = req.WithContext(httprate.WithIncrement(req.Context(), int(cost)))
				denied := lim.OnLimit(w, req, "alice")
				a := recorder.Said(!denied, w.Header())
				a.Limit, a.Remaining = header(w.Header(), "X-Ratelimit-Limit"), header(w.Header(), "X-Ratelimit-Remaining")
				if reset := header(w.Header(), "X-Ratelimit-Reset"); reset != nil {
					a.ResetAfterMS = until(int64(*reset))
				}
				if retry := header(w.Header(), "Retry-After"); retry != nil {
					a.RetryAfterMS = recorder.Number(*retry * 1000)
				}
				return a, nil
			}, nil
		},
	}
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000), Story: recorder.Whole},
		recorder.Variant{Name: "sliding", Configured: recorder.Per(8, 4000), Story: recorder.Sliding},
		recorder.Variant{Name: "prefix", Configured: recorder.Per(100, 60000).With("prefix", "myapp"), Story: recorder.RealisticCost},
	)
}

func fiberLimiter() []recorder.Scenario {
	l := recorder.Library{
		Name: "fiber-limiter", Version: version("github.com/gofiber/fiber/v2"),
		Client: "gofiber/storage/redis " + version("github.com/gofiber/storage/redis/v3"), Algorithm: "fixed-window", Denied: "charged",
		Call: "GET / through the middleware", InRedis: []string{},
		Notes: []string{"the value is msgpack: a map of currHits, prevHits and exp (Unix seconds of the window's end)",
			"the key is what the application's KeyGenerator returns, without a prefix", "the clock is the client's, in whole seconds",
			"X-RateLimit-Reset is in seconds from now; Retry-After only when refused"},
	}
	through := func(middleware fiberlimiter.LimiterHandler) func(recorder.Configured, string, int) (recorder.Ask, error) {
		return func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			app := fiber.New(fiber.Config{DisableStartupMessage: true})
			app.Use(fiberlimiter.New(fiberlimiter.Config{
				Max: int(c.Limit), Expiration: c.Window(), LimiterMiddleware: middleware,
				Storage:      fiberredis.New(fiberredis.Config{URL: fmt.Sprintf("redis://%s/%d", addr, db)}),
				KeyGenerator: func(*fiber.Ctx) string { return "alice" },
			}))
			app.Get("/", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusOK) })
			return asked(func() (*http.Response, error) { return app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1) }), nil
		}
	}
	through3 := func(middleware fiber3limiter.Handler) func(recorder.Configured, string, int) (recorder.Ask, error) {
		return func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			app := fiber3.New()
			app.Use(fiber3limiter.New(fiber3limiter.Config{
				Max: int(c.Limit), Expiration: c.Window(), LimiterMiddleware: middleware,
				Storage:      fiberredis.New(fiberredis.Config{URL: fmt.Sprintf("redis://%s/%d", addr, db)}),
				KeyGenerator: func(fiber3.Ctx) string { return "alice" },
			}))
			app.Get("/", func(c fiber3.Ctx) error { return c.SendStatus(http.StatusOK) })
			return asked(func() (*http.Response, error) { return app.Test(httptest.NewRequest(http.MethodGet, "/", nil)) }), nil
		}
	}
	sliding := l
	sliding.Algorithm = "sliding-window"
	sliding.Notes = append(append([]string{}, l.Notes...), "int(prev * (exp - now) / window) + cur > max is refused, denials counted in cur",
		"TTL (exp - now) + window")
	l.Notes = append(append([]string{}, l.Notes...), "TTL is the whole window, renewed with every request: the window is the TTL")
	l.InRedis, sliding.InRedis = []string{"window"}, []string{"window"}
	third, third3 := l, sliding
	third.Version, third3.Version = version("github.com/gofiber/fiber/v3"), version("github.com/gofiber/fiber/v3")
	return append(append(l.Scenarios(
		recorder.Variant{Name: "fixed", Configured: recorder.Per(5, 4000), Story: recorder.Single, Open: through(fiberlimiter.FixedWindow{})},
		recorder.Variant{Name: "fixed-minute", Configured: recorder.Per(100, 60000), Story: recorder.Realistic, Open: through(fiberlimiter.FixedWindow{})},
	), sliding.Scenarios(
		recorder.Variant{Name: "sliding", Configured: recorder.Per(8, 4000), Story: recorder.Sliding, Open: through(fiberlimiter.SlidingWindow{})},
	)...), append(third.Scenarios(
		recorder.Variant{Name: "3-fixed", Configured: recorder.Per(5, 8000), Story: recorder.Single, Open: through3(fiber3limiter.FixedWindow{})},
	), third3.Scenarios(
		recorder.Variant{Name: "3-sliding", Configured: recorder.Per(8, 4000), Story: recorder.Sliding, Open: through3(fiber3limiter.SlidingWindow{})},
	)...)...)
}

// asked returns a question that sends a request and reads what its headers say.
func asked(send func() (*http.Response, error)) recorder.Ask {
	return func(int64) (recorder.Answer, error) {
		res, err := send()
		if err != nil {
			return recorder.Answer{}, err
		}
		defer res.Body.Close()
		a := recorder.Said(res.StatusCode == http.StatusOK, map[string]any{"status": res.StatusCode, "headers": res.Header})
		a.Limit, a.Remaining = header(res.Header, "X-Ratelimit-Limit"), header(res.Header, "X-Ratelimit-Remaining")
		if reset := header(res.Header, "X-Ratelimit-Reset"); reset != nil {
			a.ResetAfterMS = recorder.Number(*reset * 1000)
		}
		if retry := header(res.Header, "Retry-After"); retry != nil {
			a.RetryAfterMS = recorder.Number(*retry * 1000)
		}
		return a, nil
	}
}
