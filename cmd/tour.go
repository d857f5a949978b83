package cmd

import (
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/fire"
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
		options := tui.Options{Tour: true, Inject: firing.Options{Injector: demo.Injector(fire.Options{})}}
		options.Source = session.Source{Focus: demo.Focus}
		return p.showBoards(c, []board{{source: demo, options: options}})
	}, boardFlags)
}
