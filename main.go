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
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
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
	"ratescope/feed/export"
	"ratescope/feed/headless"
	"ratescope/feed/inject"
	"ratescope/feed/observe"
	"ratescope/feed/replay"
	"ratescope/feed/settings"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/lab/accuracy"
	"ratescope/model/record"
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

	longest = 600 // cells of an error, which may name a key
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
	if errors.As(err, new(settings.UsageError)) {
		return exitUsage
	}
	return exitFailed
}

// app is one call of the program: what its flags say, and what came of it.
type app struct {
	settings.Settings

	theme                                  string
	allow, ascii, plain, mask, json, still bool
	fps                                    int

	// failed keeps the command's error from fang, which asks the terminal for its
	// colours before it prints one; an error is one plain line here.
	failed error
}

// Shared flags, by what they are about. A command takes them all and heeds what it can:
// scripts may give every command the same ones.
var (
	aboutScreen = []string{"theme", "fps", "no-animation", "plain"}
	aboutServer = []string{"redis", "tls-ca", "tls-cert", "tls-key", "tls-server-name"}
	aboutKeys   = []string{"watch", "limit", "algorithm", "burst", "config", "refresh", "budget"}
)

// command finishes c: f is what it does, and checks the arguments. The help leaves out the
// shared flags that c does not heed.
func (a *app) command(c *cobra.Command, f func(c *cobra.Command, args []string) error, unheeded ...[]string) *cobra.Command {
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		for _, name := range slices.Concat(unheeded...) {
			_ = c.Flags().MarkHidden(name) // there is one of that name, a test says
		}
		c.Root().HelpFunc()(c, args)
	})
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
	root.AddCommand(a.snapshot(), a.fire(), a.peek(), a.verify(), a.record(), a.replay(), a.export(), a.lab(), a.accuracy())
	return root
}

func (a *app) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&a.Redis, "redis", nil, "server to watch by its URL: redis://, rediss://, unix://, or redis+sentinel://host:26379/name; several, or ?cluster=true, are a cluster; ?replica=true reads replicas of a cluster or of a sentinel's master (env RATESCOPE_REDIS)")
	f.StringArrayVar(&a.Watch, "watch", nil, "glob pattern of the keys to watch, may be repeated (default: every key)")
	f.StringVar(&a.Limit, "limit", "", "how much the keys admit in how long, 100/1m or 10/s; wins over the config file")
	f.StringVar(&a.Algorithm, "algorithm", "auto", "how the keys are limited, wins over the config file: "+strings.Join(algorithmNames(), ", "))
	f.Int64Var(&a.Burst, "burst", 0, "how much GCRA and the buckets admit at once (default: the limit's count)")
	f.StringVar(&a.Config, "config", "", "file of rules in YAML: match, algorithm, limit, window; the first match wins (default: "+settings.ConfigFile+" in the XDG config folders)")
	f.BoolVar(&a.allow, "allow-inject", false, "allow firing requests at the server; without it nothing is ever written")
	f.StringVar(&a.theme, "theme", "", "the dashboard's colours: "+strings.Join(themes.BuiltIn().Names(), ", ")+", or a file NAME.theme of yours in ratescope/themes in the XDG config folder (default: by the terminal's background)")
	f.IntVar(&a.fps, "fps", 10, "frames a second at most, 1 to 60")
	f.DurationVar(&a.Refresh, "refresh", observe.DefaultRefresh, "time between two readings, 20ms to 1m")
	f.StringVar(&a.Budget, "budget", "1%", "share of the server's time that watching may take, from 0.1 to 50 percent")
	f.StringVar(&a.TLS.CA, "tls-ca", "", "certificate file (PEM) of the authority that signed the server's certificate, for rediss://")
	f.StringVar(&a.TLS.Cert, "tls-cert", "", "certificate file (PEM) of the client")
	f.StringVar(&a.TLS.Key, "tls-key", "", "key file (PEM) of the client")
	f.StringVar(&a.TLS.ServerName, "tls-server-name", "", "name that the server's certificate must bear (default: the host's)")
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
		return settings.Usagef("%w; %q lists what there is", err, c.CommandPath()+" --help")
	}
	want := map[string]string{"duration": "a duration, as in 200ms", "bool": "true or false", "float64": "a number, as in 2"}[value.GetFlag().Value.Type()]
	return settings.Usagef("--%s does not take %q: give %s", value.GetFlag().Name, value.GetValue(), cmp.Or(want, "a whole number"))
}

