package session_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/session"
)

// TestRefusalsHaveBounds: a key that is at its limit is named beside how many script calls are refused at the least and at most.
func TestRefusalsHaveBounds(t *testing.T) {
	at := limiter.Instant(1_795_000_000_000_000)
	read := func(key string, used int64, recorded bool) model.Reading {
		return model.Reading{Key: key, Type: "string", At: at, TTL: time.Hour, Denied: model.Count{Known: recorded},
			State:  limiter.State{Algorithm: limiter.FixedWindow, Start: at.Floor(time.Hour), Current: used},
			Target: model.Target{Algorithm: limiter.FixedWindow, LimitKnown: true, Limit: limiter.Limit{Count: 10, Window: time.Hour}, Window: time.Hour}}
	}
	calls := []model.CommandStat{{Name: "evalsha", Scripts: true, Calls: 98.4}, {Name: "get", Calls: 900}}
	for _, tc := range []struct {
		health   model.Health
		asked    string // a key that is asked again and again
		link     model.Link
		readings []model.Reading
		want     string
	}{
		{model.Health{Commands: calls, Fruitless: model.Measure{Known: true, V: 3.7}}, "", model.Live,
			[]model.Reading{read("hot", 10, false), read("calm", 3, false)},
			"between 3 and 99/s script calls are refused: those of watched limiters at <hot>; "},
		{model.Health{Commands: calls, Fruitless: model.Measure{Known: true}}, "", model.Live,
			[]model.Reading{read("b", 10, false), read("a", 11, false), read("c", 12, true)},
			"between 0 and 99/s script calls are refused: those of watched limiters at <a> or 1 more at their limits; "},
		{model.Health{Commands: calls, Fruitless: model.Measure{Known: true}}, "b", model.Live,
			[]model.Reading{read("b", 10, false), read("a", 11, false)}, "<b> asked again and again at its limit, up to 99/s: others read <b> and "},
		{model.Health{Commands: calls, Fruitless: model.Measure{Known: true}}, "calm", model.Live,
			[]model.Reading{read("calm", 3, false), read("told", 12, true)}, ""},
		{model.Health{Commands: calls}, "", model.Live,
			[]model.Reading{read("hot", 10, false)}, ""},
		{model.Health{Commands: calls[1:], Fruitless: model.Measure{Known: true}}, "", model.Live,
			[]model.Reading{read("hot", 10, false)}, ""},
		{model.Health{Commands: calls, Fruitless: model.Measure{Known: true}}, "", model.Down, []model.Reading{read("hot", 10, false)}, ""},
	} {
		var b model.Board
		b.Apply(model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Readings: tc.readings})
		b.Server.Link, b.HotKeys.Keys = tc.link, []model.HotKey{{Key: tc.asked, Asked: model.Measure{Known: tc.asked != "", V: 1}}}
		says := ""
		for _, c := range session.Refusals(&tc.health, &b, false, func(key string) string { return "<" + key + ">" }) {
			says += c.What + ": " + c.Why
		}
		if !strings.HasPrefix(says, tc.want) || tc.want == "" && says != "" {
			t.Errorf("of %+v it says %q, want %q", tc.readings, says, tc.want)
		}
	}
}

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
		{"six calm nodes", model.Health{At: at, Nodes: 6, CPU: known(0.9)}, live, nil},
		{"six busy nodes", model.Health{At: at, Nodes: 6, CPU: known(5.4)}, live, []string{"cpu 540.0%"}},
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
