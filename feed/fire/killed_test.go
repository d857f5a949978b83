package fire_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// What TestUndoAfterAKill gives the process that it kills.
const killedURL, killedAudit, killedAlgorithm = "RATESCOPE_TEST_KILLED_URL", "RATESCOPE_TEST_KILLED_AUDIT", "RATESCOPE_TEST_KILLED_ALGORITHM"

// TestUndoAfterAKill kills a process while it fires: what its audit file accounts for is taken back, the
// request that is open is named, and while the process runs nothing is.
func TestUndoAfterAKill(t *testing.T) {
	t.Parallel()
	ctx, limit := context.Background(), limiter.Limit{Count: 5000, Window: 500 * time.Hour}
	if url := os.Getenv(killedURL); url != "" { // the process that is killed
		algorithm, _ := limiter.ParseAlgorithm(os.Getenv(killedAlgorithm))
		order := model.Order{Key: "k", Target: target(algorithm, limit.Count, limit.Window), Cost: 1, Rate: 200}
		order.Target.Limit.Burst = limit.Burst
		_, err := patient(t, newRedis(t, feed.Options{URLs: []string{url}}), os.Getenv(killedAudit)).Fire(ctx, order, nil)
		t.Fatal(err)
	}
	s := servertest.Start(t)
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			s.CLI("FLUSHALL")
			path := filepath.Join(t.TempDir(), "audit")
			firing := exec.Command(os.Args[0], "-test.run", "^TestUndoAfterAKill$")
			firing.Env = append(os.Environ(), killedURL+"="+s.URL(), killedAudit+"="+path, killedAlgorithm+"="+a.String())
			if err := firing.Start(); err != nil {
				t.Fatal(err)
			}
			i := patient(t, newRedis(t, feed.Options{URLs: []string{s.URL()}}), path)
			id, admitted := "", int64(0)
			read := func() {
				text, _ := os.ReadFile(path)
				admitted = int64(strings.Count(string(text), `"outcome":"admitted"`))
				first, _, _ := strings.Cut(string(text), "\n")
				var line struct{ Action string }
				if json.Unmarshal([]byte(first), &line) == nil {
					id = line.Action
				}
			}
			servertest.Await(t, "fifty requests", func() bool { read(); return admitted >= 50 })
			for _, withdraw := range []bool{false, true} {
				if _, err := i.TakeBack(ctx, model.TakeBack{Action: id, Withdraw: withdraw}); err == nil || !strings.Contains(err.Error(), "still runs") {
					t.Errorf("while the process fires: %v", err)
				}
			}
			_ = firing.Process.Kill()
			_ = firing.Wait()
			read()
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: "x"}); err == nil || !strings.Contains(err.Error(), "not taken back is "+id+", fired at "+s.URL()) {
				t.Errorf("an id that nothing has, after the kill: %v", err)
			}
			before := usedNow(t, s, a, limit)
			u, err := i.TakeBack(ctx, model.TakeBack{Action: id})
			if err != nil || u.Units != admitted || int64(len(u.Open)) != u.Requests-admitted {
				t.Fatalf("%+v, %v; %d were admitted", u, err, admitted)
			}
			if left := usedNow(t, s, a, limit); left != before-admitted || left > int64(len(u.Open)) {
				t.Errorf("%d units are left of %d, and %v is open", left, before, u.Open)
			}
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: id}); err == nil || !strings.Contains(err.Error(), "already") {
				t.Errorf("a second time: %v", err)
			}
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: "x"}); err == nil || strings.Contains(err.Error(), id) {
				t.Errorf("an id that nothing has, after it was taken back: %v", err)
			}
		})
	}
}

// usedNow returns the units used at the key "k".
func usedNow(t *testing.T, s *servertest.Server, a limiter.Algorithm, limit limiter.Limit) int64 {
	t.Helper()
	c := s.Client()
	defer c.Close()
	store, err := redisstore.New(c, a, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	d, err := store.Peek(context.Background(), "k", limit, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d.Used
}
