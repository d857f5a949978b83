package session_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/session"
)

func TestConcerns(t *testing.T) {
	known := func(v float64) model.Measure { return model.Measure{Known: true, V: v} }
	at := limiter.Instant(1_700_000_000_000_000)
	live := model.Server{Link: model.Live, Role: "master", RTT: time.Millisecond}
	for _, tc := range []struct {
		name   string
		health model.Health
		server model.Server
		want   []string // beginnings of What, the worst first; a bad one begins with "!"
	}{
		{"nothing is known", model.Health{}, live, nil},
		{"all is well", model.Health{At: at, Evicted: known(0), CPU: known(0.3), MemoryUsed: known(10), MemoryMax: known(100), Lag: known(0)},
			live, nil},
		{"no limit of memory", model.Health{At: at, MemoryUsed: known(10), MemoryMax: known(0)}, live, nil},
		{"memory", model.Health{At: at, MemoryUsed: known(93), MemoryMax: known(100), Policy: "noeviction"}, live, []string{"memory 93% full"}},
		{"evictions come before memory", model.Health{At: at, MemoryUsed: known(99), MemoryMax: known(100), Evicted: known(12)}, live,
			[]string{"!evicts 12.0/s", "memory"}},
		{"a refused write comes before a missing script", model.Health{At: at,
			Errors: []model.ErrorStat{{Name: "NOSCRIPT", Rate: 9}, {Name: "OOM", Rate: 1}}}, live, []string{"!OOM 1.0/s", "NOSCRIPT 9.0/s"}},
		{"errors of the past", model.Health{At: at, Errors: []model.ErrorStat{{Name: "OOM", Total: 7}}}, live, nil},
		{"a busy core", model.Health{At: at, CPU: known(0.97)}, live, []string{"cpu 97.0%"}},
		{"far away", model.Health{At: at}, model.Server{Link: model.Live, RTT: 80 * time.Millisecond}, []string{"rtt 80ms"}},
		{"a slow command", model.Health{At: at, Slow: []model.SlowCommand{{At: at - 10e6, Took: 14 * time.Millisecond, Command: "KEYS *"}}}, live,
			[]string{"slow command 14ms"}},
		{"a slow command of yesterday", model.Health{At: at, Slow: []model.SlowCommand{{At: at - 86400e6, Took: time.Second}}}, live, nil},
		{"a replica behind", model.Health{At: at, Lag: known(5 << 20), LinkUp: true}, model.Server{Link: model.Live, Role: "replica"},
			[]string{"replica 5.0M behind"}},
		{"a replica alone", model.Health{At: at, Unheard: known(8)}, model.Server{Link: model.Live, Role: "replica"}, []string{"!no link"}},
		{"a snapshot that failed", model.Health{At: at, SaveFailed: []string{"BGSAVE"}}, live, []string{"!BGSAVE failed"}},
		{"away", model.Health{At: at, Evicted: known(12)}, model.Server{Link: model.Down}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := session.Concerns(&tc.health, tc.server)
			if len(got) != len(tc.want) {
				t.Fatalf("%d concerns, want %d: %+v", len(got), len(tc.want), got)
			}
			for i, c := range got {
				what, bad := strings.CutPrefix(tc.want[i], "!")
				if !strings.HasPrefix(c.What, what) || c.Bad != bad || c.Why == "" {
					t.Errorf("concern %d is %+v, want %q, bad %v, with a reason", i, c, what, bad)
				}
			}
		})
	}
}
