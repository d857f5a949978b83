package cmd

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/fire"
	"ratescope/internal/panics"
	"ratescope/model"
	"ratescope/model/handoff"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/firing"
	screenlab "ratescope/tui/lab"
	"ratescope/tui/saving"
	"ratescope/tui/session"
)

func runDashboard(p *program, c *cobra.Command, args []string) error {
	if len(p.from) > 0 {
		return runFed(p, c, args)
	}
	switch {
	case len(args) > 1:
		return usagef("the dashboard takes one target and was given %d arguments: name one that the configuration has", len(args))
	case len(args) == 1 && p.Target != "" && p.Target != args[0]:
		return usagef("the targets %q and %q are both given: give one of them", args[0], p.Target)
	case len(args) == 1:
		p.Target = args[0]
	}
	src, err := p.open()
	if err != nil {
		return err
	}
	defer src.Close()
	ctx, cancel := context.WithCancel(c.Context())
	box := feed.NewMailbox()
	ended := make(chan error, 1)
	news := handoff.New(func(held *[]session.News, newer []session.News) { *held = append(*held, newer...) })
	alerts, err := p.alerts(func(a report.Alert) { news.Put([]session.News{{Alert: &a}}) },
		func(d report.Delivery) { news.Put(newsOf(d)) })
	if err != nil {
		cancel()
		return err
	}
	defer alerts.Close()
	followed := alerts.Tap(p.Follow(src, func(c *config.Config, err error) {
		if err == nil {
			alerts.SetConfig(c)
		}
	}))
	go func() {
		ended <- panics.Call(func() error { return followed.Run(ctx, box.Put) })
		cancel() // without a source there is nothing to show
	}()
	recent := newRecent(p.recording("").Header)
	defer recent.Close()
	inner := src.Injector(fire.Options{Armed: p.armed(), Refused: p.refused(), ByHand: true, Production: p.Named().Production})
	injector := &recordedInjector{Injector: inner, keep: recent.Fired}
	options := tui.Options{
		Choices: stateFile("choices.json"),
		Source:  session.Source{Take: box.Take, Focus: src.Focus},
		Inject:  firing.Options{Injector: injector, Changer: inner, Back: inner, Recorded: recordedRequests},
		Library: aboutLibrary, Adopt: p.Adopter(src),
		Saving: saving.Options{
			Record: func() (tui.Recorder, string, error) {
				r := p.recording(time.Now().Format("ratescope-20060102-150405") + ".jsonl.gz")
				recorder, err := injector.record(r)
				return recorder, r.File, err
			},
			Keep:    recent.Put,
			Capsule: func(b *model.Board) (string, error) { return p.saveCapsule(b, recent, alerts) },
		},
		News: news.Take, Production: p.Named().Production, Colour: p.Named().Colour,
	}
	if inner.ByHand() {
		options.Inject.Arming = inner
	}
	err = p.show(ctx, c, options)
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

// show runs the screen, or with --plain the text, on the source in o until the user quits,
// ctx ends or the source does.
func (p *program) show(ctx context.Context, c *cobra.Command, o tui.Options) (err error) {
	if o.Look.Shelf, err = p.shelf(); err != nil {
		return err
	}
	o.Saving.Export = func(b model.Batch) (string, error) { return report.Export(".", b, p.names()) }
	o.Saving.ExportRows = func(b model.Batch, f report.Format) (string, error) { return report.ExportRows(".", b, f, p.names()) }
	o.Saving.ExportEvents = p.exportEvents
	o.Lab.Save = screenlab.SaveNew
	o.Lab.Memory, o.Lab.Remember = labMemory()
	o.Look.Theme, o.Look.FPS, o.Look.Still, o.Look.ASCII = p.theme, p.fps, p.still, p.ascii || asciiOnly()
	if o.Notify, err = p.notifying(); err != nil {
		return err
	}
	o.Mask, o.Look.Suspend, o.Look.Timed = p.mask, true, p.timed()
	switch {
	case p.lines():
		return tui.Plain(ctx, c.OutOrStdout(), o)
	case !term.IsTerminal(os.Stdout.Fd()):
		return usagef("the dashboard needs a terminal on its output: use --plain to follow along in text, or \"ratescope snapshot\" for one look")
	}
	// Signals already cancel ctx; Bubble Tea's own handler would wait for it for ever.
	return tui.Run(ctx, o, tea.WithoutSignalHandler())
}

// recordedInjector is the injector of a dashboard that writes what it fires into the
// recording that is under way, so that a replay tells those requests from the others.
type recordedInjector struct {
	firing.Injector

	keep func(model.Fired) // gets every request that was fired; may be nil

	mu       sync.Mutex
	recorder *recorder // the last one that was started; nil before
}

// fireKey implements firing.Injector.
func (i *recordedInjector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	return i.Injector.Fire(ctx, s, func(f model.Fired) {
		if r := i.current(); r != nil {
			r.Fired(f)
		}
		if i.keep != nil {
			i.keep(f)
		}
		report(f)
	})
}

func (i *recordedInjector) current() *recorder {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.recorder
}

// record begins a recording.
func (i *recordedInjector) record(r recording) (*recorder, error) {
	recorder, err := newRecorder(r)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.recorder = recorder
	return recorder, nil
}
