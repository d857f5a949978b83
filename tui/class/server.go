// Package class is the lab for many: students come with a plain ssh client and get the lab,
// each with a story of their own, and nothing else: no command, no shell, no file, no
// forwarding. The teacher's lab can drive theirs, and sees what they predict.
//
// It is a room of its own because it is the only part of the screens that listens on the
// network. The protocol is wish's; what is not the lab is refused here.
package class

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/wish/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/keygen"
	"github.com/charmbracelet/ssh"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/net/netutil"

	"ratescope/tui/lab"
)

// Options says who may come and what they get.
type Options struct {
	Address string      // host:port
	Key     ssh.Signer  // the host key
	Admit   Admission   // who may come
	Most    int         // people at a time; 0 means DefaultMost
	Lab     lab.Options // what a student gets
	// Parting is how long terminals may take, at the end of the class, for what is sent last; 0 means DefaultParting.
	Parting time.Duration
	// Slow is how long the answer to a wrong password takes, one after the other for all who try; 0 means
	// DefaultSlow.
	Slow time.Duration
	// Wrong is told of each wrong password where it came from; nil: nothing is.
	Wrong func(from net.Addr)
}

// DefaultParting is how long terminals may take for what is sent last unless said otherwise.
const DefaultParting = 2 * time.Second

// DefaultSlow is how long the answer to a wrong password takes unless said otherwise.
const DefaultSlow = time.Second

// DefaultMost is how many people a class holds unless said otherwise.
const DefaultMost = 40

// How long a connection may take to say who it is, how often it may try, and how many may try at once beyond
// those who are in.
const (
	handshakeTime = 15 * time.Second
	mostTries     = 4
	knocking      = 32
)

// Server is a class that takes students. Make one with Listen.
type Server struct {
	Room *Room

	o        Options
	listener net.Listener
	server   *ssh.Server
	ctx      context.Context // of Serve: ends when no student is taken any more
	stop     context.CancelFunc
	places   chan struct{} // one for each visit
	slow     sync.Mutex    // held while a wrong password is answered
}

// Listen opens the door. Without a password or keys only a loopback address is taken.
func Listen(o Options) (*Server, error) {
	o.Most = cmp.Or(o.Most, DefaultMost)
	if o.Admit.password == nil && o.Admit.keys == nil {
		if err := loopback(o.Address); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("the class cannot listen on %s: %w: choose another address", o.Address, err)
	}
	most := o.Most + knocking
	s := &Server{Room: newRoom(o.Most), o: o, listener: netutil.LimitListener(listener, most), places: make(chan struct{}, most)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.Room.door.Invitation, s.Room.door.Fingerprint = invitation(listener.Addr()), gossh.FingerprintSHA256(o.Key.PublicKey())
	s.server, err = wish.NewServer(append(o.Admit.options(s.wrong), wish.WithVersion("ratescope"), s.bounds)...)
	return s, err
}

// bounds offers one terminal with the lab to a connection, and nothing else. The library forwards nothing unless it
// is told to.
func (s *Server) bounds(server *ssh.Server) error {
	server.AddHostKey(s.o.Key)
	server.Handler = s.visit
	server.ServerConfigCallback = func(ssh.Context) *gossh.ServerConfig { return &gossh.ServerConfig{MaxAuthTries: mostTries} }
	server.ConnCallback = func(ctx ssh.Context, conn net.Conn) net.Conn {
		ctx.SetValue(knocks{}, time.AfterFunc(handshakeTime, func() { _ = conn.Close() }))
		return conn
	}
	server.ChannelHandlers = map[string]ssh.ChannelHandler{
		"session": func(server *ssh.Server, conn *gossh.ServerConn, offered gossh.NewChannel, ctx ssh.Context) {
			if timer := ctx.Value(knocks{}).(*time.Timer); !timer.Stop() { // another session has stopped it, or it has run out
				_ = offered.Reject(gossh.Prohibited, "one terminal a connection")
				return
			}
			ssh.DefaultSessionHandler(server, conn, strict{offered}, ctx)
		},
		"default": func(_ *ssh.Server, _ *gossh.ServerConn, offered gossh.NewChannel, _ ssh.Context) {
			_ = offered.Reject(gossh.Prohibited, "only a terminal with the lab is offered")
		},
	}
	return nil
}

// knocks is the key of a connection's timer, which ends it unless a session begins.
type knocks struct{}

// wrong notes a wrong password and lets the time pass that its answer takes: one at a time, so that guessing is
// slow from however many connections.
func (s *Server) wrong(from net.Addr) {
	s.Room.mu.Lock()
	s.Room.door.Wrong++
	s.Room.door.From = from.String()
	s.Room.mu.Unlock()
	if s.o.Wrong != nil {
		s.o.Wrong(from)
	}
	s.slow.Lock()
	defer s.slow.Unlock()
	select {
	case <-s.ctx.Done():
	case <-time.After(cmp.Or(s.o.Slow, DefaultSlow)):
	}
}

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

// Serve takes students until ctx ends, and returns when all have gone: their terminals are left as they were before.
func (s *Server) Serve(ctx context.Context) error {
	parted := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(parted)
		s.stop()
		limited, done := context.WithTimeout(context.Background(), cmp.Or(s.o.Parting, DefaultParting))
		defer done()
		_ = s.server.Shutdown(limited)
		_ = s.server.Close()
	})()
	err := s.server.Serve(s.listener)
	s.stop()
	for range cap(s.places) { // the visits leave theirs
		s.places <- struct{}{}
	}
	if ctx.Err() != nil {
		<-parted
		return nil
	}
	return err
}

