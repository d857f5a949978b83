// Package cmd is the command line, with one file for each command, the flags that they share, and
// the exit codes. The file of a command has its flags, what it does, and what it prints; help.md has what its help says. Each
// error is one sentence, which this package prints.
package cmd

import (
	"cmp"
	"context"
	_ "embed" // of help.md
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratescope/feed"
	"ratescope/feed/connect"
	"ratescope/internal/goroutine"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/shell"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1 // at run time
	exitUsage       = 2
	exitOver        = 3 // a key is at or above --fail-over of snapshot
	exitNothing     = 4 // the server gave nothing of what was to be read
	exitInterrupted = 130
)

// maxError bounds an error message, which may name a key, in terminal cells.
const maxError = 600

// Run runs the command in the arguments and returns the exit code. version is the version of a
// release, or "".
func Run(version string, args []string, out, errOut io.Writer) int {
	connect.SilenceLogs()
	ctx, stop := untilSignal()
	defer stop()
	p := &program{version: version}
	p.Environment = takeEnvironment()
	root := p.tree()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := goroutine.Call(func() error {
		return fang.Execute(ctx, root, fang.WithVersion(buildText(version)), fang.WithoutManpage())
	})
	err = cmp.Or(p.failed, err)
	switch {
	case p.service && terminated(ctx) && (err == nil || errors.Is(err, context.Canceled)):
		return exitDone // a service manager has stopped the program, which is no failure
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return exitInterrupted
	case err == nil:
		return exitDone
	}
	fmt.Fprintln(errOut, "ratescope: "+safetext.Clip(safetext.Sentence(err.Error()), maxError, safetext.Ellipsis))
	own := exitError{}
	switch {
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, new(feed.Away)):
		return exitNothing
	}
	return exitFailed
}

// untilSignal returns a context that ends with the first signal. A second signal ends the program,
// in case a command does not watch the context.
func untilSignal() (context.Context, func()) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// terminated reports whether it was SIGTERM that ended a context of untilSignal.
func terminated(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx).Error() == syscall.SIGTERM.String()+" signal received"
}

// Tree returns the command tree, for tests of the documentation.
func Tree() *cobra.Command { return new(program).tree() }

// program is one run of the program: the values of the shared flags, the code that several commands
// share, and the error of the command. Each command is made by a function newX(p) in its own file,
// together with its own flags.
type program struct {
	settings

	version                         string
	allow, json, askpass, keyBase64 bool
	names                           report.Options // how names of keys are written
	look                            look           // how the screens look
	from                            []string       // exporters that feed the dashboard
	service                         bool           // the command runs until SIGTERM, which is no failure then

	// failed keeps the command's error from fang, which queries the terminal for its
	// colours before it prints one; an error is one plain line here.
	failed error

	debug string             // file of the debug log
	timed func(shell.Timing) // receives the times of a screen's messages while a command runs; nil without --debug
}

// Sets of the shared flags, of which a command adds those that it uses. Every command accepts the others,
// too, so that scripts can give the same flags to all, and its help leaves them out.
var (
	serverFlags = []string{"redis", "target", "password-file", "askpass", "tls-ca", "tls-cert", "tls-key", "tls-server-name", "config",
		"debug"}
	limitFlags  = []string{"limit", "algorithm", "burst", "mask"}
	keyFlags    = slices.Concat(serverFlags, limitFlags, []string{"budget"})    // one look at one key
	lookFlags   = slices.Concat(keyFlags, []string{"watch"})                    // one look at all keys
	watchFlags  = slices.Concat(lookFlags, []string{"refresh"})                 // one look after the other
	fireFlags   = slices.Concat(keyFlags, []string{"allow-inject"})             // writing to a key
	screenFlags = []string{"theme", "no-animation", "ascii", "debug"}           // of the lab, too
	boardFlags  = slices.Concat(screenFlags, []string{"fps", "notify", "mask"}) // of the dashboard
)

// arity is how many arguments a command takes.
type arity struct {
	min, max int
	what     string // one of them, as in "file"
	remedy   string // what to do where there are others; may be ""
}

// no is the arity of a command without arguments.
func no(remedy string) arity { return arity{remedy: remedy} }

// one is the arity of a command that needs one argument.
func one(what, remedy string) arity { return arity{1, 1, what, remedy} }

// several is the arity of a command that says itself what is wrong with its arguments.
var several = arity{max: math.MaxInt}

// check returns an error of usage where there are too few arguments or too many.
func (a arity) check(c *cobra.Command, args []string) error {
	name := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	remedy := a.remedy
	if remedy != "" {
		remedy = ": " + remedy
	}
	switch {
	case a.max == 0 && len(args) > 0:
		return usagef("%s takes no argument and was given %q%s", name, args[0], remedy)
	case len(args) > a.max && a.min == 0:
		return usagef("%s takes one %s and was given %d%s", name, a.what, len(args), remedy)
	case len(args) < a.min || len(args) > a.max || a.min > 0 && args[0] == "":
		return usagef("%s needs one %s and was given %d%s", name, a.what, len(args), remedy)
	}
	return nil
}

// command completes c: f runs it with arguments that takes allows. The help has the shared flags of the
// sets and no other.
func (p *program) command(c *cobra.Command, takes arity, f func(c *cobra.Command, args []string) error, sets ...[]string) *cobra.Command {
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		shown := slices.Concat(sets...)
		c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shown, f.Name) })
		c.Root().HelpFunc()(c, args)
	})
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if p.failed = takes.check(c, args); p.failed == nil {
			p.failed = p.debugged(c, func() error { return f(c, args) })
		}
		return nil
	}
	return c
}

//go:embed help.md
var helpText string

// helped returns a command, without what it does, with its part of help.md, whose heading is use.
func helped(use string) *cobra.Command {
	_, rest, _ := strings.Cut(helpText, "\n# "+use+"\n")
	part, _, _ := strings.Cut(rest, "\n# ")
	short, rest, _ := strings.Cut(part, "\n")
	long, example, _ := strings.Cut(rest, "\n    ")
	return &cobra.Command{Use: use, Short: short, Long: strings.TrimSpace(long),
		Example: strings.TrimSpace(strings.ReplaceAll(example, "\n    ", "\n"))}
}

func (p *program) tree() *cobra.Command {
	root := p.command(helped("ratescope [TARGET]..."), several, func(c *cobra.Command, args []string) error {
		return runDashboard(p, c, args)
	})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		p.failed = flagError(c, err)
		return nil // ends the command without running it
	})
	p.flags(root.PersistentFlags())
	root.Flags().StringArrayVar(&p.from, "from", nil,
		"exporter to show instead of a server of Redis, http://host:9464 or https://NAME@host:9464 with --password-file; several share "+
			"one server by --shard; nothing is fired through them")
	for name, values := range map[string][]string{"algorithm": algorithmNames(), "theme": themes.BuiltIn().Names()} {
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	root.AddCommand(newSnapshot(p), newIdentify(p), newPeek(p), newWatch(p), newAlert(p), newRecord(p), newReplay(p), newCapsule(p),
		newExport(p), newFire(p), newFree(p), newGive(p), newBlock(p), newUnblock(p), newUndo(p), newVerify(p), newCheck(p), newLab(p),
		newAccuracy(p), newConfig(p), newManual(p))
	return root
}
