// Ratescope is an oscilloscope for rate limits: it shows the windows of the limiters
// that live in a Redis moving, and lets a person fire requests at them and watch the
// admissions change.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/fang/v2"
	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratescope/feed"
	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/lab/accuracy"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui"
	screenlab "ratescope/tui/lab"
)

// version is set when a release is built; else the build data tell what is running.
var version string

const (
	exitDone        = 0
	exitFailed      = 1 // at run time
	exitUsage       = 2
	exitInterrupted = 130

	configFile = "ratescope/config.yaml" // in the XDG config folders
	longest    = 600                     // cells of an error, which may name a key
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run does what the arguments say and returns the exit code.
func run(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	a := &app{}
	root := a.tree()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := fang.Execute(ctx, root, fang.WithVersion(report.Build(version)))
	err = cmp.Or(a.failed, err)
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return exitInterrupted
	case err == nil:
		return exitDone
	}
	fmt.Fprintln(errOut, "ratescope: "+safetext.Clip(safetext.Sentence(err.Error()), longest, safetext.Ellipsis))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// usageError is an error in how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// app is one call of the program: what its flags say, and what came of it.
type app struct {
	redis, watch                    []string
	limit, algorithm, config, theme string
	burst                           int64
	allow, ascii, plain, mask, json bool
	still                           bool
	fps                             int
	refresh                         time.Duration
	budget                          string
	tls                             feed.TLSFiles

	// failed keeps the command's error from fang, which asks the terminal for its
	// colours before it prints one; an error is one plain line here.
	failed error
}

// command finishes c: f is what it does, and checks the arguments.
func (a *app) command(c *cobra.Command, f func(c *cobra.Command, args []string) error) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		a.failed = f(c, args)
		return nil
	}
	return c
}

func (a *app) tree() *cobra.Command {
	root := a.command(&cobra.Command{
		Use:   "ratescope",
		Short: "An oscilloscope for rate limits on Redis",
		Long: "An oscilloscope for rate limits: watch the windows of the limiters that live in a Redis move, " +
			"fire requests at them, and see the admissions change.\n\n" +
			"Without --redis everything runs on a Redis of its own in process, with demo traffic. " +
			"On any other server nothing is ever written unless --allow-inject is given.",
		Example: "ratescope\n" +
			"ratescope --redis redis://localhost:6379 --watch 'rl:*' --limit 100/1m\n" +
			"ratescope snapshot --json --redis redis://localhost:6379 --watch 'rl:*'",
	}, a.dashboard)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		a.failed = flagError(c, err)
		return nil // ends the command without running it
	})
	a.flags(root.PersistentFlags())
	for name, values := range map[string][]string{"algorithm": algorithmNames(), "theme": themes.BuiltIn().Names()} {
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	root.AddCommand(a.snapshot(), a.fire(), a.peek(), a.verify(), a.lab(), a.accuracy())
	return root
}

func (a *app) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&a.redis, "redis", nil, "server to watch by its URL: redis://, rediss://, unix://, or redis+sentinel://host:26379/name; several, or ?cluster=true, are a cluster (env RATESCOPE_REDIS)")
	f.StringArrayVar(&a.watch, "watch", nil, "glob pattern of the keys to watch, may be repeated (default: every key)")
	f.StringVar(&a.limit, "limit", "", "how much the keys admit in how long, 100/1m or 10/s; wins over the config file")
	f.StringVar(&a.algorithm, "algorithm", "auto", "how the keys are limited, wins over the config file: "+strings.Join(algorithmNames(), ", "))
	f.Int64Var(&a.burst, "burst", 0, "how much GCRA and the buckets admit at once (default: the limit's count)")
	f.StringVar(&a.config, "config", "", "file of rules in YAML: match, algorithm, limit, window; the first match wins (default: "+configFile+" in the XDG config folders)")
	f.BoolVar(&a.allow, "allow-inject", false, "allow firing requests at the server; without it nothing is ever written")
	f.StringVar(&a.theme, "theme", "", "the dashboard's colours: "+strings.Join(themes.BuiltIn().Names(), ", ")+", or a file NAME.theme of yours in ratescope/themes in the XDG config folder (default: by the terminal's background)")
	f.IntVar(&a.fps, "fps", 10, "frames a second at most, 1 to 60")
	f.DurationVar(&a.refresh, "refresh", feed.DefaultRefresh, "time between two readings, 20ms to 1m")
	f.StringVar(&a.budget, "budget", "1%", "share of the server's time that watching may take, 0.1% to 50%")
	f.StringVar(&a.tls.CA, "tls-ca", "", "PEM file of the authority that signed the server's certificate, for rediss://")
	f.StringVar(&a.tls.Cert, "tls-cert", "", "PEM file of the client's certificate")
	f.StringVar(&a.tls.Key, "tls-key", "", "PEM file of the client's key")
	f.StringVar(&a.tls.ServerName, "tls-server-name", "", "name that the server's certificate must bear (default: the host's)")
	f.BoolVar(&a.ascii, "ascii", false, "draw with ASCII alone")
	f.BoolVar(&a.still, "no-animation", false, "change the picture once a second; in the lab, by steps and seeks alone")
	f.BoolVar(&a.plain, "plain", false, "follow along in lines of plain text, for scripts and screen readers")
	f.BoolVar(&a.mask, "mask", false, "hide the middle of key names")
}

