package cmd

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/relay"
	"ratescope/internal/panics"
	"ratescope/model"
	"ratescope/model/handoff"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/saving"
	"ratescope/tui/session"
)

// exporterSays lists the flags that the exporter has, and not the dashboard that it feeds: those
// that say how a server is watched.
var exporterSays = []string{"redis", "target", "watch", "limit", "algorithm", "burst", "refresh", "budget", "allow-inject"}

// runFed shows the dashboard of the keys that exporters watch.
func runFed(p *program, c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("--from and the target %q both say what is shown: give one of them", args[0])
	}
	for _, name := range exporterSays {
		if c.Flags().Changed(name) {
			return usagef("--%s is for the process that watches the server: give it to \"ratescope export\", or leave --from out", name)
		}
	}
	if p.fps < 1 || p.fps > 60 {
		return usagef("--fps %d is out of range: give 1 to 60", p.fps)
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
		return usageError{Err: err}
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	box := feed.NewMailbox()
	ended := make(chan error, 1)
	news := handoff.New(func(held *[]session.News, newer []session.News) { *held = append(*held, newer...) })
	alerts, err := p.alerts(func(a report.Alert) { news.Put([]session.News{{Alert: &a}}) },
		func(d report.Delivery) { news.Put(newsOf(d)) })
	if err != nil {
		return err
	}
	defer alerts.Close()
	tapped := alerts.Tap(src)
	go func() {
		ended <- panics.Call(func() error { return tapped.Run(ctx, box.Put) })
		cancel() // without a source there is nothing to show
	}()
	recent := newRecent(p.recording("").Header)
	defer recent.Close()
	err = p.show(ctx, c, tui.Options{
		Choices: stateFile("choices.json"),
		Source:  session.Source{Take: box.Take, Focus: src.Focus},
		Inject:  firing.Options{Injector: src},
		Library: aboutLibrary,
		Saving: saving.Options{
			Record: func() (tui.Recorder, string, error) {
				r := p.recording(time.Now().Format("ratescope-20060102-150405") + ".jsonl.gz")
				recorder, err := newRecorder(r)
				return recorder, r.File, err
			},
			Keep:    recent.Put,
			Capsule: func(b *model.Board) (string, error) { return p.saveCapsule(b, recent, alerts) },
		},
		News: news.Take,
	})
	cancel()
	return cmp.Or(<-ended, err)
}
