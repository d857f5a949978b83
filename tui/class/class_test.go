package class_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/crypto/ssh"

	engine "ratescope/model/lab"
	"ratescope/tui/class"
	"ratescope/tui/lab"
	"ratescope/tui/widget"
)

// held is a class for a test.
type held struct {
	*class.Server
	key ssh.Signer
	end func() // of the teacher's program
}

func hold(t *testing.T, o class.Options) *held {
	t.Helper()
	var err error
	if o.Key, err = class.HostKey(filepath.Join(t.TempDir(), "state", "key")); err != nil {
		t.Fatal(err)
	}
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	s, err := class.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the class ended: %v", err)
		}
	})
	return &held{s, o.Key, stop}
}

// dial connects as an ssh client does.
func (h *held) dial(name string, auth ...ssh.AuthMethod) (*ssh.Client, error) {
	return ssh.Dial("tcp", h.Addr().String(),
		&ssh.ClientConfig{User: name, Auth: auth, HostKeyCallback: ssh.FixedHostKey(h.key.PublicKey()), Timeout: 20 * time.Second})
}

// Invitation is what a student types.
func (h *held) Invitation() string { return h.Room.Teacher().Now().Invitation }

// fingerprint is what ssh shows of the class's key.
func (h *held) fingerprint() string { return ssh.FingerprintSHA256(h.key.PublicKey()) }

// student is a client at a terminal.
type student struct {
	t       *testing.T
	session *ssh.Session
	in      io.WriteCloser
	mu      sync.Mutex
	screen  *vt.Emulator
	sent    bytes.Buffer
}

func (h *held) student(t *testing.T, name string, auth ...ssh.AuthMethod) *student {
	t.Helper()
	client, err := h.dial(name, auth...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	s := &student{t: t, session: session, screen: vt.NewEmulator(100, 30)}
	go func() { _, _ = io.Copy(io.Discard, s.screen) }() // what a terminal answers to queries
	t.Cleanup(func() {
		if answers, ok := s.screen.InputPipe().(io.Closer); ok { // Close itself races with the Read of the copy
			_ = answers.Close()
		}
	})
	session.Stdout = s
	if s.in, err = session.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := session.RequestPty("xterm-256color", 30, 100, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Write draws what the server sends.
func (s *student) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.Write(p)
	return s.screen.Write(p)
}

func (s *student) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, keys); err != nil {
		s.t.Fatal(err)
	}
}

// sees waits until a text stands on the student's screen.
func (s *student) sees(text string) {
	s.t.Helper()
	waits(s.t, fmt.Sprintf("the student sees %q", text), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.screen.String(), text)
	})
}

