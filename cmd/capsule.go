package cmd

import (
	"cmp"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/capsule"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/shell"
)

// capsuleFor is how long a capsule is watched for without a dashboard.
const capsuleFor = 10 * time.Second

func newCapsule(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "capsule FILE",
		Short: "Save what is going on in one file, for others",
		Long: "Watch as the dashboard does for the time of --for, and put what was seen into one zip file: a recording, what happened, " +
			"the audit lines of what was fired from this machine, the health of the server, the configuration without secrets, and a summary " +
			"in Markdown with a picture. \"ratescope replay FILE\" and \"ratescope lab FILE\" open it. With ctrl+c it is written at once.\n\n" +
			"In the dashboard, I saves the same of the last ten minutes, which are always in memory.\n\n" +
			"It holds the names of the keys, without their middle with --mask, and no value of a key that is no limiter.",
		Example: "ratescope capsule incident.zip --for 1m --redis redis://localhost:6379 --limit 100/1m",
	}
	long := c.Flags().Duration("for", capsuleFor, "how long to watch, as in 1m")
	force := c.Flags().Bool("force", false, "write over a file that is there")
	return p.command(c, func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return cli.Usagef("capsule needs one file and was given %d: name the file to write, as in incident.zip", len(args))
		}
		o := cli.Watching{File: args[0], Force: *force, For: *long, Header: p.recording("").Header, Progress: term.IsTerminal(os.Stderr.Fd())}
		if err := o.Check(); err != nil {
			return err
		}
		src, err := p.open()
		if err != nil {
			return err
		}
		defer src.Close()
		return cli.Capsule(c.Context(), src, o, func(board *model.Board, begin limiter.Instant, recording io.WriterTo) (capsule.Content, error) {
			return p.content(board, begin, recording, nil)
		}, p.output(c))
	}, []string{"fps", "no-animation", "plain", "ascii", "allow-inject"})
}

// content puts together what a capsule holds.
func (p *program) content(board *model.Board, begin limiter.Instant, recording io.WriterTo, alerts *cli.Alerts) (capsule.Content, error) {
	shelf, err := p.shelf()
	if err != nil {
		return capsule.Content{}, err
	}
	text, svg, err := tui.Picture(board, tui.Options{Look: shell.Options{Shelf: shelf, Theme: cmp.Or(p.theme, "phosphor")}, Mask: p.mask})
	if err != nil {
		return capsule.Content{}, err
	}
	c := capsule.Content{
		By: "ratescope " + report.Build(p.version), Made: time.Now(), Begin: begin, Board: board, Recording: recording,
		Events: tui.Events(board, p.mask), Concerns: tui.Concerns(board), Alerts: alerts.History(), Text: text, SVG: svg, Names: p.names(),
	}
	loaded, err := p.Loaded()
	if err != nil {
		return capsule.Content{}, err
	}
	cli.Evidence(&c, loaded, begin.Add(-board.Server.Offset))
	return c, nil
}

// saveCapsule saves what a dashboard has kept, in the working folder.
func (p *program) saveCapsule(board *model.Board, recent *cli.Recent, alerts *cli.Alerts) (account string, err error) {
	c, err := p.content(board, recent.Begin(), recent, alerts)
	c.Cut = recent.Cut()
	if err != nil {
		return "", err
	}
	name := "ratescope-" + time.Now().Format("20060102-150405.000") + ".zip"
	if err := cli.WriteCapsule(name, false, c); err != nil {
		return "", err
	}
	return cli.Saved(name, &c), nil
}
