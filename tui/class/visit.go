package class

import (
	"context"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/wish/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/ssh"
	gossh "golang.org/x/crypto/ssh"

	"ratescope/tui/lab"
)

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
	send := func(msg tea.Msg) { // unless the lab is far behind
		select {
		case messages <- msg:
		default:
		}
	}
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
	o.Class, o.Messages, o.Save = me, messages, refuseSave
	first := size(pty.Window)
	err = lab.Run(ctx, o, tea.WithInput(&input{r: session, end: stop}), tea.WithOutput(session), tea.WithEnvironment(env),
		tea.WithColorProfile(profile(env)), tea.WithWindowSize(first.Width, first.Height), tea.WithoutSignalHandler())
	switch removed := s.Room.leave(me); {
	case removed:
		wish.Print(session, "The teacher has ended your visit.\n")
	case err != nil && ctx.Err() == nil:
		wish.Print(session, "The lab ended by a fault of its own.\n")
	}
}

// refuseSave keeps students from writing files on this machine.
func refuseSave(string, []byte) error {
	return fmt.Errorf("files stay on the teacher's machine: press Y to copy a line that opens this moment")
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
