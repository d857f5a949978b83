package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of what a server may answer. go-redis allocates whatever length a reply announces, so that a hostile or broken server could
// end the program with one line; a panic or a lack of memory in a goroutine of the client cannot be recovered from.
const (
	maxReplyLine       = 64 << 10  // bytes of a status, an error, a number or a header
	maxReplyBulk       = 64 << 20  // bytes of one string
	maxReplyBytes      = 128 << 20 // bytes of all replies that are outstanding at once
	maxReplyElements   = 1 << 20   // elements that the arrays and maps of one reply announce
	maxReplyDepth      = 16        // arrays and maps inside one another
	maxReplyAttributes = 16        // RESP3 attributes before or inside one reply
)

// A ReplyError is the error of a connection whose server sent what no Redis sends. The connection is of no use afterwards.
type ReplyError struct {
	Why string // a clause after the server's name
}

// Error says what was wrong with the reply.
func (e *ReplyError) Error() string { return "redis: invalid reply: the server " + e.Why }

// dial opens a connection whose replies are bounded before go-redis reads them.
func (e *Endpoint) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := redis.NewDialer(&redis.Options{DialTimeout: cmp.Or(e.timeout, Timeout), TLSConfig: e.options.TLSConfig})(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return boundReplies(c), nil
}

// boundReplies wraps a connection to a server.
func boundReplies(c net.Conn) net.Conn {
	b := &boundedConn{Conn: &resumedConn{Conn: c}, beneath: c}
	if _, raw := c.(syscall.Conn); raw {
		return &boundedSocket{b}
	}
	return b
}

// boundedConn is a connection that follows the protocol in both directions, and fails a
// Read that would hand over more than the bounds allow.
type boundedConn struct {
	net.Conn // of beneath
	beneath  net.Conn

	sent        scanner      // of Write alone
	outstanding atomic.Int64 // commands without a reply

	received scanner // of Read alone
	bytes    int64   // of the replies that are outstanding
	failed   error
}

// boundedSocket is a boundedConn without TLS. go-redis looks at the socket beneath it to
// see whether the server has closed an idle connection.
type boundedSocket struct{ *boundedConn }

// SyscallConn implements syscall.Conn.
func (b *boundedSocket) SyscallConn() (syscall.RawConn, error) {
	return b.beneath.(syscall.Conn).SyscallConn()
}

// NetConn returns the connection beneath.
func (b *boundedConn) NetConn() net.Conn { return b.beneath }

// Write counts the commands that it sends.
func (b *boundedConn) Write(p []byte) (int, error) {
	n, err := b.sent.scan(p)
	if err != nil { // a command larger than a reply may be is the caller's affair
		b.sent = scanner{}
	}
	b.outstanding.Add(int64(n))
	return b.Conn.Write(p)
}

// Read fails with a ReplyError before it returns bytes that break a bound.
func (b *boundedConn) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	n, err := b.Conn.Read(p)
	b.bytes += int64(n)
	replies, broken := b.received.scan(p[:n])
	switch {
	case broken != nil:
		b.failed = broken
	case b.bytes > maxReplyBytes:
		b.failed = &ReplyError{fmt.Sprintf("answers with more than %d MB at once", maxReplyBytes>>20)}
	case replies > 0 && b.outstanding.Add(-int64(replies)) <= 0:
		// Nothing is awaited: what a subscription brings is counted message by message.
		b.outstanding.Store(0)
		b.bytes = 0
	}
	if b.failed != nil {
		return 0, b.failed
	}
	return n, err
}

// scanner follows the Redis protocol, RESP2 and RESP3, through bytes that come in pieces.
// The zero value is at the beginning of a value.
type scanner struct {
	line       []byte  // of the header or the plain value that is under way, without its type
	kind       byte    // the type of the value that is under way; 0 none
	body       int64   // bytes of a string that are to come, its line end included
	open       []group // arrays, maps and attributes that are not complete
	elements   int     // announced by the value at the top
	attributes int
}

// group is an array, a map or an attribute.
type group struct {
	left      int // elements to come
	attribute bool
}

// scan returns how many values at the top level end in p, or a ReplyError.
func (s *scanner) scan(p []byte) (complete int, err error) {
	for len(p) > 0 {
		switch {
		case s.body > 0:
			n := min(s.body, int64(len(p)))
			p, s.body = p[n:], s.body-n
			if s.body == 0 && s.end() {
				complete++
			}
			continue
		case s.kind == 0:
			s.kind, s.line, p = p[0], s.line[:0], p[1:]
			continue
		}
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		if s.line = append(s.line, part...); len(s.line) > maxReplyLine {
			return complete, &ReplyError{fmt.Sprintf("sends a line of more than %d bytes", maxReplyLine)}
		}
		p = rest
		if !ended {
			continue
		}
		done, err := s.value()
		if err != nil {
			return complete, err
		}
		if done && s.end() {
			complete++
		}
	}
	return complete, nil
}

// value takes in a complete line, and reports whether the value ends with it.
func (s *scanner) value() (done bool, err error) {
	kind := s.kind
	s.kind = 0
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
		return true, nil
	case '$', '=', '!', '*', '~', '>', '%', '|':
	default:
		return false, &ReplyError{fmt.Sprintf("sends a value of type %q", kind)}
	}
	text := string(bytes.TrimSuffix(s.line, []byte{'\r'}))
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n < -1:
		return false, &ReplyError{fmt.Sprintf("announces a length of %.20q", text)}
	case n == -1:
		return true, nil // null
	}
	switch kind {
	case '$', '=', '!':
		if n > maxReplyBulk {
			return false, &ReplyError{fmt.Sprintf("announces a string of %d bytes", n)}
		}
		s.body = n + int64(len("\r\n"))
		return false, nil
	case '%', '|':
		n *= 2
	}
	return s.begin(n, kind == '|')
}

// begin opens a group of n elements, and reports whether the value ends with it.
func (s *scanner) begin(n int64, attribute bool) (done bool, err error) {
	if attribute {
		s.attributes++
	}
	switch {
	case n < 0 || n > maxReplyElements-int64(s.elements):
		return false, &ReplyError{fmt.Sprintf("announces more than %d elements", maxReplyElements)}
	case len(s.open) >= maxReplyDepth:
		return false, &ReplyError{fmt.Sprintf("nests more than %d arrays", maxReplyDepth)}
	case s.attributes > maxReplyAttributes:
		return false, &ReplyError{fmt.Sprintf("sends more than %d attributes with one reply", maxReplyAttributes)}
	case n == 0:
		return !attribute, nil // an attribute comes before the value that it describes
	}
	s.elements += int(n)
	s.open = append(s.open, group{int(n), attribute})
	return false, nil
}

// end closes a value and the groups that it completes, and reports whether the value at the top level is complete.
func (s *scanner) end() bool {
	for len(s.open) > 0 {
		last := &s.open[len(s.open)-1]
		if last.left--; last.left > 0 {
			return false
		}
		attribute := last.attribute
		s.open = s.open[:len(s.open)-1]
		if attribute {
			return false
		}
	}
	s.elements, s.attributes = 0, 0
	return true
}

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

// resumedConn is a connection that does not take a standstill of this program for the silence of the server, nor a slow answer for
// none. A read whose deadline ended while this program stood still is tried once more, for resumedGrace. One that waits in vain while
// the program runs ends at its deadline. Read is called by one goroutine at a time.
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