func algorithmNames() []string {
	names := []string{"auto"}
	for _, a := range limiter.Algorithms() {
		names = append(names, a.String())
	}
	return names
}

// flagError puts an error of the flags' parser into one sentence.
func flagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return usagef("%w; %q lists what there is", err, c.CommandPath()+" --help")
	}
	want := map[string]string{"duration": "a duration, as in 200ms", "bool": "true or false"}[value.GetFlag().Value.Type()]
	return usagef("--%s does not take %q: give %s", value.GetFlag().Name, value.GetValue(), cmp.Or(want, "a whole number"))
}

// server is a source together with the hand that can fire at what it watches.
type server interface {
	feed.Source
	feed.Focuser
	Injector(feed.InjectorOptions) *feed.Injector
	Close() error
}

// open prepares the server that the flags name, or the embedded one. With keys, only
// these are looked at.
func (a *app) open(keys ...string) (server, error) {
	if err := a.check(); err != nil {
		return nil, usageError{err}
	}
	rules, err := a.rules()
	if err != nil {
		return nil, usageError{err}
	}
	budget, err := share(a.budget)
	if err != nil {
		return nil, usageError{err}
	}
	o := feed.Options{URLs: a.urls(), Watch: a.watch, Rules: rules, Refresh: a.refresh, Budget: budget, TLS: a.tls}
	if len(keys) > 0 {
		o.Keys, o.Watch = keys, nil
	}
	if len(o.URLs) == 0 {
		s, err := feed.NewEmbedded(o)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := feed.NewRedis(o)
	if err != nil {
		return nil, usageError{err}
	}
	return s, nil
}

// urls are those of the flags, else those of the environment.
func (a *app) urls() []string {
	if len(a.redis) > 0 {
		return a.redis
	}
	return strings.Fields(os.Getenv("RATESCOPE_REDIS"))
}

// check finds what is wrong with the flags that no one else looks at.
func (a *app) check() error {
	switch {
	case a.fps < 1 || a.fps > 60:
		return fmt.Errorf("--fps %d is out of range: give 1 to 60", a.fps)
	case a.refresh < 20*time.Millisecond || a.refresh > time.Minute:
		return fmt.Errorf("--refresh %v is out of range: give 20ms to 1m", a.refresh)
	case slices.Contains(a.watch, ""):
		return errors.New("--watch is empty: give a pattern, as in 'rl:*'")
	}
	return nil
}

// share reads a percentage as a share of 1.
func share(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(v >= 0.1 && v <= 50) {
		return 0, fmt.Errorf("--budget %q is no share: give 0.1%% to 50%%", text)
	}
	return v / 100, nil
}

// shelf is the built-in themes and the user's own.
func (a *app) shelf() (themes.Shelf, error) {
	shelf, err := themes.BuiltIn().Add(os.DirFS(filepath.Join(xdg.ConfigHome, "ratescope", "themes")))
	if err == nil && a.theme != "" {
		_, err = shelf.Find(a.theme)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return shelf, nil
}

// rules are those of the config file with the flags put over them. The file in the XDG
// folders speaks of the user's own servers, so the embedded one does without it.
func (a *app) rules() ([]feed.Rule, error) {
	path := a.config
	if path == "" && len(a.urls()) > 0 {
		path, _ = xdg.SearchConfigFile(configFile) // "" when there is none
	}
	return feed.ReadRules(path, feed.Spoken{Limit: a.limit, Algorithm: a.algorithm, Burst: a.burst})
}

func (a *app) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object")
}

// print prints a report in the form that was asked for.
func (a *app) print(c *cobra.Command, r interface {
	JSON(io.Writer) error
	Text(io.Writer) error
}) error {
	if a.json {
		return r.JSON(c.OutOrStdout())
	}
	return r.Text(c.OutOrStdout())
}

func (a *app) names() report.Options { return report.Options{Mask: a.mask} }

func (a *app) dashboard(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("there is no command %q: use snapshot, fire, peek, verify, lab or accuracy, or none for the dashboard", args[0])
	}
	shelf, err := a.shelf()
	if err != nil {
		return err
	}
	src, err := a.open()
	if err != nil {
		return err
	}
	defer src.Close()
	if !a.plain && !term.IsTerminal(os.Stdout.Fd()) {
		return usagef("the dashboard needs a terminal on its output: use --plain to follow along in text, or \"ratescope snapshot\" for one look")
	}
	ctx, cancel := context.WithCancel(c.Context())
	box := feed.NewMailbox()
	ended := make(chan error, 1)
	go func() {
		ended <- src.Run(ctx, box.Put)
		cancel() // without a source there is nothing to show
	}()
	show := tui.Options{
		Take: box.Take, Focus: src.Focus, Injector: src.Injector(feed.InjectorOptions{Armed: a.allow}),
		Export: func(b model.Batch) (string, error) { return report.Export(".", b, a.names()) },
		Save:   screenlab.SaveNew,
		Shelf:  shelf, Theme: a.theme, FPS: a.fps, Still: a.still, ASCII: a.ascii, Mask: a.mask,
	}
	if a.plain {
		err = tui.Plain(ctx, c.OutOrStdout(), show)
	} else { // signals end ctx; two who heed them wait for each other for ever
		err = tui.Run(ctx, show, tea.WithoutSignalHandler())
	}
	cancel()
	return cmp.Or(<-ended, err)
}

