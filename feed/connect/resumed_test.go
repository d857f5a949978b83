package connect

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// stoppedConn is a connection of a program that stands still in its first read: the read returns that
// much after its deadline, with no byte. A second read finds the answer where there is one.
type stoppedConn struct {
	net.Conn
	late     time.Duration
	answer   string
	deadline time.Time
	reads    int
}

func (c *stoppedConn) SetReadDeadline(t time.Time) error { c.deadline = t; return nil }

func (c *stoppedConn) Read(p []byte) (int, error) {
	if c.reads++; c.reads > 1 && c.answer != "" {
		return copy(p, c.answer), nil
	}
	time.Sleep(time.Until(c.deadline))
	if c.reads == 1 {
		time.Sleep(c.late)
	}
	return 0, os.ErrDeadlineExceeded
}

// TestAnswersOutliveAStandstill: an answer that came while this program stood still is read, and a server
// that does not answer a program that runs is given no more time than its deadline.
func TestAnswersOutliveAStandstill(t *testing.T) {
	for name, c := range map[string]struct {
		late   time.Duration
		answer string
		takes  time.Duration // until Read returns
	}{
		"answered meanwhile": {3 * time.Second, "+PONG\r\n", Timeout + 3*time.Second},
		"never answered":     {3 * time.Second, "", Timeout + 3*time.Second + resumedGrace},
		"no standstill":      {time.Millisecond, "", Timeout + time.Millisecond},
		"too late":           {time.Millisecond, "+PONG\r\n", Timeout + time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				conn := boundReplies(&stoppedConn{late: c.late, answer: c.answer})
				if err := conn.SetReadDeadline(begun.Add(Timeout)); err != nil {
					t.Fatal(err)
				}
				held := make([]byte, 100)
				n, err := conn.Read(held)
				if got := string(held[:n]); c.late > resumedLate && got != c.answer || c.late < resumedLate && n > 0 {
					t.Errorf("read %q, %v", got, err)
				}
				if n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("nothing was read, and the error is %v", err)
				}
				if took := time.Since(begun); took != c.takes {
					t.Errorf("it took %v, want %v", took, c.takes)
				}
			})
		})
	}
}

// narrowConn is a connection over which a byte comes every second.
type narrowConn struct {
	net.Conn
	deadline time.Time
	ends     time.Time // after which no byte comes
}

func (c *narrowConn) SetReadDeadline(t time.Time) error { c.deadline = t; return nil }

func (c *narrowConn) Read(p []byte) (int, error) {
	if at := time.Now().Add(time.Second); at.Before(c.ends) && at.Before(c.deadline) {
		time.Sleep(time.Second)
		return copy(p, "+"), nil
	}
	time.Sleep(time.Until(c.deadline))
	return 0, os.ErrDeadlineExceeded
}

// TestASlowAnswerIsAnAnswer: a read ends Timeout after the last byte, and not while bytes come, unless they come for ever.
func TestASlowAnswerIsAnAnswer(t *testing.T) {
	for flows, want := range map[time.Duration]time.Duration{
		500 * time.Millisecond:   Timeout,
		10500 * time.Millisecond: 10*time.Second + Timeout,
		time.Hour:                flowsMost + 2*Timeout,
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			conn := boundReplies(&narrowConn{ends: begun.Add(flows)})
			if err := conn.SetReadDeadline(begun.Add(Timeout)); err != nil {
				t.Fatal(err)
			}
			var err error
			for err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
			if took := time.Since(begun); took < want-time.Second || took > want {
				t.Errorf("a read of bytes that come for %v ends after %v, want %v", flows, took, want)
			}
		})
	}
}

// TestWaiting: clients of an endpoint that waits longer are bounded by that, and no client waits less
// than Timeout.
func TestWaiting(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: Timeout, time.Second: Timeout, time.Minute: time.Minute} {
		c := Local("127.0.0.1:1", "a test").Waiting(given).Open("test", 1, nil).(*redis.Client)
		defer c.Close()
		if o := c.Options(); o.DialTimeout != want || o.ReadTimeout != want || o.WriteTimeout != want || o.PoolTimeout != want {
			t.Errorf("%v: dials %v, reads %v, writes %v, waits for a connection %v, want %v", given, o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, want)
		}
	}
}
