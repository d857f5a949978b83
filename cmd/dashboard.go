package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/relay"
	"ratescope/feed/replay"
	"ratescope/feed/script/sandbox"
	"ratescope/internal/file"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/handoff"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/firing"
	screenlab "ratescope/tui/lab"
	"ratescope/tui/session"
	"ratescope/tui/state"
)

func runDashboard(p *program, c *cobra.Command, args []string) error {
	if len(p.from) > 0 {
		return runFed(p, c, args)
	}
	if p.Target != "" && (len(args) > 1 || len(args) == 1 && p.Target != args[0]) {
		return usagef("the targets %q and %q are both given: give them as arguments, or one of them", args[0], p.Target)
	}
	p.commands = collect.Map(c.Commands(), (*cobra.Command).Name)
	of := []*program{p}
	switch {
	case len(args) == 1:
		p.Target = args[0]
	case len(args) > 1:
		of = nil
		for i, name := range args {
			switch {
			case slices.Contains(args[:i], name):
				return usagef("the target %q is given twice: give it once", name)
			case p.look.plain:
				return usagef("--plain follows one target and was given %d: give one of them", len(args))
			case len(args) > mostTargets:
				return usagef("%d targets are too many for one view: give %d at most", len(args), mostTargets)
			}
			of = append(of, p.of(name))
		}
	}
	var boards []board
	defer func() {
		for _, b := range boards {
			b.close()
		}
	}()
	for _, q := range of {
		b, err := q.board()
		if err != nil {
			return err
		}
		boards = append(boards, b)
	}
	return p.showBoards(c, boards)
}

// mostTargets is how many servers one view has a line for.
const mostTargets = 8

// of returns the program that watches a target of the configuration as p would.
func (p *program) of(target string) *program {
	return &program{
		settings: settings{Environment: p.Environment, Flags: p.Flags, Override: p.Override, Target: target, Config: p.Config,
			Budget: p.Budget, PasswordFile: p.PasswordFile},
		version: p.version, allow: p.allow, names: p.names, look: look{fps: p.look.fps}, askpass: p.askpass,
	}
}

// board is a source and the dashboard of it, whose Source.Take is not set yet.
type board struct {
	source  feed.Source
	options tui.Options
	close   func()
}

// board prepares the dashboard of the server that the settings name.
func (p *program) board() (board, error) {
	src, err := p.open()
	if err != nil {
		return board{}, err
	}
	guard := p.firing()
	guard.ByHand = true
	inner := src.Injector(guard)
	b, err := p.boardOf(src, func(a *alerter, failed func(string)) feed.Source {
		return p.Follow(src, func(c *config.Config, err error) {
			if err != nil {
				failed(notUsed(err))
				return
			}
			a.SetConfig(c)
		})
	})
	if err != nil {
		src.Close()
		return board{}, err
	}
	o := &b.options.Session
	o.Inject = firing.Options{Injector: inner, Change: inner.Change, TakeBack: inner.TakeBack, Recorded: recordedRequests}
	o.Teach, o.Target, o.Production, o.Colour = p.teach(src), p.Target, p.target.Production, p.target.Colour
	if inner.ByHand() {
		o.Inject.Arming = inner
	}
	return board{b.source, b.options, func() { b.close(); src.Close() }}, nil
}

// boardOf prepares the dashboard of a source, which keeps the last minutes. followed returns the source
// with what follows the configuration around it; failed tells the screen what is wrong, in one sentence.
func (p *program) boardOf(src feed.Focuser, followed func(a *alerter, failed func(string)) feed.Source) (board, error) {
	news := handoff.New(func(held *[]session.News, newer []session.News) { *held = append(*held, newer...) })
	alerts, err := p.alerts(func(a report.Alert) { news.Put([]session.News{{Alert: &a}}) }, func(d report.Delivery) {
		said := session.News{Delivery: &d}
		if d.Outcome == report.Refused || d.Outcome == report.Failed {
			said.Failed = d.String()
		}
		news.Put([]session.News{said})
	})
	if err != nil {
		return board{}, err
	}
	recent := newRecent(p.recording("").Header)
	failed := func(text string) { news.Put([]session.News{{Failed: text}}) }
	b := board{source: alerts.Tap(followed(alerts, failed)), close: func() { recent.end(); alerts.Close() }}
	b.options = tui.Options{
		Choices: stateFile("choices.json"),
		Session: session.Options{Source: session.Source{Focus: src.Focus}, Library: aboutLibrary, News: news.Take,
			Saving: state.FileOptions{
				Record: func() (state.Recorder, string, error) {
					r := p.recording(time.Now().Format("ratescope-20060102-150405") + ".jsonl.gz")
					recorder, err := newRecorder(r)
					return recorder, r.File, err
				},
				Keep:    recent.Put,
				Past:    recent.board,
				History: func(key string, f report.Format) (string, error) { return exportHistory(recent.from, key, f, p.names) },
				Capsule: func(b *model.Board) (string, error) {
					return recent.save(func(t *record.Tail) (report.Capsule, error) { return p.content(b, t, alerts.History()) })
				},
			}},
	}
	return b, nil
}

// exportHistory writes what a key was and what came at it, second by second, from the beginning of what from reads.
func exportHistory(from func(int) (*record.Reader, error), key string, f report.Format, names report.Options) (path string, err error) {
	kept, err := from(0)
	if err != nil {
		return "", err
	}
	rows, server, err := replay.History(kept, key, time.Second, names)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("nothing is kept of %s yet: try again in a second", names.Name(key).Clean())
	}
	if err != nil {
		return "", err
	}
	return export(limiter.InstantOf(time.Now()), string(f), func(w io.Writer) error { return report.WriteRows(w, f, server, rows) })
}