func (a *app) snapshot() *cobra.Command {
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Read every watched key once and print it",
		Long: "Read every watched key once and print it: an aligned table, or one JSON object with --json.\n\n" +
			"What is not known is – in the table and null in the JSON. Nothing is written.",
		Example: "ratescope snapshot --json --redis redis://localhost:6379 --watch 'rl:*' --limit 100/1m",
	}
	a.jsonFlag(c)
	return a.command(c, func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("snapshot takes no argument and was given %q: use --watch to say which keys", args[0])
		}
		src, err := a.open()
		if err != nil {
			return err
		}
		defer src.Close()
		batch, err := feed.Once(c.Context(), src)
		if err != nil {
			return err
		}
		if len(batch.Readings) == 0 {
			fmt.Fprintf(c.ErrOrStderr(), "ratescope: there is no limiter among the keys that match %s\n",
				safetext.Sentence(strings.Join(batch.Sweep.Patterns, " or ")))
		}
		return a.print(c, report.SnapshotOf(batch, a.names()))
	})
}

func (a *app) peek() *cobra.Command {
	c := &cobra.Command{
		Use:   "peek KEY",
		Short: "Say what would happen to a request now",
		Long: "Say what would happen to one request now, and why. The key is read and the answer worked out here: " +
			"nothing is written, and nothing on the server moves.",
		Example: "ratescope peek rl:alice --redis redis://localhost:6379 --limit 100/1m",
	}
	a.jsonFlag(c)
	return a.command(c, func(c *cobra.Command, args []string) error {
		return a.key(c, args, func(src server, name string) error {
			at, r, err := feed.Glance(c.Context(), src, name)
			if err != nil {
				return err
			}
			if t, err := r.Aim(); err == nil && r.Type == "none" {
				r.Target, r.State.Algorithm = t, t.Algorithm // what fire would make of it
			}
			return a.print(c, report.PeekOf(&r, at, a.names()))
		})
	})
}

