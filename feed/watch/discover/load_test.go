package discover

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
)

// crowd answers as a server of many keys does that none of the limiters' libraries wrote, on virtual
// time: a hook that nothing gets past.
type crowd struct {
	keys     int
	pages    int           // SCAN calls so far
	latest   int           // keys of the latest of them
	cpu      time.Duration // of the server
	commands int64
	others   func() (cpu time.Duration, commands int64) // of other clients so far
	silent   bool                                       // INFO is empty
}

func (c *crowd) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *crowd) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { c.answer(cmd); return nil }
}

func (c *crowd) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		c.spend(50 * time.Microsecond)
		for _, cmd := range cmds {
			c.answer(cmd)
		}
		return nil
	}
}

// spend lets the server work for d.
func (c *crowd) spend(d time.Duration) {
	c.cpu += d
	time.Sleep(d)
}

func (c *crowd) answer(cmd redis.Cmder) {
	c.commands++
	switch cmd := cmd.(type) {
	case *redis.StringCmd: // INFO of a section
		cpu, commands := c.others()
		switch {
		case c.silent:
		case cmd.Args()[1] == "stats":
			cmd.SetVal(fmt.Sprintf("# Stats\r\ntotal_commands_processed:%d\r\n", c.commands+commands))
		default:
			cmd.SetVal(fmt.Sprintf("# CPU\r\nused_cpu_sys:0.000000\r\nused_cpu_user:%.6f\r\n", (c.cpu + cpu).Seconds()))
		}
	case *redis.IntCmd: // DBSIZE
		cmd.SetVal(int64(c.keys))
	case *redis.ScanCmd:
		count := int(cmd.Args()[len(cmd.Args())-1].(int64))
		c.spend(50*time.Microsecond + time.Duration(count)*keyPrice)
		c.pages++
		c.latest = count
		at := uint64(cmd.Args()[1].(uint64)) + uint64(count)
		if at >= uint64(c.keys) {
			at = 0
		}
		cmd.SetVal(nil, at)
	}
}

// search runs a scanner over c for a time, and returns the moments at which what it may take
// changed, and when the first pass was over.
func (c *crowd) search(t *testing.T, o Options, limit time.Duration) (shares map[time.Duration]float64, over time.Duration) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	client.AddHook(c)
	defer client.Close()
	o.Client, o.Budget = client, 0.01
	o.Nodes = func(context.Context) ([]*redis.Client, error) { return []*redis.Client{client}, nil }
	o.Now, o.Away = func() limiter.Instant { return limiter.InstantOf(time.Now()) }, func() bool { return false }
	o.Own, o.Trip = func() (time.Duration, int64) { return 0, c.commands }, func() time.Duration { return 0 }
	s := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	beside, ctx := goroutine.NewGroup(ctx)
	beside.Go(func() { s.Run(ctx, beside) })
	shares = map[time.Duration]float64{}
	begun, before := time.Now(), -1.0
	for time.Since(begun) < limit && over == 0 {
		time.Sleep(10 * time.Millisecond)
		p := s.Progress()
		if p.Share != before {
			before = p.Share
			shares[time.Since(begun)] = p.Share
		}
		if p.Passes > 0 {
			over = time.Since(begun)
		}
	}
	cancel()
	if err := beside.Wait(); err != nil {
		t.Error(err)
	}
	if p := s.Progress(); over > 0 && (p.Share != o.Budget || p.Pace != model.PaceSteady) {
		t.Errorf("after the first pass %v may be taken, %v", p.Share, p.Pace)
	}
	return shares, over
}

func alone() (time.Duration, int64) { return 0, 0 }

// TestAMillionKeys: the first pass over a server that no other client uses takes half a minute, within the bound
// that a person gave four times as long and more, and as long where the server does not tell how
// busy it is.
func TestAMillionKeys(t *testing.T) {
	for _, tc := range []struct {
		what              string
		most              float64
		silent            bool
		shortest, longest time.Duration
	}{
		{"an idle server", 0.10, false, 15 * time.Second, 45 * time.Second},
		{"a bound", 0, false, 3 * time.Minute, 5 * time.Minute},
		{"a server that does not tell", 0.10, true, 3 * time.Minute, 5 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &crowd{keys: 1_000_000, others: alone, silent: tc.silent}
			if _, over := c.search(t, Options{Most: tc.most}, 10*time.Minute); over < tc.shortest || over > tc.longest {
				t.Errorf("%s: the first pass takes %v, want %v to %v", tc.what, over, tc.shortest, tc.longest)
			}
		})
	}
}

// TestALoadInTheMiddle: within an interval of its first command the search is back at the budget, and its
// pages are short.
func TestALoadInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		const quiet = 5 * time.Second
		c := &crowd{keys: 1_000_000, others: func() (time.Duration, int64) {
			since := max(time.Since(begun)-quiet, 0)
			return since / 5, int64(since / (200 * time.Microsecond)) // a fifth of a core, 5,000 commands a second
		}}
		shares, over := c.search(t, Options{Most: 0.10}, 15*time.Second)
		highest, back := 0.0, time.Duration(0)
		for at, share := range shares {
			if highest = max(highest, share); at > quiet && share == 0.01 {
				back = at
			}
		}
		if highest != 0.10 || over != 0 {
			t.Errorf("on an idle server it takes up to %v", highest)
		}
		if back < quiet || back > quiet+2*loadEvery {
			t.Errorf("the load begins at %v, and the search is at the budget at %v: %v", quiet, back, shares)
		}
		if c.latest != busyCount {
			t.Errorf("under the load a page has %d keys, want %d", c.latest, busyCount)
		}
	})
}

// TestAnIdleServerIsKnownSoon: the pages of a search at its budget are short, so that samples come as often as they may, and the
// search takes the whole of its greatest share after those that have to be calm and four doublings.
func TestAnIdleServerIsKnownSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{keys: 1_000_000, others: alone}
		shares, _ := c.search(t, Options{Most: 0.10}, 2*time.Second)
		for at, share := range shares {
			if share == 0.10 && at > 8*loadEvery {
				t.Errorf("the greatest share is taken after %v: %v", at, shares)
			}
		}
		if c.latest != scanCount {
			t.Errorf("a page then has %d keys, want %d", c.latest, scanCount)
		}
	})
}