// The largest terminal, and the longest request about one, in bytes.
const (
	mostCells   = 500
	mostRequest = 512
)

// strict is a session of which the library sees what a terminal needs: it would take any variable, and an agent.
type strict struct{ gossh.NewChannel }

// Accept returns the session with those requests alone; the others are refused.
func (s strict) Accept() (gossh.Channel, <-chan *gossh.Request, error) {
	channel, all, err := s.NewChannel.Accept()
	if err != nil {
		return nil, nil, err
	}
	some := make(chan *gossh.Request)
	go func() {
		defer close(some)
		for r := range all {
			if wanted(r) {
				some <- r
			} else if r.WantReply {
				_ = r.Reply(false, nil)
			}
		}
	}()
	return channel, some, nil
}

// wanted reports whether a request is one for a terminal, or says how many colours it has.
func wanted(r *gossh.Request) bool {
	var v struct{ Name, Value string }
	switch r.Type {
	case "pty-req", "window-change", "shell":
		return len(r.Payload) <= mostRequest
	case "env":
		return len(r.Payload) <= mostRequest && gossh.Unmarshal(r.Payload, &v) == nil && (v.Name == "COLORTERM" || v.Name == "NO_COLOR")
	}
	return false // exec, subsystem, x11-req, auth-agent-req, signal: there is nothing behind them
}

// size is a student's terminal, as far as it is drawn.
func size(w ssh.Window) tea.WindowSizeMsg {
	return tea.WindowSizeMsg{Width: min(max(w.Width, 0), mostCells), Height: min(max(w.Height, 0), mostCells)}
}

// visit runs the lab for one student at one terminal until one of them leaves.
func (s *Server) visit(session ssh.Session) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-s.ctx.Done():
		return
	}
	pty, sizes, ok := session.Pty()
	if !ok {
		wish.Print(session, "The lab needs a terminal: run ssh -t, and no command.\r\n")
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	messages := make(chan tea.Msg, 16)
	send := func(msg tea.Msg) { queue(messages, msg) }
	go func() {
		for w := range sizes {
			send(size(w))
		}
	}()
	me, err := s.Room.enter(personOf(session), send, stop)
	if err != nil {
		wish.Printf(session, "%v\n", err)
		return
	}
	env := append(session.Environ(), "TERM="+pty.Term)
	o := s.o.Lab
	o.Class, o.Messages = me, messages
	o.Save = func(string, []byte) error {
		return errors.New("files stay on the teacher's machine: press Y to copy a line that opens this moment")
	}
	first := size(pty.Window)
	err = lab.Run(ctx, o, tea.WithInput(&input{r: session, end: stop}), tea.WithOutput(session), tea.WithEnvironment(env),
		tea.WithColorProfile(profile(env)), tea.WithWindowSize(first.Width, first.Height), tea.WithoutSignalHandler())
	switch removed := s.Room.leave(me); {
	case removed:
		wish.Print(session, "The teacher has ended your visit.\n")
	case s.ctx.Err() != nil:
		wish.Print(session, "The teacher has ended the class.\n")
	case err != nil && ctx.Err() == nil:
		wish.Print(session, "The lab ended by a fault of its own.\n")
	}
}

// queue puts a message behind those that wait and does not wait itself: where there is no room the oldest is lost, for the
// newest says how the class stands.
func queue(messages chan tea.Msg, msg tea.Msg) {
	for {
		select {
		case messages <- msg:
			return
		default:
		}
		select {
		case <-messages:
		default:
		}
	}
}

