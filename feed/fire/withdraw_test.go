package fire_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// TestWithdraw fires between the requests of another program, at a limiter of every algorithm:
// what is withdrawn is what was fired, and what the other program wrote stays.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	limit := limiter.Limit{Count: 50, Window: 500 * time.Hour} // nothing leaves it while the test runs
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			c := s.Client()
			defer c.Close()
			c.FlushDB(ctx)
			store, err := redisstore.New(c, a, redisstore.WithPrefix(""))
			if err != nil {
				t.Fatal(err)
			}
			other := func(n int64) {
				t.Helper()
				if d, err := store.AllowN(ctx, "k", limit, n); err != nil || !d.Allowed {
					t.Fatalf("the other program: %+v, %v", d, err)
				}
			}
			other(3)
			theirs := s.CLI("ZRANGE", "k", "0", "-1")
			if a != limiter.SlidingLog {
				theirs = ""
			}
			i := armed(t, s)
			id := shoot(t, i, "k", target(a, limit.Count, limit.Window), 7, 0, nil)
			other(4)
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: id}); err == nil || !strings.Contains(err.Error(), "another program has written") {
				t.Errorf("undo after another program has written: %v", err)
			}
			u, err := i.TakeBack(ctx, model.TakeBack{Action: id, Withdraw: true})
			if err != nil || u.Units != 7 || !u.Withdrawn {
				t.Fatalf("%+v, %v, want 7 units", u, err)
			}
			d, err := store.Peek(ctx, "k", limit, 0)
			if err != nil || d.Used != 7 {
				t.Errorf("%+v, %v: 7 of the other program are to be left", d, err)
			}
			if theirs != "" && !strings.HasPrefix(s.CLI("ZRANGE", "k", "0", "-1"), theirs) {
				t.Errorf("the log lost what the other program had written: %q", theirs)
			}
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: id, Withdraw: true}); err == nil || !strings.Contains(err.Error(), "already") {
				t.Errorf("a second time: %v", err)
			}
			if d, _ := store.Peek(ctx, "k", limit, 0); d.Used != 7 {
				t.Errorf("the second time took %d", 7-d.Used)
			}
		})
	}
}

// TestUndoOfALaterWindow: undo takes off what an action charged to a counter that was not saved before the action, because the action
// lasted into a later window than the three whose counters are saved.
func TestUndoOfALaterWindow(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	ctx, limit := context.Background(), limiter.Limit{Count: 50, Window: 500 * time.Hour}
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow} {
		store, err := redisstore.New(c, a, redisstore.WithPrefix(""))
		if err != nil {
			t.Fatal(err)
		}
		c.FlushDB(ctx)
		if _, err := store.AllowN(ctx, "k", limit, 3); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "audit")
		i := patient(t, newRedis(t, feed.Options{URLs: []string{s.URL()}}), path)
		id := shoot(t, i, "k", target(a, limit.Count, limit.Window), 7, 0, nil)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, counter := range c.Keys(ctx, "*").Val() { // its window becomes one that was not saved
			text = bytes.ReplaceAll(text, []byte(`{"key":"\"`+counter+`\"`), []byte(`{"key":"\"earlier\"`))
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := i.TakeBack(ctx, model.TakeBack{Action: id})
		if err != nil || u.Units != 7 || !u.Withdrawn {
			t.Errorf("%v: %+v, %v, want 7 units", a, u, err)
		}
		if left := usedNow(t, s, a, limit); left != 3 {
			t.Errorf("%v: %d units are left, want those 3 of another program", a, left)
		}
	}
}

// TestWithdrawRefuses: not armed, nothing is taken off, and what is not of this server is not
// looked for there.
func TestWithdrawRefuses(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	path := filepath.Join(t.TempDir(), "audit")
	limit := limiter.Limit{Count: 50, Window: time.Hour}
	i := patient(t, newRedis(t, feed.Options{URLs: []string{s.URL()}}), path)
	id := shoot(t, i, "k", target(limiter.SlidingLog, limit.Count, limit.Window), 2, 0, nil)
	for cause, c := range map[string]struct {
		url   string
		armed bool
		id    string
	}{
		"--allow-inject":     {s.URL(), false, id},
		"name that server":   {s.URL() + "/1", true, id},
		"there is no action": {s.URL(), true, "nothing-1"},
	} {
		other := newRedis(t, feed.Options{URLs: []string{c.url}}).Injector(fire.Options{Armed: c.armed, AuditPath: path, Timeout: servertest.Patience})
		if _, err := other.TakeBack(context.Background(), model.TakeBack{Action: c.id, Withdraw: true}); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%v, want it to say %q", err, cause)
		}
	}
	if n := s.CLI("ZCARD", "k"); n != fmt.Sprint(2) {
		t.Errorf("the key has %s members, want 2", n)
	}
}
