// Command publishedgateway writes fixtures of rate limiters of gateways and frameworks that
// no registry reachable here has: it issues the Redis commands that their published sources
// issue, and computes the answers by the rules published there. Nothing of those sources is
// copied; the scripts' commands are issued one by one.
package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"recorder"
)

func main() {
	recorder.Main("published-gateway", springCloudGateway(), stripe(), redisson(), bucket4j(), kong(), apisix(), traefik(), tyk(),
		redisCell(), aspnetcore(), redisTutorials(), increx(), restyRatelimit())
}

// store is the Redis of one scenario. Its methods panic on an error of the server, which
// opening turns into an error of the call.
type store struct {
	c   *redis.Client
	ctx context.Context
}

type rule func(c recorder.Configured, s store, cost int64) recorder.Answer

// opening returns an Open that asks the rule.
func opening(r rule) func(recorder.Configured, string, int) (recorder.Ask, error) {
	return func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		s := store{c: redis.NewClient(&redis.Options{Addr: addr, DB: db, Protocol: 2, DisableIdentity: true}), ctx: context.Background()}
		return func(cost int64) (a recorder.Answer, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("%v", p)
				}
			}()
			return r(c, s, cost), nil
		}, nil
	}
}

// do sends a command and returns its answer, nil for a missing value.
func (s store) do(words ...any) any {
	v, err := s.c.Do(s.ctx, words...).Result()
	if err != nil && err != redis.Nil {
		panic(fmt.Sprintf("%v: %v", words, err))
	}
	return v
}

// number sends a command whose answer is a number. It returns missing for none.
func (s store) number(missing float64, words ...any) float64 { return number(s.do(words...), missing) }

func number(v any, missing float64) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			panic(err)
		}
		return f
	}
	return missing
}

// seconds returns the server's clock in whole seconds.
func (s store) seconds() float64 { return float64(s.c.Time(s.ctx).Val().Unix()) }

// library fills in what all published ones have in common.
func library(name, version, algorithm, denied, call string, inRedis []string, r rule, notes ...string) recorder.Library {
	return recorder.Library{Name: name, Version: version, Client: "commands of the published source", Source: "published",
		Algorithm: algorithm, Denied: denied, Call: call, InRedis: inRedis, Notes: notes, Open: opening(r)}
}

// answer returns an answer with what the library tells its caller as raw.
func answer(allowed bool, limit, remaining, retryMS, resetMS *float64, raw any) recorder.Answer {
	a := recorder.Said(allowed, raw)
	a.Limit, a.Remaining, a.RetryAfterMS, a.ResetAfterMS = limit, remaining, retryMS, resetMS
	return a
}

func num(f float64) *float64 { return &f }

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// lua formats a number as Lua does when it becomes an argument of a command.
func lua(f float64) string { return strconv.FormatFloat(f, 'g', 17, 64) }
