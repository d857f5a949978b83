package class

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/crypto/ssh"

	"ratescope/tui/lab"
)

// visit is one student at one terminal.
type visit struct {
	server  *Server
	who     person
	channel ssh.Channel

	env      []string
	size     tea.WindowSizeMsg
	terminal bool // a terminal was asked for
	messages chan tea.Msg
	shown    sync.WaitGroup
	running  bool
}

// The largest terminal, and the longest name of one.
const (
	mostCells = 500
	mostTerm  = 64
)

// serve answers what the client asks of its session until it leaves.
func (v *visit) serve(ctx context.Context, wanted <-chan *ssh.Request) {
	ctx, stop := context.WithCancel(ctx)
	defer v.shown.Wait()
	defer stop()
	defer v.channel.Close()
	v.messages = make(chan tea.Msg, 16)
	done := make(chan struct{})
	for {
		select {
		case <-done:
			return
		case r, ok := <-wanted:
			if !ok {
				return
			}
			fine := v.answer(ctx, r, done)
			if r.WantReply {
				_ = r.Reply(fine, nil)
			}
		}
	}
}

// answer does what a request asks, and reports whether it did.
func (v *visit) answer(ctx context.Context, r *ssh.Request, done chan struct{}) bool {
	switch r.Type {
	case "pty-req":
		var p struct {
			Term                         string
			Columns, Rows, Width, Height uint32
			Modes                        string
		}
		if ssh.Unmarshal(r.Payload, &p) != nil || len(p.Term) > mostTerm {
			return false
		}
		v.terminal, v.size = true, size(p.Columns, p.Rows)
		v.env = append(v.env, "TERM="+p.Term)
		return true
	case "env": // nothing but how many colours there are
		var p struct{ Name, Value string }
		if ssh.Unmarshal(r.Payload, &p) != nil || p.Name != "COLORTERM" && p.Name != "NO_COLOR" || len(p.Value) > mostTerm {
			return false
		}
		v.env = append(v.env, p.Name+"="+p.Value)
		return true
	case "window-change":
		var p struct{ Columns, Rows, Width, Height uint32 }
		if ssh.Unmarshal(r.Payload, &p) != nil {
			return false
		}
		v.send(size(p.Columns, p.Rows))
		return true
	case "shell":
		if v.running {
			return false
		}
		v.running = true
		v.shown.Add(1)
		go func() {
			defer v.shown.Done()
			defer close(done)
			v.show(ctx)
		}()
		return true
	}
	return false // exec, subsystem, x11-req, auth-agent-req, signal: there is nothing behind them
}

func size(columns, rows uint32) tea.WindowSizeMsg {
	return tea.WindowSizeMsg{Width: int(min(columns, mostCells)), Height: int(min(rows, mostCells))}
}

// send hands the lab a message, unless it is far behind.
func (v *visit) send(msg tea.Msg) {
	select {
	case v.messages <- msg:
	default:
	}
}

// show runs the lab on the terminal.
func (v *visit) show(ctx context.Context) {
	defer v.exit()
	if !v.terminal {
		fmt.Fprint(v.channel, "The lab needs a terminal: run ssh -t, and no command.\r\n")
		return
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	room := v.server.Room
	me, err := room.enter(v.who, v.send, stop)
	if err != nil {
		fmt.Fprintf(v.channel, "%v\r\n", err)
		return
	}
	o := v.server.o.Lab
	o.Class, o.Messages, o.Save = me, v.messages, refuseSave
	in := &input{r: v.channel, end: stop}
	err = lab.Run(ctx, o, tea.WithInput(in), tea.WithOutput(newlines{v.channel}), tea.WithEnvironment(v.env),
		tea.WithColorProfile(profile(v.env)), tea.WithWindowSize(v.size.Width, v.size.Height), tea.WithoutSignalHandler())
	switch removed := room.leave(me); {
	case removed:
		fmt.Fprint(v.channel, "The teacher has ended your visit.\r\n")
	case err != nil && ctx.Err() == nil:
		fmt.Fprint(v.channel, "The lab ended by a fault of its own.\r\n")
	}
}

// refuseSave keeps students from writing files on this machine.
func refuseSave(string, []byte) error {
	return fmt.Errorf("files stay on the teacher's machine: press Y to copy a line that opens this moment")
}

// exit tells the client that it is over.
func (v *visit) exit() {
	_, _ = v.channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
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

// newlines writes to a terminal in raw mode, which goes down on a line feed and not back.
type newlines struct{ w io.Writer }

// Write implements io.Writer.
func (n newlines) Write(p []byte) (int, error) {
	if _, err := n.w.Write(bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
