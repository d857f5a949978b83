package main

import (
	"context"
	"io"
	"math/rand"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	envoyredis "github.com/envoyproxy/ratelimit/src/redis"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	"github.com/envoyproxy/ratelimit/src/utils"
	gostats "github.com/lyft/gostats"
	"github.com/sirupsen/logrus"

	"recorder"
)

func envoy() []recorder.Scenario {
	logrus.SetOutput(io.Discard)
	units := map[float64]pb.RateLimitResponse_RateLimit_Unit{
		1000: pb.RateLimitResponse_RateLimit_SECOND, 60000: pb.RateLimitResponse_RateLimit_MINUTE,
		3600000: pb.RateLimitResponse_RateLimit_HOUR, 86400000: pb.RateLimitResponse_RateLimit_DAY,
	}
	l := recorder.Library{
		Name: "envoy-ratelimit", Version: version("github.com/envoyproxy/ratelimit"), Client: "radix v4", Algorithm: "fixed-window", Denied: "charged",
		Call: "DoLimit(ctx, request with hits_addend %d, limits)", InRedis: []string{"window"}, Alone: true,
		Notes: []string{"<prefix><domain>_<key>_<value>_<window start in s>", "EXPIRE with the unit and up to jitter - 1 seconds more, anew with every request", "duration_until_reset is in whole seconds",
			"the clock is the client's, in whole seconds"},
		Open: func(c recorder.Configured, addr string, _ int) (recorder.Ask, error) {
			store := gostats.NewStore(gostats.NewNullSink(), false)
			manager := stats.NewStatManager(store, settings.Settings{})
			cl := envoyredis.NewClientImpl(store, false, "", "tcp", "single", addr, 1, 0, 0, nil, false, nil, 5*time.Second, "", "")
			jitter, _ := c.Other["jitter_s"].(int)
			stop, _ := c.Other["stop_cache_key_increment_when_overlimit"].(bool)
			prefix, _ := c.Other["prefix"].(string)
			cache := envoyredis.NewFixedRateLimitCacheImpl(cl, nil, utils.NewTimeSourceImpl(), rand.New(utils.NewLockedSource(time.Now().Unix())),
				int64(jitter), nil, 0.8, prefix, manager, stop)
			limits := []*config.RateLimit{config.NewRateLimit(uint32(c.Limit), units[c.WindowMS], manager.NewStats("web"), false, false, false, "", nil, false)}
			return func(cost int64) (recorder.Answer, error) {
				request := &pb.RateLimitRequest{Domain: "web", HitsAddend: uint32(cost), Descriptors: []*common.RateLimitDescriptor{
					{Entries: []*common.RateLimitDescriptor_Entry{{Key: "remote_address", Value: "10.0.0.1"}}}}}
				s := cache.DoLimit(context.Background(), request, limits)[0]
				a := recorder.Said(s.Code == pb.RateLimitResponse_OK, s)
				a.Limit, a.Remaining = recorder.Number(float64(s.CurrentLimit.RequestsPerUnit)), recorder.Number(float64(s.LimitRemaining))
				a.ResetAfterMS = ms(s.DurationUntilReset.AsDuration())
				return a, nil
			}, nil
		},
	}
	return l.Scenarios(
		recorder.Variant{Name: "second", Configured: recorder.Per(5, 1000), Story: recorder.Whole},
		recorder.Variant{Name: "minute", Configured: recorder.Per(10, 60000).With("jitter_s", 300), Story: recorder.Over},
		recorder.Variant{Name: "hour-prefix", Configured: recorder.Per(100, 3600000).With("jitter_s", 300).With("prefix", "rl:"), Story: recorder.RealisticCost},
		recorder.Variant{Name: "day", Configured: recorder.Per(1000, 86400000).With("jitter_s", 300), Story: recorder.RealisticCost},
		recorder.Variant{Name: "stop-increment", Configured: recorder.Per(5, 1000).With("stop_cache_key_increment_when_overlimit", true), Story: recorder.Whole,
			Notes: []string{"a GET goes before the increment; with a single descriptor a refused request is charged all the same"}},
	)
}