// key opens the server for the one key that the arguments are.
func (a *app) key(c *cobra.Command, args []string, f func(src server, name string) error) error {
	if len(args) != 1 || args[0] == "" {
		return usagef("%s needs one key and was given %d: name it as it is in Redis", c.Name(), len(args))
	}
	src, err := a.open(args[0])
	if err != nil {
		return err
	}
	defer src.Close()
	return f(src, args[0])
}

func (a *app) fire() *cobra.Command {
	c := &cobra.Command{
		Use:   "fire KEY",
		Short: "Fire synthetic requests at a key",
		Long: "Fire synthetic requests at a key and print the fate of each. Without --redis the embedded demo is hit; " +
			"any other server needs --allow-inject. Every request is a line in an audit file; where that cannot be written nothing is fired.\n\n" +
			"A key that does not exist yet needs --limit, and becomes a sliding log unless --algorithm says otherwise. " +
			"Errors and requests without an answer are counted apart, and make the exit code 1.",
		Example: "ratescope fire rl:alice -n 200 --limit 100/10m --redis redis://localhost:6379 --allow-inject",
	}
	n := c.Flags().IntP("number", "n", 1, fmt.Sprintf("how many requests, 1 to %d", model.MaxRequests))
	cost := c.Flags().Int64("cost", 1, "cost of each request")
	rate := c.Flags().String("rate", "", "rate at which to fire, 5/s (default: as fast as the answers come)")
	a.jsonFlag(c)
	return a.command(c, func(c *cobra.Command, args []string) error {
		shot := model.Shot{N: *n, Cost: *cost}
		if *n == 0 { // with a rate that would be until stopped, which is for the screen
			return usagef("0 requests are out of range: give 1 to %d", model.MaxRequests)
		}
		if *rate != "" {
			var err error
			if shot.Rate, err = model.ParseRate(*rate); err != nil {
				return usageError{err}
			}
		}
		if err := shot.Check(); err != nil {
			return usageError{err}
		}
		return a.key(c, args, func(src server, name string) error {
			shot.Key = name
			return a.shoot(c, src, shot)
		})
	})
}

// shoot fires s at its key, aimed by one reading of it, and prints the answers.
func (a *app) shoot(c *cobra.Command, src server, s model.Shot) error {
	gun := src.Injector(feed.InjectorOptions{Armed: a.allow})
	if err := gun.Armed(); err != nil {
		return err
	}
	_, r, err := feed.Glance(c.Context(), src, s.Key)
	if err != nil {
		return err
	}
	if s.Target, err = r.Aim(); err != nil {
		return usagef("%s cannot be fired at: %w", safetext.Clean(s.Key), err)
	}
	out := c.OutOrStdout()
	account := report.NewFire(s.Key, a.names())
	_, err = gun.Fire(c.Context(), s, func(f model.Fired) {
		if line := account.Add(f); !a.json {
			fmt.Fprintln(out, line)
		}
	})
	if a.json {
		err = cmp.Or(err, account.JSON(out))
	} else {
		fmt.Fprintln(out, account.Total())
	}
	if trouble := account.Trouble(); err == nil && trouble != "" {
		err = errors.New(trouble)
	}
	return cmp.Or(c.Context().Err(), err)
}

func (a *app) verify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Run scenario files through the limiters",
		Long: "Run scenario files through the limiters and print what became of each, until the first mismatch, which makes the exit code 1. " +
			"What a store or this program cannot do is listed as such and never counted as passed.\n\n" +
			"On Redis every scenario writes keys of its own, under a prefix that nobody else uses, and removes them; --allow-inject is not needed.",
		Example: "ratescope verify vectors.json --on memory,redis --redis redis://localhost:6379",
	}
	on := c.Flags().StringSlice("on", []string{"memory"}, "stores to run on: memory, redis, or both as memory,redis")
	return a.command(c, func(c *cobra.Command, files []string) error {
		if len(files) == 0 {
			return usagef("verify needs a file with scenarios and was given none")
		}
		stores, end, err := a.stores(*on)
		if err != nil {
			return usageError{err}
		}
		defer end()
		var all []scenario.Scenario
		for _, name := range files {
			list, err := scenario.LoadFile(name)
			if err != nil {
				return usageError{err}
			}
			all = append(all, list...)
		}
		return report.Verify(c.OutOrStdout(), all, stores, func(s scenario.Scenario, on scenario.Store) (scenario.Result, error) {
			return scenario.Run(c.Context(), s, on)
		})
	})
}