// waits fails the test unless something happens within a time that no busy machine needs.
func waits(t *testing.T, what string, happens func() bool) {
	t.Helper()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	late := time.After(90 * time.Second)
	for !happens() {
		select {
		case <-ticks.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// TestAClassOfThirty: thirty students come, are driven by the teacher, predict, and go.
func TestAClassOfThirty(t *testing.T) {
	t.Parallel()
	n := 30
	if testing.Short() {
		n = 6
	}
	h := hold(t, class.Options{Most: n})
	teacher := h.Room.Teacher()
	var students []*student
	for range n {
		students = append(students, h.student(t, "ada"))
	}
	for _, s := range students {
		s.sees("ratescope lab")
	}
	names := map[string]bool{}
	for _, name := range people(teacher) {
		names[name] = true
	}
	if len(names) != n || !names["ada"] || !names[fmt.Sprintf("ada %d", n)] {
		t.Errorf("%d names of %d: %v", len(names), n, names)
	}
	one, err := h.dial("late")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if text := refusal(t, one); !strings.Contains(text, "the class is full") {
		t.Errorf("one more is told %q", text)
	}
	teacher.Call(0, true)
	teacher.Show(lab.FollowMsg{Line: moment(t, "gcra-next-slot", "quiz")})
	for _, s := range students {
		s.sees("with the teacher")
		s.sees("predict")
	}
	for i, s := range students {
		s.press([]string{"a", "d"}[i%2])
		if s.sees("you said"); i+1 < n {
			s.sees("the answer comes when all are in")
		}
	}
	for _, s := range students {
		s.sees("why")
	}
	question := firstQuestion(t, "gcra-next-slot")
	waits(t, "all predictions are there", func() bool {
		tally := teacher.Tally(question)
		return tally.Admitted == n/2 && tally.Denied == n/2 && tally.Right == n/2 && tally.Missed == n/2
	})
	for _, s := range students {
		s.press("\r") // the teacher goes on
	}
	teacher.Show(lab.FollowMsg{Line: moment(t, "gcra-next-slot", "quiz"), Question: 2})
	for _, s := range students {
		s.sees("it is admitted    d  it is denied")
		s.press("q")
		if err := s.session.Wait(); err != nil {
			t.Errorf("a student leaves: %v", err)
		}
	}
	waits(t, "all have gone", func() bool { return len(people(teacher)) == 0 })
}

// people returns the names of the students.
func people(teacher *class.Member) (names []string) {
	for _, s := range teacher.Now().Students {
		names = append(names, s.Name)
	}
	return names
}

// lesson returns a lesson of the program and its number.
func lesson(t *testing.T, id string) (engine.Lesson, int) {
	t.Helper()
	all := engine.Lessons()
	i := slices.IndexFunc(all, func(l engine.Lesson) bool { return l.ID == id })
	return all[i], i
}

// moment is a line that opens a lesson in a view.
func moment(t *testing.T, id, view string) string {
	t.Helper()
	l, _ := lesson(t, id)
	line, err := engine.Shared{Lesson: l, Setup: l.Setup(), Seed: l.Seed, Now: l.Setup().Zero, View: view}.Line()
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// firstQuestion is how the first question of a lesson's quiz is called.
func firstQuestion(t *testing.T, id string) string {
	t.Helper()
	l, i := lesson(t, id)
	q, err := engine.NewQuiz(l.Setup(), nil, l.Seed+uint64(i))
	if err != nil {
		t.Fatal(err)
	}
	m := q.Question.Moment
	return fmt.Sprint("quiz ", l.ID, q.Question.Candidate, m.Number, m.Arrival.At)
}

// TestTheClassEnds: when the teacher's program ends, each terminal is as it was before, with a line of farewell.
func TestTheClassEnds(t *testing.T) {
	t.Parallel()
	h := hold(t, class.Options{Parting: time.Minute}) // as long as a busy machine may need
	students := []*student{h.student(t, "ada"), h.student(t, "eve")}
	for _, s := range students {
		s.sees("ratescope lab")
	}
	h.end()
	for _, s := range students {
		if err := s.session.Wait(); err != nil {
			t.Errorf("a visit ends: %v", err)
		}
		s.mu.Lock()
		_, last, _ := strings.Cut(s.sent.String(), "\x1b[?1049l")
		s.mu.Unlock()
		if !strings.Contains(last, "\x1b[?25h") || !strings.HasSuffix(last, "The teacher has ended the class.\r\n") {
			t.Errorf("after the lab's screen comes %q", last)
		}
	}
}

// refusal is what one is told who gets no lab.
func refusal(t *testing.T, client *ssh.Client) string {
	t.Helper()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	session.Stdout = &out
	if err := session.RequestPty("xterm", 24, 80, nil); err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	_ = session.Wait()
	return out.String()
}

// TestNothingButTheLab: no command, no subsystem, no forwarding, no second terminal, no
// variable but the number of colours.
func TestNothingButTheLab(t *testing.T) {
	h := hold(t, class.Options{})
	client, err := h.dial("eve")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, address := range []string{h.Addr().String(), "127.0.0.1:22"} {
		if conn, err := client.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("a connection to %s is forwarded", address)
		}
	}
	if l, err := client.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
		t.Error("a port of the teacher's machine is opened")
	}
	for _, kind := range []string{"direct-streamlocal@openssh.com", "x11", "tun@openssh.com"} {
		if _, _, err := client.OpenChannel(kind, nil); err == nil {
			t.Errorf("a channel %s is opened", kind)
		}
	}
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for what, try := range map[string]func() error{
		"a command":   func() error { return session.Start("id") },
		"a subsystem": func() error { return session.RequestSubsystem("sftp") },
		"a variable":  func() error { return session.Setenv("LD_PRELOAD", "/tmp/x.so") },
		"an agent": func() error {
			ok, err := session.SendRequest("auth-agent-req@openssh.com", true, nil)
			if err == nil && !ok {
				err = io.EOF
			}
			return err
		},
	} {
		if try() == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

func TestWhoMayCome(t *testing.T) {
	t.Parallel()
	for _, address := range []string{":2222", "0.0.0.0:0", "192.0.2.1:22", "nonsense"} {
		if s, err := class.Listen(class.Options{Address: address, Key: newKey(t)}); err == nil {
			t.Errorf("%s is listened on without asking anything (%v)", address, s.Addr())
		}
	}
	admit, err := class.Password([]byte("correct horse\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := hold(t, class.Options{Admit: admit, Address: "0.0.0.0:0"})
	if c, err := h.dial("ada"); err == nil {
		c.Close()
		t.Error("one comes in without the password")
	}
	if c, err := h.dial("ada", ssh.Password("wrong horse")); err == nil {
		c.Close()
		t.Error("one comes in with a wrong password")
	}
	h.student(t, "ada", ssh.Password("correct horse")).sees("ratescope lab")

	mine, other := newKey(t), newKey(t)
	if admit, err = class.AuthorizedKeys(append([]byte("# the class\n"), ssh.MarshalAuthorizedKey(mine.PublicKey())...)); err != nil {
		t.Fatal(err)
	}
	h = hold(t, class.Options{Admit: admit})
	if c, err := h.dial("ada", ssh.PublicKeys(other)); err == nil {
		c.Close()
		t.Error("one comes in with a key that is not listed")
	}
	h.student(t, "ada", ssh.PublicKeys(mine)).sees("ratescope lab")
	for _, bad := range []string{"", "short", "# nothing\n"} {
		if _, err := class.AuthorizedKeys([]byte(bad)); err == nil {
			t.Errorf("%q lists keys", bad)
		}
	}
	if _, err := class.Password([]byte("abc\n")); err == nil {
		t.Error("a password of three letters is taken")
	}
}

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestTheHostIsTheSameAgain: the key is kept, for its owner alone.
func TestTheHostIsTheSameAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state", "key")
	first, err := class.HostKey(name)
	if err != nil {
		t.Fatal(err)
	}
	again, err := class.HostKey(name)
	if err != nil || !bytes.Equal(first.PublicKey().Marshal(), again.PublicKey().Marshal()) {
		t.Errorf("another key: %v", err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is kept with %v: %v", info.Mode(), err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := class.HostKey(name); err == nil {
		t.Error("a key that others may read is used")
	}
}

// TestTheWindowChanges: a student's terminal may change its size.
func TestTheWindowChanges(t *testing.T) {
	t.Parallel()
	h := hold(t, class.Options{})
	s := h.student(t, "ada")
	s.sees("ratescope lab")
	s.mu.Lock()
	s.screen.Resize(30, 8)
	s.mu.Unlock()
	if err := s.session.WindowChange(8, 30); err != nil {
		t.Fatal(err)
	}
	s.sees("needs 60x20")
}

// TestFreedAgain: the teacher frees the class, and a student who leaves takes nothing along.
func TestFreedAgain(t *testing.T) {
	t.Parallel()
	h := hold(t, class.Options{})
	teacher := h.Room.Teacher()
	s := h.student(t, "ada")
	s.sees("ratescope lab")
	teacher.Call(0, true)
	teacher.Show(lab.FollowMsg{Line: moment(t, "log-lockout", "compare")})
	s.sees("Locked out by asking")
	teacher.Call(0, false)
	s.sees("The teacher frees you")
	_, i := lesson(t, "log-lockout")
	all := engine.Lessons()
	s.press("n")
	s.sees(all[i+1].Title)
}

// TestWrongPasswordsAreSlow: the answers to wrong passwords come one after the other, however many connections
// try, each is told, and the teacher sees how many there were; the right one is let in meanwhile.
func TestWrongPasswordsAreSlow(t *testing.T) {
	t.Parallel()
	const tries, slow = 6, 100 * time.Millisecond
	admit, err := class.Password([]byte("correct horse\n"))
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan net.Addr, tries)
	h := hold(t, class.Options{Admit: admit, Slow: slow, Wrong: func(from net.Addr) { told <- from }})
	begun := time.Now()
	var all sync.WaitGroup
	for range tries {
		all.Go(func() {
			if c, err := h.dial("eve", ssh.Password("wrong horse")); err == nil {
				c.Close()
				t.Error("one comes in with a wrong password")
			}
		})
	}
	h.student(t, "ada", ssh.Password("correct horse")).sees("ratescope lab")
	all.Wait()
	if took := time.Since(begun); took < tries*slow {
		t.Errorf("%d wrong passwords were answered in %v, which take %v each", tries, took, slow)
	}
	if len(told) != tries {
		t.Errorf("%d wrong passwords were told of, %d were tried", len(told), tries)
	}
	d := newDesk(t, h, 120, 30)
	d.press("S")
	d.sees("6 wrong passwords, the latest from 127.0.0.1", h.Invitation())
}

// TestTheTeacherIsToldHowStudentsComeIn: as long as the class is empty its screen says what to type.
func TestTheTeacherIsToldHowStudentsComeIn(t *testing.T) {
	t.Parallel()
	h := hold(t, class.Options{})
	newDesk(t, h, 80, 24).sees("No student is in class yet", h.Invitation())
	large := strings.NewReplacer("ssh", "\ue000\ue000\ue001", "-p", "-\ue002").Replace(h.Invitation()) // S, H and P as they are typed
	for _, row := range widget.Enlarge(large, false) {
		newDesk(t, h, 140, 42).sees(strings.TrimSpace(row))
	}
}
