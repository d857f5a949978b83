// Package class is the lab for many: students come with a plain ssh client and get the lab,
// each with a story of their own, and nothing else: no command, no shell, no file, no
// forwarding. The teacher's lab can drive theirs, and sees what they predict.
//
// It is a room of its own because it is the only part of the screens that listens on the
// network. It stands on golang.org/x/crypto/ssh and answers the four requests that a
// terminal needs; everything else is refused by not being there.
package class

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"ratescope/tui/lab"
)

// Options says who may come and what they get.
type Options struct {
	Address string      // host:port
	Key     ssh.Signer  // the host key
	Admit   Admission   // who may come
	Most    int         // people at a time; 0 means DefaultMost
	Lab     lab.Options // what a student gets
	// Slow is how long the answer to a wrong password takes, one after the other for all who try; 0 means
	// DefaultSlow.
	Slow time.Duration
	// Wrong is told of each wrong password where it came from; nil: nothing is.
	Wrong func(from net.Addr)
}

// DefaultSlow is how long the answer to a wrong password takes unless said otherwise.
const DefaultSlow = time.Second

// DefaultMost is how many people a class holds unless said otherwise.
const DefaultMost = 40

// How long a connection may take to say who it is, and how many may try at once beyond
// those who are in.
const (
	handshakeTime = 15 * time.Second
	knocking      = 32
)

// Server is a class that takes students. Make one with Listen.
type Server struct {
	Room *Room

	o        Options
	listener net.Listener
	config   *ssh.ServerConfig
	doors    chan struct{} // a place for each connection
	closing  chan struct{} // closed when no student is taken any more
	slow     sync.Mutex    // held while a wrong password is answered
	open     sync.WaitGroup
}

// Listen opens the door. Without a password or keys only a loopback address is taken.
func Listen(o Options) (*Server, error) {
	if o.Most == 0 {
		o.Most = DefaultMost
	}
	if !o.Admit.asks() {
		if err := loopback(o.Address); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("the class cannot listen on %s: %w: choose another address", o.Address, err)
	}
	s := &Server{Room: newRoom(o.Most), o: o, listener: listener, doors: make(chan struct{}, o.Most+knocking), closing: make(chan struct{})}
	s.config = o.Admit.config(s.wrong)
	s.Room.door.Invitation = invitation(listener.Addr())
	s.config.AddHostKey(o.Key)
	return s, nil
}

// wrong notes a wrong password and lets the time pass that its answer takes: one at a time, so that guessing is
// slow from however many connections.
func (s *Server) wrong(from net.Addr) {
	s.Room.refuse(from)
	if s.o.Wrong != nil {
		s.o.Wrong(from)
	}
	s.slow.Lock()
	defer s.slow.Unlock()
	select {
	case <-s.closing:
	case <-time.After(cmp.Or(s.o.Slow, DefaultSlow)):
	}
}

// Invitation returns what a student types to join the class.
func (s *Server) Invitation() string { return s.Room.door.Invitation }

// invitation is what a student types to join a class at an address; of a class at every address of this
// machine the name of the machine is left to fill in.
func invitation(at net.Addr) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return "ssh"
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "THIS-MACHINE"
	}
	return "ssh -p " + port + " NAME@" + host
}

// loopback returns an error unless an address is one of this machine alone.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address: write HOST:PORT, as in 127.0.0.1:2222", address)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s can be reached from other machines: give --password-file or --authorized-keys, or listen on 127.0.0.1", address)
}

// Addr returns the address that the class listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve takes students until ctx ends, and returns when all have gone.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() {
		close(s.closing)
		_ = s.listener.Close()
	})
	defer s.open.Wait()
	defer stop()
	for {
		conn, err := s.listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // out of file descriptors, say: others may leave
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		select {
		case s.doors <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		s.open.Add(1)
		go func() {
			defer func() { <-s.doors; s.open.Done() }()
			s.take(ctx, conn)
		}()
	}
}

// take lets one connection in and serves it until it ends.
func (s *Server) take(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	end := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer end()
	_ = conn.SetDeadline(time.Now().Add(handshakeTime))
	secure, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	defer secure.Close()
	_ = conn.SetDeadline(time.Time{})
	go ssh.DiscardRequests(requests) // no forwarding to here
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.Prohibited, "only a terminal with the lab is offered")
			continue
		}
		channel, wanted, err := offered.Accept()
		if err != nil {
			return
		}
		v := &visit{server: s, who: personOf(secure), channel: channel}
		v.serve(ctx, wanted)
		return // one terminal a connection
	}
}
