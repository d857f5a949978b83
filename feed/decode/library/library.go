// Package library knows how the limiters of the world keep their state in Redis. libraries.yaml says
// what there is: of each library its layout, what it does not record, and what tells its counters. What
// has arithmetic of its own, its edge, its rounding, its clock and what it charges, has a function here.
//
// A key is recognized only when its name, its value and its expiry agree, so that a cached
// count, a session or a job queue is never taken for a limiter. Fixtures recorded by the
// libraries themselves hold every decoder to what the library answers; see
// feed/decode/testdata.
package library

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode"
	"ratescope/model"
)

//go:embed libraries.yaml
var described []byte

// recognizers are those of the libraries that libraries.yaml has no layout of, or that keep more: each recognizes the
// keys of its library.
var recognizers = map[string]func(*decode.Sample, decode.Context) *decode.Match{
	"bull":                        bull,
	"bullmq":                      bullMQ,
	"ratelimit-js":                ratelimitJS,
	"redis-rate-limiter":          redisRateLimiter,
	"limits":                      limits,
	"django-rest-framework":       djangoREST,
	"sentry":                      sentry,
	"symfony-rate-limiter":        symfony,
	"laravel":                     laravel,
	"discourse":                   discourse,
	"rack-attack":                 rackAttack,
	"apisix":                      apisix,
	"bucket4j":                    bucket4j,
	"kong":                        kong,
	"redisson":                    redisson,
	"envoy-ratelimit":             envoyRatelimit,
	"fiber-limiter":               fiberLimiter,
	"gin-rate-limit":              ginRateLimit,
	"go-redisstore":               goRedisstore,
	"russellluo-slidingwindow":    russellluo,
	"mennanov-limiters":           mennanov,
	"httprate-redis":              httprateRedis,
	"upstash-ratelimit":           upstash,
	"pyrate-limiter":              pyrateLimiter,
	"rolling-rate-limiter":        rollingRateLimiter,
	"sliding-window-rate-limiter": slidingWindowRateLimiter,
	model.OwnLibrary:              ratescope,
	"counter-sliding-window":      counterSlidingWindow,
}

// All returns the libraries, the ones with the most telling layouts first. The slice is not to be changed.
var All = sync.OnceValue(func() (all []*decode.Library) {
	var said []struct {
		Library decode.Library `yaml:",inline"`
		States  []state
	}
	d := yaml.NewDecoder(bytes.NewReader(described))
	d.KnownFields(true)
	if err := d.Decode(&said); err != nil {
		panic(err)
	}
	for i := range said {
		l, states := &said[i].Library, said[i].States
		own := recognizers[l.Name]
		if own == nil && states == nil {
			panic(fmt.Sprintf("libraries.yaml: %s has neither a layout nor a function", l.Name))
		}
		l.Recognize = func(s *decode.Sample, c decode.Context) (m *decode.Match) {
			if own != nil {
				m = own(s, c)
			}
			for i := 0; m == nil && i < len(states); i++ {
				m = states[i].recognize(s, c)
			}
			return m
		}
		all = append(all, l)
	}
	return all
})

// Recognizer returns what tells the limiters of all libraries from other keys. It is safe for concurrent use.
var Recognizer = sync.OnceValue(func() *decode.Recognizer { return decode.NewRecognizer(All()) })

// Named returns the library of that name, or nil.
func Named(name string) *decode.Library {
	if i := slices.IndexFunc(All(), func(l *decode.Library) bool { return l.Name == name }); i >= 0 {
		return All()[i]
	}
	return nil
}
