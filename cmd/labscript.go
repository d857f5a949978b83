package cmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	screenlab "ratescope/tui/lab"
)

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
	limit, err := p.checkLimit()
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
	text, err := readScript(l.file)
	if err != nil {
		return nil, err
	}
	call, _, err := l.call.call(text)
	if err != nil {
		return nil, usageError{err}
	}
	box, err := sandbox.New(sandbox.Script{Text: text, Call: call, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", safetext.Clean(l.file), err)
	}
	own := lab.NewUserScript(filepath.Base(l.file), scriptLane{box})
	if o.Lessons == nil {
		o.Lessons, err = lab.Lessons()
	}
	for i := range o.Lessons {
		o.Lessons[i] = o.Lessons[i].With(own)
	}
	if o.Shared != nil && len(o.Shared.Setup.Candidates) < lab.MaxCandidates {
		o.Shared.Setup.Candidates = append(o.Shared.Setup.Candidates, lab.Candidate{Script: own})
	}
	if err == nil && !named {
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
func (s scriptLane) Reset(l limiter.Limit) error {
	s.box.Told(l)
	return s.box.Reset()
}

// Admit implements lab.Subject.
func (s scriptLane) Admit(at limiter.Instant, cost int64) (admitted bool, ran []lab.Command, err error) {
	a := s.box.Admit(at, cost)
	return a.Admitted, sandbox.Commands(s.box.Ran()), a.Err
}
