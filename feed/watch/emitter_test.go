package watch

import (
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"ratescope/model"
)

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