// open prepares the server that the flags name. With keys, only these are looked at.
func (a *app) open(keys ...string) (settings.Server, error) {
	if a.fps < 1 || a.fps > 60 {
		return nil, settings.Usagef("--fps %d is out of range: give 1 to 60", a.fps)
	}
	return a.Settings.Open(keys...)
}

// shelf is the built-in themes and the user's own.
func (a *app) shelf() (themes.Shelf, error) {
	shelf, err := themes.BuiltIn().Add(os.DirFS(filepath.Join(xdg.ConfigHome, "ratescope", "themes")))
	if err == nil && a.theme != "" {
		_, err = shelf.Find(a.theme)
	}
	if err != nil {
		return nil, settings.UsageError{Err: err}
	}
	return shelf, nil
}

func (a *app) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object")
}

// output is where a command prints and how.
func (a *app) output(c *cobra.Command) headless.Output {
	return headless.Output{Out: c.OutOrStdout(), Err: c.ErrOrStderr(), JSON: a.json, Names: a.names()}
}

func (a *app) names() report.Options { return report.Options{Mask: a.mask} }

func (a *app) dashboard(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return settings.Usagef("there is no command %q: use snapshot, fire, peek, verify, record, replay, export, lab or accuracy, or none for the dashboard", args[0])
	}
	src, err := a.open()
	if err != nil {
		return err
	}
	defer src.Close()
	ctx, cancel := context.WithCancel(c.Context())
	box := feed.NewMailbox()
	ended := make(chan error, 1)
	go func() {
		ended <- src.Run(ctx, box.Put)
		cancel() // without a source there is nothing to show
	}()
	err = a.show(ctx, c, tui.Options{
		Take: box.Take, Focus: src.Focus, Injector: src.Injector(inject.Options{Armed: a.allow}),
		Record: func() (tui.Recorder, string, error) {
			r := a.recording(time.Now().Format("ratescope-20060102-150405") + ".jsonl.gz")
			kept, err := headless.Keep(r)
			return kept, r.File, err
		},
	})
	cancel()
	return cmp.Or(<-ended, err)
}

// show shows what o brings, on the screen or in lines of text, until the user quits, ctx
// ends or there is no more.
func (a *app) show(ctx context.Context, c *cobra.Command, o tui.Options) (err error) {
	if o.Shelf, err = a.shelf(); err != nil {
		return err
	}
	o.Export = func(b model.Batch) (string, error) { return report.Export(".", b, a.names()) }
	o.Save = screenlab.SaveNew
	o.Theme, o.FPS, o.Still, o.ASCII, o.Mask = a.theme, a.fps, a.still, a.ascii, a.mask
	switch {
	case a.plain:
		return tui.Plain(ctx, c.OutOrStdout(), o)
	case !term.IsTerminal(os.Stdout.Fd()):
		return settings.Usagef("the dashboard needs a terminal on its output: use --plain to follow along in text, or \"ratescope snapshot\" for one look")
	}
	// Signals end ctx; two who heed them wait for each other for ever.
	return tui.Run(ctx, o, tea.WithoutSignalHandler())
}

// recording says what every recording of this call has in common.
func (a *app) recording(name string) headless.Recording {
	return headless.Recording{File: name, Header: record.Header{By: "ratescope " + report.Build(version), Watch: a.Watch, Rules: a.Spoken()}}
}

func (a *app) record() *cobra.Command {
	c := &cobra.Command{
		Use:   "record FILE",
		Short: "Keep what is seen in a file, without a screen",
		Long: "Watch as the dashboard does, at the same cost, and keep what is seen in a file for \"ratescope replay\". " +
			"A FILE that ends in .gz is compressed. It ends after --for, at --max-mb or with ctrl+c, and is readable as far as it " +
			"goes even when the machine goes down.\n\nIt holds the names of the keys; --mask does not hide them here.",
		Example: "ratescope record incident.jsonl.gz --for 10m --redis redis://localhost:6379 --limit 100/1m",
	}
	for10 := c.Flags().Duration("for", 0, "how long to record, as in 10m (default: until ctrl+c)")
	c.Flags().Lookup("for").DefValue = "" // 0s would be told as the default
	mb := c.Flags().Int64("max-mb", headless.DefaultMaxBytes/1_000_000, "end when the file has so many million bytes")
	force := c.Flags().Bool("force", false, "write over a file that is there")
	return a.command(c, func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return settings.Usagef("record needs one file and was given %d: name the file to write, as in incident.jsonl.gz", len(args))
		}
		r := a.recording(args[0])
		r.For, r.MaxBytes, r.Force, r.Progress = *for10, *mb*1_000_000, *force, term.IsTerminal(os.Stderr.Fd())
		if err := r.Check(); err != nil {
			return err
		}
		src, err := a.open()
		if err != nil {
			return err
		}
		defer src.Close()
		return headless.Record(c.Context(), src, r, a.output(c))
	}, aboutScreen, []string{"ascii", "mask", "allow-inject"})
}

