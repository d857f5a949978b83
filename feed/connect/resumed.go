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

// resumedConn is a connection that does not take a standstill of this program for the silence of the
// server. A read whose deadline ended meanwhile is tried once more, for resumedGrace. One that waits in
// vain while the program runs ends at its deadline. Read is called by one goroutine at a time.
type resumedConn struct {
	net.Conn
	deadline atomic.Pointer[time.Time] // of reads; nil before the first is set
}

// SetDeadline implements net.Conn.
func (c *resumedConn) SetDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *resumedConn) SetReadDeadline(t time.Time) error {
	c.deadline.Store(&t)
	return c.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (c *resumedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	deadline := c.deadline.Load()
	if deadline == nil || deadline.IsZero() || time.Since(*deadline) < resumedLate {
		return n, err
	}
	if err := c.Conn.SetReadDeadline(time.Now().Add(resumedGrace)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