// profile is how many colours the client's terminal has, by what it says of itself.
func profile(env []string) colorprofile.Profile {
	all := strings.Join(env, "\n")
	switch {
	case strings.Contains(all, "NO_COLOR="):
		return colorprofile.Ascii
	case strings.Contains(all, "COLORTERM=truecolor"), strings.Contains(all, "COLORTERM=24bit"):
		return colorprofile.TrueColor
	}
	return colorprofile.Env(env)
}

// input ends the lab when the client has gone.
type input struct {
	r   io.Reader
	end func()
}

// Read implements io.Reader.
func (i *input) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil {
		i.end()
	}
	return n, err
}

// Admission says who may come: everyone, those who know a password, or those with a key.
// The zero Admission lets everyone in.
type Admission struct {
	password []byte // its digest; nil asks for none
	keys     map[string]bool
}

// Password admits those who know what the content of a file says, without the end of its
// line.
func Password(content []byte) (Admission, error) {
	word := bytes.TrimRight(content, "\r\n")
	if len(word) < 6 {
		return Admission{}, errors.New("the password has fewer than six letters: write a longer one into the file")
	}
	digest := sha256.Sum256(word)
	return Admission{password: digest[:]}, nil
}

// AuthorizedKeys admits those whose public key a file lists, a line each as in OpenSSH's
// authorized_keys. Options of a line are not taken: there is nothing that they could allow.
func AuthorizedKeys(content []byte) (Admission, error) {
	a := Admission{keys: map[string]bool{}}
	for n, line := range strings.Split(string(content), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return a, fmt.Errorf("line %d is no public key: %w", n+1, err)
		}
		a.keys[string(key.Marshal())] = true
	}
	if len(a.keys) == 0 {
		return a, errors.New("there is no public key in it: add one a line, as in ~/.ssh/id_ed25519.pub")
	}
	return a, nil
}

// options are what the handshake asks. wrong is called with where a wrong password came from, and returns when
// the answer may be given.
func (a Admission) options(wrong func(from net.Addr)) (list []ssh.Option) {
	if a.password != nil {
		list = append(list, wish.WithPasswordAuth(func(c ssh.Context, word string) bool {
			digest := sha256.Sum256([]byte(word))
			if subtle.ConstantTimeCompare(digest[:], a.password) == 1 {
				return true
			}
			wrong(c.RemoteAddr())
			return false
		}))
	}
	if a.keys != nil {
		list = append(list, wish.WithPublicKeyAuth(func(_ ssh.Context, key ssh.PublicKey) bool { return a.keys[string(key.Marshal())] }))
	}
	return list
}

// HostKey reads the key of this host from a file that its owner alone may read, and makes
// one where there is none, so that students see the same host again.
func HostKey(name string) (ssh.Signer, error) {
	if info, err := os.Lstat(name); err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0) {
		return nil, fmt.Errorf("others may read the host key %s: run chmod 600 on it, or remove it", name)
	}
	key, err := keygen.New(name, keygen.WithKeyType(keygen.Ed25519), keygen.WithWrite())
	if err != nil {
		return nil, fmt.Errorf("%s holds no host key and none can be kept there: %w: remove it, and a new one is made", name, err)
	}
	return key.Signer(), nil
}

// person is what is known of a student: in a class with keys the key, in any other the name, and
// the address as far as it tells one student from another.
type person struct {
	key     string // fingerprint; "" in a class without keys
	name    string // as it is shown
	address string // without a port; "" for this machine's own, which many students may share
	alone   bool   // no other student came from the address, at the time of the removal
}

// personOf returns who is at the other end of a session.
func personOf(c ssh.Session) person {
	p := person{name: c.User()}
	if key := c.PublicKey(); key != nil {
		p.key = gossh.FingerprintSHA256(key)
	}
	if host, _, err := net.SplitHostPort(c.RemoteAddr().String()); err == nil {
		if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
			p.address = ip.String()
		}
	}
	return p
}

// is reports whether another connection is taken for the one of this person, who was removed. A
// key is proof and goes alone; a name is enough, since it was chosen; an address is where no other
// student shares it, as behind the router of a school.
func (p person) is(other person) bool {
	if p.key != "" {
		return p.key == other.key
	}
	return p.name == other.name || p.alone && p.address != "" && p.address == other.address
}

// addresses holds for each address the name that came from it, "" for several.
type addresses map[string]string

// add notes that a student has come.
func (a addresses) add(p person) {
	if name, ok := a[p.address]; ok && name != p.name {
		a[p.address] = ""
		return
	}
	a[p.address] = p.name
}

// alone reports whether no other student came from the address of this one.
func (a addresses) alone(p person) bool { return a[p.address] == p.name }
