package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/gin-gonic/gin"
	"github.com/ulule/limiter/v3"
	ginulule "github.com/ulule/limiter/v3/drivers/middleware/gin"
	uluredis "github.com/ulule/limiter/v3/drivers/store/redis"
	"github.com/zeromicro/go-zero/core/limit"
	"github.com/zeromicro/go-zero/core/logx"
	zeroredis "github.com/zeromicro/go-zero/core/stores/redis"

	"recorder"
)

func uluLimiter() []recorder.Scenario {
	open := func(c recorder.Configured, addr string, db int) (*limiter.Limiter, error) {
		options := limiter.StoreOptions{Prefix: limiter.DefaultPrefix}
		if p, ok := c.Other["prefix"].(string); ok {
			options.Prefix = p
		}
		store, err := uluredis.NewStoreWithOptions(client(addr, db), options)
		if err != nil {
			return nil, err
		}
		return limiter.New(store, limiter.Rate{Limit: int64(c.Limit), Period: c.Window()}), nil
	}
	l := recorder.Library{
		Name: "ulule-limiter", Version: version("github.com/ulule/limiter/v3"), Client: "go-redis " + version(goRedis),
		Algorithm: "fixed-window", Denied: "charged", Call: "Increment(ctx, \"alice\", %d)", InRedis: []string{},
		Notes: []string{"Reset is a Unix time in whole seconds, rounded down", "the window begins with the first request (PEXPIRE)",
			"a cost is counted whole even when it is refused"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			lim, err := open(c, addr, db)
			if err != nil {
				return nil, err
			}
			return func(cost int64) (recorder.Answer, error) {
				x, err := lim.Increment(context.Background(), "alice", cost)
				if err != nil {
					return recorder.Answer{}, err
				}
				a := recorder.Said(!x.Reached, x)
				a.Limit, a.Remaining, a.ResetAfterMS = recorder.Number(x.Limit), recorder.Number(x.Remaining), until(x.Reset)
				return a, nil
			}, nil
		},
	}
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000), Story: recorder.Whole},
		recorder.Variant{Name: "prefix", Configured: recorder.Per(3, 2500).With("prefix", "api_v1"), Story: recorder.Single},
		recorder.Variant{Name: "minute", Configured: recorder.Per(100, 60000), Story: recorder.RealisticCost},
		recorder.Variant{Name: "gin", Configured: recorder.Per(5, 4000), Story: recorder.Single, Call: "GET / through the gin middleware",
			Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
				lim, err := open(c, addr, db)
				if err != nil {
					return nil, err
				}
				return throughGin(ginulule.NewMiddleware(lim), "X-RateLimit-"), nil
			}},
	)
}

// throughGin asks a gin middleware and reads its headers.
func throughGin(middleware gin.HandlerFunc, prefix string) recorder.Ask {
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
	g.Use(middleware)
	g.GET("/", func(c *gin.Context) { c.Status(http.StatusOK) })
	return func(int64) (recorder.Answer, error) {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		a := recorder.Said(w.Code == http.StatusOK, map[string]any{"status": w.Code, "headers": w.Header()})
		a.Limit, a.Remaining = header(w.Header(), prefix+"Limit"), header(w.Header(), prefix+"Remaining")
		if reset := header(w.Header(), prefix+"Reset"); reset != nil {
			a.ResetAfterMS = until(int64(*reset))
		}
		return a, nil
	}
}

func header(h http.Header, name string) *float64 {
	v, err := strconv.ParseFloat(h.Get(name), 64)
	if err != nil {
		return nil
	}
	return &v
}