// export writes a new file in the working folder and returns its path. The name says when, by the server's clock; a file that is there
// already is never changed.
func export(at limiter.Instant, extension string, write func(io.Writer) error) (path string, err error) {
	path = "ratescope-" + at.Time().Format("20060102-150405.000") + "." + extension
	if err := file.Create(path, false, func(f *os.File) error { return write(f) }); err != nil {
		return "", fmt.Errorf("%s cannot be written (%w): begin ratescope in a folder that you may write to", path, err)
	}
	return path, nil
}

// showBoards runs the sources of boards, and the screen on them, until one of them ends.
func (p *program) showBoards(c *cobra.Command, boards []board) error {
	var run func(ctx context.Context, i int) error
	run = func(ctx context.Context, i int) error {
		if i == len(boards) {
			return p.show(ctx, c, boards)
		}
		return alongside(ctx, boards[i].source, func(ctx context.Context, box *feed.Mailbox) error {
			boards[i].options.Session.Source.Take = box.Take
			return run(ctx, i+1)
		})
	}
	return run(c.Context(), 0)
}

// alongside runs a source, and do with what the source reports, until one of them ends. It returns the error
// of the source, else that of do.
func alongside(ctx context.Context, src feed.Source, do func(ctx context.Context, box *feed.Mailbox) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	box, ended := feed.NewMailbox(), make(chan error, 1)
	go func() {
		ended <- goroutine.Call(func() error { return src.Run(ctx, box.Put) })
		cancel() // without a source there is nothing to show
	}()
	err := do(ctx, box)
	cancel()
	return cmp.Or(<-ended, err)
}

// stateFile is where a file is kept from one start to the next; "" where there is no home for
// it, and nothing is kept then.
func stateFile(name string) string {
	if os.Getenv("HOME") == "" && os.Getenv("XDG_STATE_HOME") == "" {
		return ""
	}
	return filepath.Join(xdg.StateHome, "ratescope", name)
}

// show runs the screen, or with --plain the text, on boards until the user quits, ctx ends or a source does.
func (p *program) show(ctx context.Context, c *cobra.Command, boards []board) error {
	look, err := p.look.options()
	if err != nil {
		return err
	}
	look.FPS, look.Suspend, look.Timed = p.look.fps, true, p.timed
	notify, err := p.look.notifying()
	if err != nil {
		return err
	}
	all := make([]tui.Options, len(boards))
	for i := range boards {
		o := boards[i].options
		o.Look, o.Session.Notify, o.Session.Mask = look, notify, p.names.Mask
		o.Session.Saving.Export = func(b model.Batch) (string, error) {
			return export(b.At, "json", func(w io.Writer) error { return report.WriteJSON(w, report.SnapshotOf(b, p.names)) })
		}
		o.Session.Saving.ExportRows = func(b model.Batch, f report.Format) (string, error) {
			rows := collect.Map(b.Readings, func(r model.Reading) report.Row { return report.RowOf(&r, b.At, p.names) })
			return export(b.At, string(f), func(w io.Writer) error { return report.WriteRows(w, f, b.Server.Target, rows) })
		}
		o.Session.Saving.ExportEvents = func(server string, list []record.Marker, f report.Format) (string, error) {
			return export(limiter.InstantOf(time.Now()), "events."+string(f), func(w io.Writer) error {
				return report.WriteEvents(w, f, server, list, p.names)
			})
		}
		o.Session.Saving.Ended = func(holds string) {
			fmt.Fprintf(c.ErrOrStderr(), "The recording that was under way has ended: %s.\n", holds)
		}
		o.Lab.Save, o.Lab.Redis = screenlab.SaveNew, &sandbox.Stage{}
		if i == 0 {
			o.Lab.Memory, o.Lab.Remember = labMemory()
			o.Lab.Play = !p.look.still
		}
		all[i] = o
	}
	switch terminal := term.IsTerminal(os.Stdout.Fd()); {
	case p.look.lines(terminal):
		return tui.Plain(ctx, c.OutOrStdout(), all[0].Session)
	case !terminal:
		return usagef("the dashboard needs a terminal on its output: use --plain to follow along in text; for one look " +
			"\"ratescope snapshot\" reads a server, and \"ratescope replay FILE --format jsonl\" a recording")
	}
	// Signals already cancel ctx; Bubble Tea's own handler would wait for it for ever.
	return tui.Run(ctx, all, tea.WithoutSignalHandler())
}

// runFed shows the dashboard of the keys that exporters watch.
func runFed(p *program, c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("--from and the target %q both say what is shown: give one of them", args[0])
	}
	if err := misplaced(c, "--%s does nothing with --from: leave out one of them; how the server is watched is said to \"ratescope export\"",
		"redis", "target", "watch", "limit", "algorithm", "burst", "refresh", "budget", "allow-inject"); err != nil {
		return err
	}
	if err := p.ask(); err != nil {
		return err
	}
	password, err := p.GivenPassword()
	if err != nil {
		return err
	}
	src, err := relay.New(relay.Options{URLs: p.from, Password: password, TLS: p.Flags.TLS})
	if err != nil {
		return usage(err)
	}
	b, err := p.boardOf(src, func(*alerter, func(string)) feed.Source { return src })
	if err != nil {
		return err
	}
	defer b.close()
	b.options.Session.Inject = firing.Options{Refused: relay.ErrExporter}
	return p.showBoards(c, []board{b})
}
