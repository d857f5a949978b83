package tuitest

import (
	"math"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// lookEvery is how often the feed looks at its server's health.
const lookEvery = 2 * time.Second

// health is how a made-up server does at an instant: busy, a little full, with scripts, an
// error now and then and a slow command on record.
func health(now limiter.Instant) *model.Health {
	known := func(v float64) model.Measure { return model.Measure{Known: true, V: v} }
	wave := 0.5 + 0.5*math.Sin(float64(now%60e6)/60e6*2*math.Pi)
	ops := math.Round(1200 + 800*wave)
	script := time.Duration(18+10*wave) * time.Microsecond
	return &model.Health{
		At: now, Over: lookEvery,
		Ops: known(ops), CPU: known(0.12 + 0.2*wave), MemoryUsed: known(412e6 + 30e6*wave), MemoryMax: known(512e6), Policy: "volatile-lru",
		Keys: known(48213), Clients: known(37), Blocked: known(2), NetIn: known(120e3 * (1 + wave)), NetOut: known(310e3 * (1 + wave)),
		Evicted: known(0), Expired: known(12), Fruitless: known(ops / 2), Replicas: known(1), Lag: known(0), LinkUp: true,
		Commands: []model.CommandStat{
			{Name: "evalsha", Calls: ops / 2, Mean: script, P99: 6 * script, Total: 9_120_344, Scripts: true},
			{Name: "zrangebyscore", Calls: 40, Mean: 9 * time.Microsecond, P99: 31 * time.Microsecond, Total: 80_112},
			{Name: "get", Calls: ops / 4, Mean: 2 * time.Microsecond, P99: 5 * time.Microsecond, Failed: 0.5, Total: 4_002_917},
			{Name: "info", Calls: 0.5, Mean: 180 * time.Microsecond, P99: 410 * time.Microsecond, Total: 1_004},
		},
		Errors: []model.ErrorStat{{Name: "NOSCRIPT", Rate: 0.5, Total: 14}, {Name: "WRONGTYPE", Total: 2}},
		Slow: []model.SlowCommand{
			{ID: 2, At: now - now%60e6, Took: 14 * time.Millisecond, Command: "ZREMRANGEBYSCORE", Keys: []string{"rl:search"}, Rest: 2},
			{ID: 1, At: now - now%60e6 - 90e6, Took: 11 * time.Millisecond, Command: "KEYS", Rest: 1},
		},
	}
}