func (a *app) export() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Tell Prometheus what is watched, without a screen",
		Long: "Watch as the dashboard does, at the same cost, and answer Prometheus at /metrics: used, limit, utilization, remaining, denied " +
			"and next admission of every key, and whether the server answers. What is not known is absent.\n\n" +
			"Only this machine is answered unless --listen says otherwise: the names of the keys are told to whoever asks.",
		Example: "ratescope export --listen :9464 --redis redis://localhost:6379 --limit 100/1m",
	}
	address := c.Flags().String("listen", "localhost:9464", "address to answer on, HOST:PORT or :PORT for all of this machine's")
	most := c.Flags().Int("max-keys", export.DefaultMaxKeys, "how many keys may have series of their own; the rest are counted")
	return a.command(c, func(c *cobra.Command, args []string) error {
		switch _, _, err := net.SplitHostPort(*address); {
		case len(args) > 0:
			return settings.Usagef("export takes no argument and was given %q: use --listen to say where", args[0])
		case err != nil:
			return settings.Usagef("--listen %q is no address: give HOST:PORT or :PORT, as in :9464", *address)
		case *most < 1 || *most > 100_000:
			return settings.Usagef("--max-keys %d is out of range: give 1 to 100000", *most)
		}
		src, err := a.open()
		if err != nil {
			return err
		}
		defer src.Close()
		listen, err := net.Listen("tcp", *address)
		if err != nil {
			if number := syscall.Errno(0); errors.As(err, &number) {
				err = number // the rest only says again what is being done
			}
			return fmt.Errorf("nothing can be served on %s: %w; choose another address with --listen", *address, err)
		}
		fmt.Fprintf(c.ErrOrStderr(), "ratescope: the metrics are on http://%s/metrics\n", listen.Addr())
		return export.Serve(c.Context(), src, listen, export.New(export.Options{MaxKeys: *most, Mask: a.mask}))
	}, aboutScreen, []string{"ascii", "allow-inject"})
}

func (a *app) replay() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Show a recording again in the same screens",
		Long: "Show what \"ratescope record\" kept, in the screens of the dashboard and on the recording's own clock: pause, " +
			"go back and on, change the speed. No server is needed, and nothing can be fired. With --plain it is told in lines of text, from beginning to end.",
		Example: "ratescope replay incident.jsonl.gz --speed 2",
	}
	speed := c.Flags().Float64("speed", 1, "how many times as fast as it was, 0.1 to 1000")
	return a.command(c, func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return settings.Usagef("replay needs one file and was given %d: name a recording", len(args))
		}
		file, under, err := replay.Open(c.Context(), args[0])
		if err != nil {
			return settings.UsageError{Err: err}
		}
		defer under.Close()
		player, err := replay.New(file, *speed, a.plain)
		if err != nil {
			return settings.UsageError{Err: err}
		}
		return a.show(c.Context(), c, tui.Options{Take: player.Take, Focus: player.Focus, Injector: player, Player: player})
	}, aboutServer, aboutKeys, []string{"allow-inject"})
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
			return settings.Usagef("snapshot takes no argument and was given %q: use --watch to say which keys", args[0])
		}
		src, err := a.open()
		if err != nil {
			return err
		}
		defer src.Close()
		return headless.Snapshot(c.Context(), src, a.output(c))
	}, aboutScreen, []string{"ascii", "refresh", "allow-inject"})
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
		return a.key(c, args, func(src settings.Server, name string) error {
			return headless.Peek(c.Context(), src, name, a.output(c))
		})
	}, aboutScreen, []string{"ascii", "watch", "refresh", "allow-inject"})
}

