package watch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
)

// TestAnotherType changes the type of keys that are watched. As long as a key cannot be read it has no figures, on
// screen and in JSON, and is unreadable; when it can be read again it is what it holds then.
func TestAnotherType(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx, client := context.Background(), s.Client()
	const gin = "10.0.0.1/api/"
	write := func(cmds ...redis.Cmder) {
		t.Helper()
		for _, c := range cmds {
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
		}
	}
	// gin-rate-limit stamps a whole second and lets both keys live for two windows. The expiries are absolute here: where
	// the server counts them from a later second, as on a busy machine, the key alone tells no limiter.
	stamp := time.Now().Truncate(time.Second)
	until := redis.SetArgs{ExpireAt: stamp.Add(2 * time.Hour)}
	write(client.Set(ctx, "rl:count", 7, time.Hour),
		client.ZAdd(ctx, "rl:log", feedtest.Z(float64(s.Now()), "a")),
		client.SetArgs(ctx, gin+"hits", 3, until), client.SetArgs(ctx, gin+"ts", stamp.Unix(), until))
	limit := limiter.Limit{Count: 100, Window: time.Hour}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{{Match: "rl:*", Limit: limit, LimitKnown: true}}}))
	var board model.Board
	applied, wrong := 0, map[string]bool{}
	state := func(key string) *model.Watched {
		all := run.All()
		for _, b := range all[applied:] {
			board.Apply(b)
			for i := range b.Readings {
				r := &b.Readings[i]
				k := report.KeyOf(r, b.At, report.Options{})
				wrong[r.Key] = wrong[r.Key] || r.Err != ""
				if r.Err != "" && (k.Used != nil || k.Remaining != nil || k.Next != nil) {
					t.Errorf("%s %s, and yet has figures: %+v", r.Key, r.Err, k)
				}
				if k := board.Key(r.Key); r.Err != "" && k.State(board.At) != model.UnreadableState {
					t.Errorf("%s %s, and is %s", r.Key, r.Err, k.State(board.At))
				}
				if r.Err != "" && slices.Contains(r.Notes, model.CountsDown) {
					t.Errorf("%s %s, and yet is said to hold what is left", r.Key, r.Err)
				}
			}
		}
		applied = len(all)
		return board.Key(key)
	}
	keys := []string{"rl:count", "rl:log", gin + "hits"}
	servertest.Await(t, "the keys, each as more than likely", func() bool { // one whose second key is not found yet is likely
		return !slices.ContainsFunc(keys, func(key string) bool { k := state(key); return k == nil || k.Gauge.Likely })
	})
	write(client.Del(ctx, keys...), client.HSet(ctx, "rl:count", "a", "b"), client.Set(ctx, "rl:log", "text", 0),
		client.HSet(ctx, gin+"hits", "a", "b"))
	servertest.Await(t, "all as unreadable", func() bool {
		state("")
		return !slices.ContainsFunc(keys, func(key string) bool { return !wrong[key] })
	})
	for _, key := range keys {
		told := func(a model.Alert) bool { return a.Key == key && a.What == model.BecameUnreadable }
		if n := len(slices.DeleteFunc(slices.Clone(board.Alerts()), func(a model.Alert) bool { return !told(a) })); n != 1 {
			t.Errorf("%d events say that %s cannot be read, want 1", n, key)
		}
	}
	write(client.Del(ctx, "rl:log"), client.ZAdd(ctx, "rl:log", feedtest.Z(float64(s.Now()), "a"), feedtest.Z(float64(s.Now()), "b")))
	servertest.Await(t, "rl:log with two requests", func() bool {
		k := state("rl:log")
		return k != nil && k.Reading.Err == "" && k.Gauge.Used == model.Count{Known: true, N: 2}
	})
	servertest.Await(t, "the key of a library, which holds no limiter, to leave", func() bool { return state(gin+"hits") == nil })
	if k := board.Key("rl:count"); k == nil || k.Reading.Type != "hash" || k.State(board.At) != model.UnreadableState {
		t.Errorf("rl:count, which a rule speaks of, is %+v", k)
	}
}
