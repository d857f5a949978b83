package cmd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/report"
	"ratescope/model/safetext"
	"ratescope/tui"
	"ratescope/tui/session"
)

func newWatch(p *program) *cobra.Command {
	c := helped("watch")
	alerts := c.Flags().Bool("alerts", false, "evaluate the alerts of the configuration")
	return p.command(c, no("use --target or --redis to name the server"), func(c *cobra.Command, args []string) error {
		p.service = true
		return p.opened(func(src server) error {
			if *alerts {
				return raiseAlerts(p, c, src)
			}
			err := alongside(c.Context(), p.Follow(src, reloaded(logTo(c), nil)), func(ctx context.Context, box *feed.Mailbox) error {
				return tui.Plain(ctx, c.OutOrStdout(), session.Options{Source: session.Source{Take: box.Take}, Mask: p.names.Mask})
			})
			return cmp.Or(err, c.Context().Err())
		})
	}, watchFlags)
}

// sayAgain is how often it is said that alerts were not delivered, for as long as they fire.
const sayAgain = time.Minute

// raiseAlerts evaluates and delivers the alerts of the configuration until ctx ends.
func raiseAlerts(p *program, c *cobra.Command, src server) error {
	loaded, err := p.Loaded()
	if err != nil {
		return err
	}
	if len(loaded.Alerts) == 0 {
		return usagef("the configuration has no alerts: write some under alerts, as \"ratescope config init\" shows, and name the file " +
			"with --config")
	}
	log := logTo(c)
	a := newAlerter(loaded, p.names, func(a report.Alert) { log(a.Line()) }, func(d report.Delivery) { log(d.String()) })
	defer a.Close()
	log("watching with " + format.Plural(len(loaded.Alerts), "alert"))
	link, said := model.Connecting, time.Now()
	err = p.Follow(src, reloaded(log, a)).Run(c.Context(), func(b model.Batch) {
		if b.Server.Link != link {
			link = b.Server.Link
			switch {
			case link == model.Live:
				log(safetext.Clean(b.Server.Target) + " answers")
			case b.Server.Err != "":
				log(b.Server.Err)
			}
		}
		a.Put(b)
		if now := time.Now(); now.Sub(said) >= sayAgain {
			said = now
			for _, d := range a.Undelivered() {
				log("still: " + d.String())
			}
		}
	})
	return cmp.Or(err, c.Context().Err())
}

func (p *program) alerts(change func(report.Alert), told func(report.Delivery)) (*alerter, error) {
	loaded, err := p.Loaded()
	if err != nil {
		return nil, err
	}
	return newAlerter(loaded, p.names, change, told), nil
}

// reloaded returns the function to call with a changed configuration, which goes to a.
func reloaded(log func(string), a *alerter) func(*config.Config, error) {
	return func(loaded *config.Config, err error) {
		if err != nil {
			log(notUsed(err))
			return
		}
		a.SetConfig(loaded)
		log("the configuration has changed and is in use")
	}
}

// notUsed returns what is wrong with a changed configuration, one sentence.
func notUsed(err error) string {
	return "the configuration has changed and is not used: " + safetext.Sentence(err.Error())
}

// logTo returns a function that writes one line with the time to stderr. It is safe for concurrent use.
func logTo(c *cobra.Command) func(string) {
	return func(text string) {
		fmt.Fprintf(c.ErrOrStderr(), "%s ratescope: %s\n", time.Now().UTC().Format(time.RFC3339),
			safetext.Clip(safetext.Sentence(text), maxError, safetext.Ellipsis))
	}
}

// ruled is a server whose rules can be replaced while it is watched.
type ruled interface {
	SetRules([]config.Rule)
}

// Follow returns src with its rules replaced whenever the configuration file changes. Rules
// that are wrong leave those before in place. changed gets every new configuration, or what is
// wrong with it, from another goroutine.
func (s *settings) Follow(src server, changed func(*config.Config, error)) feed.Source {
	path := s.ConfigPath()
	if path == "" {
		return src
	}
	return feed.SourceFunc(func(ctx context.Context, emit func(model.Batch)) error {
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			config.Follow(ctx, path, func(c *config.Config, err error) { changed(c, s.apply(src, c, err)) })
		}()
		err := src.Run(ctx, emit)
		cancel()
		<-done
		return err
	})
}

// apply puts a new configuration in place, unless it cannot be read for a reason.
func (s *settings) apply(src server, c *config.Config, err error) error {
	var list []config.Rule
	if err == nil {
		s.mu.Lock()
		s.latest, s.written = c, nil
		s.mu.Unlock()
		list, err = s.Rules(c)
	}
	if server, ok := src.(ruled); ok && err == nil {
		server.SetRules(list)
	}
	return err
}
