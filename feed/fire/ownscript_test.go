package fire_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

const (
	ownWindow = `local n = redis.call('INCRBY', KEYS[1], ARGV[2])
if n == tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n`
	ownLog = `redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[3] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return {0, 'denied'} end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, 'admitted'}`
)

// ownRules are rules of limiters that a program keeps by its own scripts, in a folder of their own.
const ownRules = `rules:
- {name: "fw:{who}", read: value, charged: true, limit: 10/500h, script: {file: window.lua, keys: ["fw:{who}"], args: ["{window_ms}", "{cost}"], admitted: "<=10"}}
- {name: "iw:{who}:{window:index}", read: value, charged: true, limit: 10/500h, script: {file: window.lua, keys: ["iw:{who}:{window:index}"], args: ["{window_ms}", "{cost}"], admitted: "<=10"}}
- {name: "lg:{who}", read: zset, unit: ms, limit: 10/500h, script: {file: log.lua, keys: ["lg:{who}"], args: ["{limit}", "{window_ms}", "{now_ms}", "{id}"]}}
- {name: "up:{who}", read: value, limit: 10/500h, script: {file: log.lua, keys: ["elsewhere:{who}"]}}
- {name: "sl:{who}", read: value, limit: 10/500h, script: {file: window.lua, keys: ["sl:{who}", "more:{who}"], args: ["{window_ms}", "{cost}"]}}
- {name: "id:{who}", read: value, limit: 10/500h, script: {file: log.lua, keys: ["id:{who}", "{id}"]}}
- {name: "no:{who}", read: value, limit: 10/500h}
- {name: "ch:{who}", read: value, charged: true, limit: 10/500h}
- {name: "zs:{who}", read: zset, unit: s, limit: 10/500h}
- {name: "mn:{who}:{window:index}", read: value, limit: 10/500h}
- {name: "wt:{who}:{window:index}", read: value, weigh: floor, limit: 10/500h}
- {name: "bad:{who}", read: value, limit: 10/500h, script: {file: bad.lua, keys: ["bad:{who}"]}}
- {name: "odd:{who}", read: value, limit: 10/500h, script: {file: odd.lua, keys: ["odd:{who}"]}}
`