func ginRateLimit() []recorder.Scenario {
	l := recorder.Library{
		Name: "gin-rate-limit", Version: version("github.com/JGLTechnologies/gin-rate-limit"), Client: "go-redis " + version(goRedis),
		Algorithm: "fixed-window", Denied: "free", Call: "GET / through the middleware", InRedis: []string{"window"},
		Notes: []string{"<key>ts holds the Unix second of the last admitted request, so the window begins anew with every admitted request",
			"the TTL of both keys is twice the window, so the window can be read from it", "the default key is the client address with the path",
			"the clock is the client's, in whole seconds"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			store := ratelimit.RedisStore(&ratelimit.RedisOptions{RedisClient: client(addr, db), Rate: c.Window(), Limit: uint(c.Limit)})
			return throughGin(ratelimit.RateLimiter(store, nil), "X-Rate-Limit-"), nil
		},
	}
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000), Story: recorder.Single},
		recorder.Variant{Name: "slow", Configured: recorder.Per(3, 3000), Story: func(r *recorder.Run) error {
			for range 4 { // each request within a window of the one before
				if err := r.After(1500*time.Millisecond, 1); err != nil {
					return err
				}
			}
			return r.Peek()
		}, Notes: []string{"requests 1.5 s apart under 3 in 3 s: the fourth is refused, because the window never ends"}},
		recorder.Variant{Name: "minute", Configured: recorder.Per(100, 60000), Story: recorder.Realistic},
	)
}

func goZero() []recorder.Scenario {
	logx.Disable()
	period := recorder.Library{
		Name: "go-zero", Version: version("github.com/zeromicro/go-zero"), Client: "go-redis " + version(goRedis),
		Algorithm: "fixed-window", Denied: "charged", Call: "Take(\"alice\")", InRedis: []string{}, Alone: true,
		Notes: []string{"answers are 1 allowed, 2 hit the quota (allowed), 3 over", "the window begins with the first request (EXPIRE)"},
	}
	take := func(options ...limit.PeriodOption) func(recorder.Configured, string, int) (recorder.Ask, error) {
		return func(c recorder.Configured, addr string, _ int) (recorder.Ask, error) {
			lim := limit.NewPeriodLimit(int(c.WindowMS/1000), int(c.Limit), zeroredis.New(addr), "periodlimit:", options...)
			return func(int64) (recorder.Answer, error) {
				code, err := lim.Take("alice")
				if err != nil {
					return recorder.Answer{}, err
				}
				return recorder.Said(code != limit.OverQuota, code), nil
			}, nil
		}
	}
	all := period.Scenarios(
		recorder.Variant{Name: "period", Configured: recorder.Per(5, 4000), Story: recorder.Single, Open: take()},
		recorder.Variant{Name: "period-aligned", Configured: recorder.Per(5, 4000).With("align", true), Story: recorder.Single, Open: take(limit.Align()),
			Notes: []string{"aligned: the TTL is the rest of the window on the local clock, in whole seconds"}},
		recorder.Variant{Name: "period-minute", Configured: recorder.Per(100, 60000), Story: recorder.Realistic, Open: take()},
	)
	token := period
	token.Algorithm, token.Denied, token.Call = "token-bucket", "partly", "AllowN(time.Now(), %d)"
	token.InRedis = []string{"limit"}
	token.Notes = []string{"limit and window_ms are the rate, burst is the capacity", "the clock is the client's, in whole seconds",
		"a refused request moves the timestamp and stores the refilled tokens, it takes none",
		"TTL floor(2 * burst / rate) on every call: the quotient burst / rate can be read from it"}
	token.Open = func(c recorder.Configured, addr string, _ int) (recorder.Ask, error) {
		lim := limit.NewTokenLimiter(int(c.Limit), int(*c.Burst), zeroredis.New(addr), "alice")
		return func(cost int64) (recorder.Answer, error) {
			ok := lim.AllowN(time.Now(), int(cost))
			return recorder.Said(ok, ok), nil
		}, nil
	}
	return append(all, token.Scenarios(
		recorder.Variant{Name: "token", Configured: recorder.Per(1, 1000).WithBurst(5), Story: recorder.Bucket},
		recorder.Variant{Name: "token-fast", Configured: recorder.Per(3, 1000).WithBurst(8), Story: recorder.Bucket},
		recorder.Variant{Name: "token-realistic", Configured: recorder.Per(100, 1000).WithBurst(1000), Story: recorder.RealisticCost},
	)...)
}
