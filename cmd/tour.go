package cmd

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/panics"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
)

func newTour(p *program) *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "tour",
		Short: "See in a minute what there is to see",
		Long: "Show the dashboard on the embedded demo and go through it in a minute, with a sentence about each picture. " +
			"Any key ends the tour and leaves the demo to you. It touches no other Redis.",
		Example: "ratescope tour",
	}, no(""), func(c *cobra.Command, _ []string) error {
		if p.plain {
			return usagef("the tour is of the screens: leave --plain out")
		}
		demo, err := feed.NewEmbedded(feed.Options{})
		if err != nil {
			return err
		}
		defer demo.Close()
		ctx, cancel := context.WithCancel(c.Context())
		box, ended := feed.NewMailbox(), make(chan error, 1)
		go func() {
			ended <- panics.Call(func() error { return demo.Run(ctx, box.Put) })
			cancel() // without a source there is nothing to show
		}()
		err = p.show(ctx, c, tui.Options{Tour: true, Source: session.Source{Take: box.Take, Focus: demo.Focus},
			Inject: firing.Options{Injector: demo.Injector(fire.Options{})}})
		cancel()
		return cmp.Or(<-ended, err)
	}, boardFlags)
}
