package cmd

import (
	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/relay"
	"ratescope/tui/firing"
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
	b, err := p.boardOf(src, func(*alerter) feed.Source { return src })
	if err != nil {
		return err
	}
	defer b.close()
	b.options.Inject = firing.Options{Injector: src}
	return p.showBoards(c, []board{b})
}