// ownConfig loads ownRules.
func ownConfig(t *testing.T) []config.Rule {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"window.lua": ownWindow, "log.lua": ownLog, "rules.yaml": ownRules,
		"bad.lua": "redis.call('INCR', KEYS[1])\nreturn redis.call('LPUSH', KEYS[1], 'x')", "odd.lua": "redis.call('INCR', KEYS[1])\nreturn 'fine'",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(filepath.Join(folder, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return c.Rules
}

// ownOrder returns an order of n requests at a key or row, and an injector.
func ownOrder(t *testing.T, url, key string, n int) (model.Order, *fire.Injector, string) {
	t.Helper()
	o := feed.Options{URLs: []string{url}, Rules: ownConfig(t), Keys: []string{key}}
	src := newRedis(t, o)
	_, r, err := feed.ReadKey(t.Context(), src, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit")
	return model.Order{Key: key, Target: mustAim(t, r), Cost: 1, N: n}, patient(t, newRedis(t, o), path), path
}

// TestOwnScript fires 12 requests at limits of 10 by the scripts of a program, one after the other and at a rate,
// and takes them back; what the keys held before, and that they did not exist, is as it was.
func TestOwnScript(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now := fmt.Sprint(s.Now().Millis() / 1000)
	for _, c := range []struct {
		key      string
		seed     []string
		rate     float64
		admitted int
		tried    string // of what the first request wrote on a copy
	}{
		{key: "fw:alice", admitted: 10, tried: "INCRBY fw:alice 1 = 1, PEXPIRE fw:alice 1800000000 = 1"},
		{key: "fw:bob", seed: []string{"SET", "fw:bob", "4", "EX", "900000"}, admitted: 6, tried: "INCRBY fw:bob 1 = 5"},
		{key: "iw:alice", admitted: 10, tried: "INCRBY iw:alice:"}, {key: "lg:alice", admitted: 10, tried: "ZADD lg:alice "},
		{key: "no:dan", seed: []string{"SET", "no:dan", "4", "EX", "900000"}, admitted: 6, tried: "INCRBY no:dan 1 = 5"},
		{key: "ch:dan", seed: []string{"SET", "ch:dan", "4", "EX", "900000"}, admitted: 6, tried: "INCRBY ch:dan 1 = 5"},
		{key: "zs:dan", seed: []string{"ZADD", "zs:dan", now + ".25", "a", now, "b"}, admitted: 8, tried: "ZADD zs:dan 1"},
		{key: "lg:bob", rate: 200, admitted: 10, tried: "PEXPIRE lg:bob"}, {key: "fw:carl", rate: 200, admitted: 10, tried: "INCRBY fw:carl"},
	} {
		if s.CLI("FLUSHALL"); c.seed != nil {
			s.CLI(c.seed...)
		}
		before := held(t, s)
		order, i, path := ownOrder(t, s.URL(), c.key, 12)
		order.Rate = c.rate
		lines, err := i.Preview(t.Context(), order)
		if err != nil || len(lines) != 2 || !strings.HasPrefix(lines[1], "on a copy it wrote ") || !strings.Contains(lines[1], c.tried) {
			t.Errorf("%s: the ticket says %q, %v, want %s", c.key, lines, err, c.tried)
		}
		if held(t, s) != before {
			t.Errorf("%s: the preview has written", c.key)
		}
		id := ""
		got, err := i.Fire(t.Context(), order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") })
		if want := (model.Outcomes{Admitted: c.admitted, Denied: 12 - c.admitted}); err != nil || got != want {
			t.Fatalf("%s: %+v, %v, want %+v", c.key, got, err, want)
		}
		text, err := os.ReadFile(path)
		for line, n := range map[string]int{`"outcome":"begun"`: 1, `"outcome":"pending"`: 12, `"outcome":"denied"`: 12 - c.admitted, `"outcome":"ended"`: 1, `retry_after_ms`: 0} {
			if err != nil || strings.Count(string(text), line) != n {
				t.Errorf("%s: %s is %d times in the audit file, want %d (%v)", c.key, line, strings.Count(string(text), line), n, err)
			}
		}
		if held(t, s) == before {
			t.Errorf("%s: nothing was written", c.key)
		}
		if u, err := i.TakeBack(t.Context(), model.TakeBack{Action: id, Withdraw: true}); err == nil {
			t.Errorf("%s: withdrawn: %+v", c.key, u)
		}
		if u, err := i.TakeBack(t.Context(), model.TakeBack{Action: id}); err != nil || u.Requests != 12 || held(t, s) != before {
			t.Errorf("%s: %+v, %v: holds\n%s\nand held\n%s", c.key, u, err, held(t, s), before)
		}
	}
}

// TestOwnScriptOfAWindow: an order at the key of a window may write that key and those of the windows that follow.
func TestOwnScriptOfAWindow(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now, window := time.Now().Unix(), int64(500*3600)
	key := func(n int64) string { return fmt.Sprintf("iw:alice:%d", now/window+n) }
	s.CLI("SET", key(0), "3")
	order, i, _ := ownOrder(t, s.URL(), key(0), 1)
	if got := i.Keys(order, limiter.InstantOf(time.Now())); !slices.Equal(got, []string{key(0), key(1), key(2)}) {
		t.Errorf("%v", got)
	}
}

// TestOwnScriptAfterAKill: what a program's own script charged before its process was killed is not known, and undo
// says what the keys held before.
func TestOwnScriptAfterAKill(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("SET", "fw:bob", "4", "EX", "900000")
	order, i, path := ownOrder(t, s.URL(), "fw:bob", 3)
	id := ""
	if _, err := i.Fire(t.Context(), order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n") // the last one says that the action ended
	killed := strings.ReplaceAll(strings.Join(lines[:len(lines)-1], ""), fmt.Sprintf(`"pid":%d`, os.Getpid()), `"pid":0`)
	servertest.WriteFile(t, path, killed)
	for name, withdraw := range map[string]bool{"undo": false, "withdraw": true} {
		if _, err := i.TakeBack(t.Context(), model.TakeBack{Action: id, Withdraw: withdraw}); err == nil || !strings.Contains(err.Error(), "fw:bob held string, 4, until ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOwnScriptIsLost: a server that forgets a script is sent its text once more, and counts no request twice.
func TestOwnScriptIsLost(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	order, i, _ := ownOrder(t, s.URL(), "fw:alice", 4)
	if _, err := i.Fire(t.Context(), order, func(model.Fired) { s.CLI("SCRIPT", "FLUSH") }); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(s.CLI("GET", "fw:alice")); got != "4" {
		t.Errorf("the counter is %s after four requests", got)
	}
}

// TestOwnScriptKeepsOthers: an undo that would lose what others wrote, during the action or since, is refused.
func TestOwnScriptKeepsOthers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for name, c := range map[string]struct{ during, since bool }{"during": {during: true}, "since": {since: true}} {
		s.CLI("FLUSHALL")
		order, i, _ := ownOrder(t, s.URL(), "fw:alice", 3)
		id := ""
		_, err := i.Fire(t.Context(), order, func(f model.Fired) {
			if id, _, _ = strings.Cut(f.Audit, "."); c.during {
				s.CLI("INCR", "fw:alice")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.since {
			s.CLI("INCR", "fw:alice")
		}
		before := held(t, s)
		if _, err := i.TakeBack(t.Context(), model.TakeBack{Action: id}); err == nil || !strings.Contains(err.Error(), "another program") || held(t, s) != before {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlainCounterIsFreed removes the counter of the present window of a rule without a script, and undo puts it back.
func TestPlainCounterIsFreed(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	n := s.Now().Millis() / (500 * time.Hour).Milliseconds()
	s.CLI("SET", fmt.Sprintf("mn:hot:%d", n-1), "9", "EX", "900000")
	ended := held(t, s)
	s.CLI("SET", fmt.Sprintf("mn:hot:%d", n), "4", "EX", "900000")
	before := held(t, s)
	order, i, _ := ownOrder(t, s.URL(), "mn:hot", 1)
	order.Change = model.Change{Kind: model.Free}
	lines, err := i.Preview(t.Context(), order)
	if text := strings.Join(lines, "; "); err != nil || !strings.Contains(strings.ToLower(text), fmt.Sprintf("unlink mn:hot:%d", n)) {
		t.Errorf("the ticket says %s, %v", text, err)
	}
	done, err := i.Change(t.Context(), order)
	if after := held(t, s); err != nil || len(done.Removed) != 1 || after != ended {
		t.Fatalf("%+v, %v: %s", done, err, after)
	}
	if _, err := i.TakeBack(context.Background(), model.TakeBack{Action: done.Action}); err != nil || held(t, s) != before {
		t.Errorf("not undone, %v: %s", err, held(t, s))
	}
	if order.Change = (model.Change{Kind: model.Give, Units: 3}); err == nil {
		if _, err = i.Change(t.Context(), order); err == nil {
			t.Error("room was given")
		}
	}
}

// TestOwnScriptRefused: what cannot be fired at for certain is not fired at, and a request of unknown outcome
// stops the order.
func TestOwnScriptRefused(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	rules := ownConfig(t)
	aim := func(key string) (model.Target, error) {
		_, r, err := feed.ReadKey(t.Context(), newRedis(t, feed.Options{URLs: []string{s.URL()}, Rules: rules, Keys: []string{key}}), key)
		if err != nil {
			t.Fatal(err)
		}
		return r.Aim()
	}
	for _, key := range []string{"no:alice", "wt:alice"} { // the expiry is not known, and what the window before has left
		if _, err := aim(key); err == nil || !strings.Contains(err.Error(), "add script") {
			t.Errorf("%s without a script: %v", key, err)
		}
	}
	for key, cause := range map[string]string{"up:alice": "not called with up:alice", "id:alice": "differ from request to request"} {
		order, i, _ := ownOrder(t, s.URL(), key, 1)
		if _, err := i.Fire(t.Context(), order, nil); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := i.Preview(t.Context(), order); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("preview of %s: %v", key, err)
		}
	}
	order, i, _ := ownOrder(t, s.URL(), "fw:alice", 1)
	scratch := order
	scratch.Scratch = true
	if _, err := i.Fire(t.Context(), scratch, nil); err == nil || !strings.Contains(err.Error(), "--scratch") {
		t.Errorf("a scratch copy: %v", err)
	}
	unarmed := newRedis(t, feed.Options{URLs: []string{s.URL()}, Rules: rules}).Injector(fire.Options{AuditPath: filepath.Join(t.TempDir(), "audit")})
	if _, err := unarmed.Fire(t.Context(), order, nil); err == nil || !strings.Contains(err.Error(), "--allow-inject") {
		t.Errorf("unarmed: %v", err)
	}
	change := order
	change.Change = model.Change{Kind: model.Free}
	if _, err := i.Change(t.Context(), change); err == nil {
		t.Error("its keys were freed")
	}
	if got := s.CLI("DBSIZE"); !strings.Contains(got, "0") {
		t.Errorf("refusals wrote: %s", got)
	}
	for _, key := range []string{"bad:alice", "odd:alice"} {
		before := held(t, s)
		order, i, _ := ownOrder(t, s.URL(), key, 5)
		id := ""
		got, err := i.Fire(t.Context(), order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") })
		if err == nil || got != (model.Outcomes{Unanswered: 1}) {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
		if _, err := i.TakeBack(context.Background(), model.TakeBack{Action: id}); err != nil || held(t, s) != before {
			t.Errorf("%s is not taken back: %v", key, err)
		}
	}
}

// TestOwnScriptOfACluster: the script is run where its keys lie, and not at all if they lie in two slots.
func TestOwnScriptOfACluster(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	for _, key := range []string{"fw:alice", "fw:bob", "fw:carl"} {
		order, i, _ := ownOrder(t, nodes[0].URL()+"?cluster=true", key, 12)
		id := ""
		got, err := i.Fire(t.Context(), order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") })
		if err != nil || got != (model.Outcomes{Admitted: 10, Denied: 2}) {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
		if u, err := i.TakeBack(t.Context(), model.TakeBack{Action: id}); err != nil || !slices.Equal(u.Removed, []string{key}) {
			t.Errorf("%s: %+v, %v", key, u, err)
		}
	}
	order, i, _ := ownOrder(t, nodes[0].URL()+"?cluster=true", "sl:alice", 1)
	if got, err := i.Fire(t.Context(), order, nil); err == nil || !strings.Contains(err.Error(), "two slots") || got.Total() != 0 {
		t.Errorf("two slots: %+v, %v", got, err)
	}
}

// TestOwnScriptIsRead: a script that is not there is an error with the line and the remedy.
func TestOwnScriptIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	servertest.WriteFile(t, path, "rules:\n- {name: \"a:{who}\", read: value, limit: 1/1s}\n- {name: \"b:{who}\", read: value, limit: 1/1s, script: {file: gone.lua, keys: [\"b:{who}\"]}}\n")
	_, err := config.Load(path)
	if err == nil || !strings.Contains(err.Error(), ":3:") || !strings.Contains(err.Error(), "gone.lua") || !strings.Contains(err.Error(), "check the name") {
		t.Errorf("%v", err)
	}
	if i := slices.IndexFunc(ownConfig(t), func(r config.Rule) bool { return r.Script != nil && r.Script.Fires() == nil }); i >= 0 {
		t.Errorf("rule %d has a script that was not read", i+1)
	}
}
