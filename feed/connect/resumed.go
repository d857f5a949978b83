package connect

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// A program that the kernel has stopped or a container has throttled finds the deadlines of its reads in
// the past when it goes on, whatever the server has done meanwhile: an answer may lie in the socket.
const (
	resumedLate  = 100 * time.Millisecond // a deadline that is noticed so late ended while this program stood still
	resumedGrace = 500 * time.Millisecond // that such a read waits beyond its deadline, since the server may have stood still as well
)

// A server that is answering is not away, however long its answer takes over a narrow link: while bytes come, a read is given
// Timeout anew, for flowsMost at most from the deadline that was set.
const flowsMost = 30 * time.Second

// deadline is that of reads.
type deadline struct {
	given time.Time // as it was set; zero for none
	until time.Time // as bytes that came have moved it
}

// resumedConn is a connection that does not take a standstill of this program for the silence of the
// server, nor a slow answer for none. A read whose deadline ended while this program stood still is tried once more,
// for resumedGrace. One that waits in vain while the program runs ends at its deadline. Read is called by one goroutine
// at a time.
type resumedConn struct {
	net.Conn
	deadline atomic.Pointer[deadline] // nil before the first is set
}

// SetDeadline implements net.Conn.
func (c *resumedConn) SetDeadline(t time.Time) error {
	c.deadline.Store(&deadline{t, t})
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *resumedConn) SetReadDeadline(t time.Time) error {
	c.deadline.Store(&deadline{t, t})
	return c.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (c *resumedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	d := c.deadline.Load()
	if d == nil || d.given.IsZero() {
		return n, err
	}
	now := time.Now()
	if n > 0 {
		if until := now.Add(Timeout); until.Sub(d.until) > Timeout/4 && now.Sub(d.given) < flowsMost && c.Conn.SetReadDeadline(until) == nil {
			c.deadline.CompareAndSwap(d, &deadline{d.given, until})
		}
		return n, err
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || now.Sub(d.until) < resumedLate {
		return n, err
	}
	if err := c.Conn.SetReadDeadline(now.Add(resumedGrace)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
