package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed/replay"
	"ratescope/feed/script/sandbox"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/tui/class"
	screenlab "ratescope/tui/lab"
)

func newLab(p *program) *cobra.Command {
	c := helped("lab [SCENARIO]")
	trace := c.Flags().String("trace", "", "recording, or access log in Common Log Format, whose traffic can be put in place of a lesson's")
	present := c.Flags().Bool("present", false, "begin in presenter mode: large glyphs, fewer numbers")
	var class classFlags
	class.add(c)
	var own labScript
	own.add(c)
	var shot shotFlags
	shot.add(c)
	return p.command(c, arity{max: 1, what: "scenario"}, func(c *cobra.Command, args []string) error {
		look, err := p.look.options()
		if err != nil {
			return err
		}
		stage := &sandbox.Stage{}
		defer stage.Close()
		look.Suspend = class.serve == ""
		o := screenlab.Options{Redis: stage, Look: look, Present: *present,
			Play: len(args) == 0 && class.serve == "" && shot.picture == "" && !look.Still && !*present}
		switch {
		case len(args) == 1 && lab.IsShared(args[0]):
			moment, err := lab.ReadShared(args[0])
			if err != nil {
				return usage(err)
			}
			o.Shared = &moment
		case len(args) == 1:
			if o.Lessons, o.First, err = lab.Open(args[0], replay.Read); err != nil {
				return usage(err)
			}
		}
		if o.Trace, err = traceOf(*trace); err != nil {
			return err
		}
		if o.Trace != nil && o.Trace.Recording && len(args) == 0 { // the recording is what to look at
			if o.Lessons, _, err = lab.Open(*trace, replay.Read); err != nil {
				return err
			}
		}
		if own.file != "" && class.serve != "" {
			return usagef("--script runs in a lab of your own: leave out --serve")
		}
		done, err := own.join(p, &o, len(args) > 0 || *trace != "")
		if err != nil {
			return err
		}
		defer done()
		if shot.picture != "" {
			return shot.draw(c, o)
		}
		switch seen := term.IsTerminal(os.Stdout.Fd()); {
		case class.serve != "":
			return class.run(c, o, seen)
		case class.password != "" || class.keys != "":
			return usagef("--password-file and --authorized-keys say who may join a class: use them with --serve")
		case !seen:
			return usagef("the lab needs a terminal on its output: run it at one, or give --picture FILE with a lesson")
		}
		o.Look.Timed = p.timed
		o.Memory, o.Remember = labMemory()
		if len(args) > 0 || *trace != "" || own.file != "" { // it is said where to begin
			o.Memory.Moment = ""
		}
		return screenlab.Run(c.Context(), o, tea.WithoutSignalHandler())
	}, screenFlags, []string{"limit", "burst"})
}

// labMemory returns the user's progress in the lab, and a function that saves it in a file; nil if it is not saved. A file that
// cannot be read counts as no progress.
func labMemory() (m screenlab.Memory, keep func(screenlab.Memory) error) {
	state := stateFile("lab.json")
	if state == "" {
		return m, nil
	}
	if content, err := os.ReadFile(state); err != nil || json.Unmarshal(content, &m) != nil {
		m = screenlab.Memory{}
	}
	return m, func(m screenlab.Memory) error {
		content, err := json.Marshal(m)
		if err == nil {
			was, _ := os.ReadFile(state)
			err = file.Replace(state, was, content)
		}
		if err != nil {
			return fmt.Errorf("what was reached in the lab cannot be kept: %w", err)
		}
		return nil
	}
}

// traceOf reads a recording or access log; it returns nil for "".
func traceOf(name string) (*lab.Trace, error) {
	if name == "" {
		return nil, nil
	}
	in, under, err := replay.Stream(name)
	if err != nil {
		return nil, usage(err)
	}
	defer under.Close()
	trace, err := lab.ReadTrace(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &trace, nil
}

// shotFlags are the flags that draw the lab without a terminal.
type shotFlags struct {
	picture, size string
	at            time.Duration
}

func (f *shotFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.picture, "picture", "", "write one moment as a picture to this new file: .svg, .ans with colours, or .txt")
	c.Flags().DurationVar(&f.at, "from", 0, "where on the story's clock the picture is")
	c.Flags().StringVar(&f.size, "size", "120x36", "columns and rows of the picture")
}

func (f *shotFlags) draw(c *cobra.Command, o screenlab.Options) error {
	shot := screenlab.Shot{At: f.at}
	if n, err := fmt.Sscanf(f.size, "%dx%d", &shot.Width, &shot.Height); n != 2 || err != nil {
		return usagef("a size of %q is not possible: use columns and rows, as 120x36", f.size)
	}
	kind := strings.ToLower(filepath.Ext(f.picture))
	if screenlab.Pictures[kind] == nil {
		return usagef("a picture %q is of no form that can be drawn: end its name in .svg, .ans or .txt", f.picture)
	}
	drawn, err := screenlab.Picture(c.Context(), o, shot, kind)
	if err != nil {
		return err
	}
	if err := screenlab.SaveNew(f.picture, []byte(drawn)); err != nil {
		return usagef("%w: name a new file", err)
	}
	fmt.Fprintf(c.OutOrStdout(), "Wrote %s.\n", f.picture)
	return nil
}

// labScript is a script of the user's as a lane of the lab.
type labScript struct {
	file string
	call checkFlags
}

func (l *labScript) add(c *cobra.Command) {
	c.Flags().StringVar(&l.file, "script", "", "limiter script of your own, in Lua, to run beside the algorithms")
	l.call.addCall(c)
}