// key opens the server for the one key that the arguments are.
func (a *app) key(c *cobra.Command, args []string, f func(src settings.Server, name string) error) error {
	if len(args) == 1 && args[0] == "" {
		return settings.Usagef("%s needs one key and was given an empty name: name it as it is in Redis", c.Name())
	}
	if len(args) != 1 {
		return settings.Usagef("%s needs one key and was given %d: name it as it is in Redis", c.Name(), len(args))
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
			"any other server needs --allow-inject. Every request is in an audit file before it is sent, and again with its outcome; where that cannot be written nothing is fired.\n\n" +
			"A key that does not exist yet needs --limit, and becomes a sliding log unless --algorithm says otherwise. " +
			"Errors and requests without an answer are counted apart, and make the exit code 1.",
		Example: "ratescope fire rl:alice -n 200 --limit 100/10m --redis redis://localhost:6379 --allow-inject",
	}
	n := c.Flags().IntP("number", "n", 1, fmt.Sprintf("how many requests, 1 to %d", model.MaxRequests))
	cost := c.Flags().Int64("cost", 1, "cost of each request")
	rate := c.Flags().String("rate", "", "rate at which to fire, 5/s (default: as fast as the answers come)")
	a.jsonFlag(c)
	return a.command(c, func(c *cobra.Command, args []string) error {
		shot, err := headless.ReadShot(*n, *cost, *rate)
		if err != nil {
			return err
		}
		return a.key(c, args, func(src settings.Server, name string) error {
			shot.Key = name
			return headless.Fire(c.Context(), src, shot, a.allow, a.output(c))
		})
	}, aboutScreen, []string{"ascii", "watch", "refresh"})
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
		return headless.Verify(c.Context(), files, *on, feed.Options{URLs: a.URLs(), TLS: a.TLS}, a.output(c))
	}, aboutScreen, aboutKeys, []string{"ascii", "mask", "allow-inject"})
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
	trace := c.Flags().String("trace", "", "recording, or access log in Common Log Format, whose traffic can be put in place of a lesson's")
	present := c.Flags().Bool("present", false, "begin in presenter mode: large glyphs, fewer numbers")
	return a.command(c, func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return settings.Usagef("lab takes one scenario and was given %d", len(args))
		}
		shelf, err := a.shelf()
		if err != nil {
			return err
		}
		o := screenlab.Options{Shelf: shelf, Theme: a.theme, ASCII: a.ascii, Still: a.still, Present: *present}
		if len(args) == 1 {
			if o.Lessons, o.First, err = lab.Open(args[0], settings.ReadFile); err != nil {
				return settings.UsageError{Err: err}
			}
		}
		if o.Trace, err = traceOf(*trace); err != nil {
			return err
		}
		if !term.IsTerminal(os.Stdout.Fd()) {
			return settings.Usagef("the lab needs a terminal on its output")
		}
		return screenlab.Run(c.Context(), o, tea.WithoutSignalHandler())
	}, aboutServer, aboutKeys, []string{"fps", "plain", "mask", "allow-inject"})
}

func (a *app) accuracy() *cobra.Command {
	c := &cobra.Command{
		Use:   "accuracy",
		Short: "Measure how far the weighted counter is from the truth",
		Long: "Run the sliding window counter, in each of its roundings, against an exact log of the same requests, and print how many " +
			"decisions were wrong by how heavily a source loads its limit. Without --trace the traffic is made up, from a seed.",
		Example: "ratescope accuracy --trace incident.jsonl.gz --limit 100/1m",
	}
	trace := c.Flags().String("trace", "", "recording, or access log in Common Log Format; a source is a key, or a remote host")
	seed := c.Flags().Uint64("seed", 1, "the seed of the traffic that is made up")
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	return a.command(c, func(c *cobra.Command, args []string) (err error) {
		if len(args) > 0 {
			return settings.Usagef("accuracy takes no argument and was given %q: use --trace for a file", args[0])
		}
		o := accuracy.Options{Seed: *seed}
		if a.Limit != "" {
			if o.Limit, err = limiter.ParseLimit(a.Limit); err != nil {
				return settings.UsageError{Err: err}
			}
		}
		if o.Trace, err = traceOf(*trace); err != nil {
			return err
		}
		if term.IsTerminal(os.Stderr.Fd()) {
			o.Progress = accuracy.Bar(c.ErrOrStderr(), a.ascii)
		}
		measured, err := accuracy.Measure(o)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return accuracy.PrintJSON(c.OutOrStdout(), measured)
		}
		return accuracy.Print(c.OutOrStdout(), measured, a.ascii)
	}, aboutServer, aboutScreen, []string{"watch", "algorithm", "burst", "config", "refresh", "budget", "mask", "allow-inject"})
}

// traceOf reads the recording or access log of that name; none for "".
func traceOf(name string) (*lab.Trace, error) {
	if name == "" {
		return nil, nil
	}
	f, err := settings.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	trace, err := lab.ReadTrace(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &trace, nil
}
