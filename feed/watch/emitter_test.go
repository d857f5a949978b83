package watch

import (
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/model"
)

// TestASilentConnectionAnnouncesNothing: a connection over which nothing comes any more, and which nobody has closed, is not
// taken for a server to which nobody writes.
func TestASilentConnectionAnnouncesNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	c := redis.NewClient(&redis.Options{Addr: p.Listener.Addr().String(), Protocol: 3})
	t.Cleanup(func() { c.Close() })
	f := newAnnouncements(c, DefaultBudget)
	known := func() bool { _, known := f.writes(); return known }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { f.run(ctx, func() bool { return true }); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	servertest.Await(t, "it listens", known)
	p.Set(func(p *servertest.Proxy) { p.Hold = true })
	servertest.Await(t, "what nobody answers is not listened to", func() bool { return !known() })
	p.Set(func(p *servertest.Proxy) {})
	servertest.Await(t, "it listens again", known)
}

// TestWhatWaitsIsBehind: while an order takes long, limiters count as behind, unless it is proved that nothing was written.
func TestWhatWaitsIsBehind(t *testing.T) {
	for _, c := range []struct {
		over  time.Duration
		seen  int64
		known bool
		want  int
	}{
		{behindAfter, 8, false, 0},
		{behindAfter + 1, 7, true, 0},
		{behindAfter + 1, 8, true, 1},
		{behindAfter + 1, 80, true, 30},
		{behindAfter + 1, 7, false, 30},
	} {
		var last model.Batch
		e := &emitter{emit: func(b model.Batch) { last = b }}
		now := time.Unix(1_795_000_000, 0)
		e.take(now, result{kind: orderFull, seen: 7, batch: model.Batch{Sweep: model.Sweep{Matched: 30}}})
		e.waits(now.Add(c.over), now, func() (int64, bool) { return c.seen, c.known })
		if last.Sweep.Behind != c.want {
			t.Errorf("%+v: %d are behind", c, last.Sweep.Behind)
		}
	}
}

// TestACutConnectionIsNotDown: a connection that was cut is made anew before anything is said, for as long as a server may be
// silent. A server that refuses the new one is away at once.
func TestACutConnectionIsNotDown(t *testing.T) {
	now := time.Unix(1_795_000_000, 0)
	for _, c := range []struct {
		name  string
		after time.Duration
		err   error
		want  model.Link
	}{
		{"answered over a new connection", 300 * time.Millisecond, nil, model.Live},
		{"cut again", 300 * time.Millisecond, io.EOF, model.Live},
		{"cut for longer than a server may be silent", silentAfter, io.EOF, model.Down},
		{"refused", 100 * time.Millisecond, syscall.ECONNREFUSED, model.Down},
	} {
		var last model.Batch
		e := &emitter{emit: func(b model.Batch) { last = b }}
		e.take(now, result{kind: orderFull})
		e.take(now.Add(time.Minute), result{kind: orderFull, err: io.EOF})
		if last.Server.Link != model.Live || last.Server.Err != "" {
			t.Fatalf("a cut connection is %v, %q", last.Server.Link, last.Server.Err)
		}
		e.take(now.Add(time.Minute+c.after), result{kind: orderFull, err: c.err})
		if last.Server.Link != c.want {
			t.Errorf("%s: the link is %v, want %v", c.name, last.Server.Link, c.want)
		}
	}
}

// TestAFarServerIsNotDown: answers that come too late are told only where the server sends nothing at all, or for too long.
func TestAFarServerIsNotDown(t *testing.T) {
	now := time.Unix(1_795_000_000, 0)
	for _, c := range []struct {
		name                string
		after, heard, bound time.Duration
		want                model.Link
	}{
		{"bytes came a moment ago", 4 * time.Second, time.Second, 0, model.Live},
		{"nothing came", 4 * time.Second, 4 * time.Second, 0, model.Down},
		{"bytes come, and never an answer", heardFor, time.Second, 0, model.Down},
		{"far away, for less than two round trips and two seconds", 5 * time.Second, 4 * time.Second, 1500 * time.Millisecond, model.Live},
		{"far away, for longer", 6 * time.Second, 5 * time.Second, 1500 * time.Millisecond, model.Down},
	} {
		var last model.Batch
		e := &emitter{emit: func(b model.Batch) { last = b }}
		e.take(now, result{kind: orderFull, heard: now.Add(c.after - c.heard)})
		// A connection was made meanwhile, over which nothing came.
		e.take(now.Add(c.after), result{kind: orderFull, err: context.DeadlineExceeded, bound: c.bound})
		if last.Server.Link != c.want {
			t.Errorf("%s: the link is %v, want %v", c.name, last.Server.Link, c.want)
		}
	}
}