// join puts the script into every lesson. Without a scenario that was named it has one of its own, under --limit. done
// ends the script.
func (l *labScript) join(p *program, o *screenlab.Options, named bool) (done func(), err error) {
	if l.file == "" {
		if l.call.keys != "" || l.call.args != "" || l.call.admitted != "" || p.Override.Limit != "" || p.Override.Burst != 0 {
			return nil, usagef("--keys, --args, --admitted, --limit and --burst speak of a script in the lab: use them with --script")
		}
		return func() {}, nil
	}
	told := p.Override.Limit != ""
	if !told {
		p.Override.Limit = "10/10s"
	}
	limit, err := checkLimit(p.Override)
	if err != nil {
		return nil, err
	}
	if told && named {
		has := limit
		if o.Shared != nil {
			has = o.Shared.Setup.Limit
		} else if o.Lessons != nil {
			has = o.Lessons[o.First].Limit
		}
		if has.Count != limit.Count || has.Window != limit.Window {
			return nil, usagef("--limit %s is another limit than that of what is opened, %d in %s: leave --limit out",
				p.Override.Limit, has.Count, format.Length(has.Window))
		}
	}
	text, call, _, err := l.call.read(l.file)
	if err != nil {
		return nil, err
	}
	box, err := sandbox.New(sandbox.Script{Text: text, Call: call, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", safetext.Clean(l.file), err)
	}
	own := lab.NewUserScript(filepath.Base(l.file), scriptLane{box})
	if o.Lessons == nil {
		o.Lessons = lab.Lessons()
	}
	for i := range o.Lessons {
		o.Lessons[i] = o.Lessons[i].With(own)
	}
	if o.Shared != nil && len(o.Shared.Setup.Candidates) < lab.MaxCandidates {
		o.Shared.Setup.Candidates = append(o.Shared.Setup.Candidates, lab.Candidate{Script: own})
	}
	if !named {
		var first lab.Lesson
		first, err = lab.ScriptLesson(own, limit)
		o.Lessons, o.First = append([]lab.Lesson{first}, o.Lessons...), 0
	}
	if err != nil {
		box.Close()
		return nil, err
	}
	return func() { box.Close() }, nil
}

// scriptLane is a sandbox as a lab.Subject.
type scriptLane struct{ box *sandbox.Sandbox }

// Reset implements lab.Subject.
func (s scriptLane) Reset(l limiter.Limit, _ limiter.Instant) error {
	s.box.Told(l)
	return s.box.Reset()
}

// Admit implements lab.Subject.
func (s scriptLane) Admit(at limiter.Instant, cost int64) (admitted bool, ran []lab.Command, err error) {
	a := s.box.Admit(at, cost)
	return a.Admitted, sandbox.Commands(s.box.Ran()), a.Err
}

type classFlags struct {
	serve, password, keys string
	most                  int
}

func (f *classFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.serve, "serve", "", "hold a class at HOST:PORT: students come with ssh and get the lab")
	c.Flags().StringVar(&f.password, "password-file", "", "file with the password of the class")
	c.Flags().StringVar(&f.keys, "authorized-keys", "", "file with the public keys of those who may join, as OpenSSH has them")
	c.Flags().IntVar(&f.most, "most", class.DefaultMost, "how many students the class takes")
}

func (f *classFlags) admission() (class.Admission, error) {
	name, read := f.password, class.Password
	switch {
	case f.password != "" && f.keys != "":
		return class.Admission{}, usagef("--password-file and --authorized-keys exclude each other: give one")
	case f.keys != "":
		name, read = f.keys, class.AuthorizedKeys
	case f.password == "":
		return class.Admission{}, nil
	}
	content, err := file.Read(name)
	if err != nil {
		return class.Admission{}, usage(err)
	}
	a, err := read(content)
	if err != nil {
		return a, usagef("%s: %v", name, err)
	}
	return a, nil
}

// run serves the class until the teacher leaves or, without a terminal, until it is stopped.
func (f *classFlags) run(c *cobra.Command, o screenlab.Options, seen bool) error {
	admission, err := f.admission()
	if err != nil {
		return err
	}
	if f.most < 1 || f.most > 500 {
		return usagef("a class of %d is not possible: use 1 to 500", f.most)
	}
	key, err := class.HostKey(filepath.Join(xdg.StateHome, "ratescope", "lab_host_key"))
	if err != nil {
		return err
	}
	student := o
	student.Present, student.Trace = false, nil
	wrong, err := f.wrongs(c, seen)
	if err != nil {
		return err
	}
	server, err := class.Listen(class.Options{Address: f.serve, Key: key, Admit: admission, Most: f.most, Lab: student, Wrong: wrong})
	if err != nil {
		return usage(err)
	}
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	if seen {
		o.Class = server.Room.Teacher()
		err = screenlab.Run(ctx, o, tea.WithoutSignalHandler())
	} else {
		door := server.Room.Teacher().Now().Door
		fmt.Fprintf(c.OutOrStdout(), "The class is open at %s: join with %s (host key %s)\n", server.Addr(), door.Invitation,
			door.Fingerprint)
		<-ctx.Done()
		err = ctx.Err()
	}
	stop()
	return cmp.Or(err, <-served)
}

// wrongs returns the log of wrong passwords: a line each in the state folder, and on stderr where no screen is
// shown.
func (f *classFlags) wrongs(c *cobra.Command, seen bool) (func(net.Addr), error) {
	name, err := xdg.StateFile("ratescope/class.log")
	if err != nil || f.password == "" {
		return nil, err
	}
	return func(from net.Addr) {
		line := fmt.Sprintf("%s wrong password from %s\n", time.Now().UTC().Format(time.RFC3339), from)
		if log, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = log.WriteString(line)
			_ = log.Close()
		}
		if !seen {
			fmt.Fprint(c.ErrOrStderr(), line)
		}
	}, nil
}