// stores are those that the names ask for, and what ends them.
func (a *app) stores(names []string) (list []scenario.Store, end func(), err error) {
	end = func() {}
	for _, name := range names {
		switch {
		case name == "memory":
			list = append(list, scenario.Memory())
		case name == "redis" && len(a.urls()) == 0:
			return nil, end, errors.New("--on redis needs a server: give --redis URL, as in --redis redis://localhost:6379")
		case name == "redis":
			client, err := feed.Connect(feed.Options{URLs: a.urls(), TLS: a.tls})
			if err != nil {
				return nil, end, err
			}
			list, end = append(list, scenario.Redis(client)), func() { client.Close() }
		default:
			return nil, end, fmt.Errorf("--on %s is no store: use memory, redis or both as memory,redis", name)
		}
	}
	return list, end, nil
}

func (a *app) lab() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab [SCENARIO]",
		Short: "Learn the algorithms on a virtual clock",
		Long: "Run the same arrivals through several algorithms side by side, with the clock in your hand: pause, step, step back, " +
			"ask what a decision was made of, and play the lessons. It needs no Redis.\n\n" +
			"SCENARIO is the name of a lesson or a scenario file; without it the first lesson is on screen.",
		Example: "ratescope lab counter-weighted-sum",
	}
	trace := c.Flags().String("trace", "", "access log `FILE` in Common Log Format whose traffic can be put in place of a lesson's")
	present := c.Flags().Bool("present", false, "begin in presenter mode: large glyphs, fewer numbers")
	return a.command(c, func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("lab takes one scenario and was given %d", len(args))
		}
		shelf, err := a.shelf()
		if err != nil {
			return err
		}
		o := screenlab.Options{Shelf: shelf, Theme: a.theme, ASCII: a.ascii, Still: a.still, Present: *present}
		if len(args) == 1 {
			if o.Lessons, err = lab.Open(args[0], os.ReadFile); err != nil {
				return usageError{err}
			}
		}
		if o.Trace, err = traceOf(*trace); err != nil {
			return err
		}
		if !term.IsTerminal(os.Stdout.Fd()) {
			return usagef("the lab needs a terminal on its output")
		}
		return screenlab.Run(c.Context(), o, tea.WithoutSignalHandler())
	})
}

func (a *app) accuracy() *cobra.Command {
	c := &cobra.Command{
		Use:   "accuracy",
		Short: "Measure how far the weighted counter is from the truth",
		Long: "Run the sliding window counter, in each of its roundings, against an exact log of the same requests, and print how many " +
			"decisions were wrong by how heavily a source loads its limit. Without --trace the traffic is made up, from a seed.",
		Example: "ratescope accuracy --trace access.log --limit 100/1m",
	}
	trace := c.Flags().String("trace", "", "access log `FILE` in Common Log Format; a source is a remote host")
	seed := c.Flags().Uint64("seed", 1, "the seed of the traffic that is made up")
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	return a.command(c, func(c *cobra.Command, args []string) (err error) {
		if len(args) > 0 {
			return usagef("accuracy takes no argument and was given %q: use --trace for a file", args[0])
		}
		o := accuracy.Options{Seed: *seed}
		if a.limit != "" {
			if o.Limit, err = limiter.ParseLimit(a.limit); err != nil {
				return usageError{err}
			}
		}
		if o.Trace, err = traceOf(*trace); err != nil {
			return err
		}
		measured, err := accuracy.Measure(o)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return accuracy.PrintJSON(c.OutOrStdout(), measured)
		}
		return accuracy.Print(c.OutOrStdout(), measured, a.ascii)
	})
}

// traceOf reads the access log of that name; none for "".
func traceOf(name string) (*lab.Trace, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	trace, err := lab.ReadAccessLog(f)
	return &trace, err
}
