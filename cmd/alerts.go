package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/notify"
	"ratescope/internal/file"
	"ratescope/model"
	"ratescope/model/alert"
	"ratescope/model/collect"
	"ratescope/model/report"
)

// alerter evaluates the alerts of a configuration and delivers them. Make one with
// newAlerter. It is safe for concurrent use.
type alerter struct {
	names  report.Options
	change func(report.Alert) // gets every alert that begins or ends
	queue  *notify.Queue

	mu      sync.Mutex
	idle    bool // there are no alerts
	engine  *alert.Engine
	history []report.Alert // the latest, oldest first

	counting sync.Mutex
	counts   map[delivered]int
	missed   report.Undelivered
}

// maxHistory bounds the alerts that History returns.
const maxHistory = 500

// farewell is how long alerts that wait may take to be delivered at the end.
const farewell = 5 * time.Second

// delivered is what deliveries are counted by.
type delivered struct {
	alert   string
	outcome report.DeliveryOutcome
}

// newAlerter returns the alerts of a configuration. told gets what became of each delivery, from any goroutine.
func newAlerter(c *config.Config, names report.Options, change func(report.Alert), told func(report.Delivery)) *alerter {
	a := &alerter{names: names, change: change, idle: len(c.Alerts) == 0, engine: alert.NewEngine(alertRules(c)),
		counts: map[delivered]int{}}
	a.queue = notify.NewQueue(routes(c), func(d report.Delivery) {
		a.counting.Lock()
		a.counts[delivered{d.Alert, d.Outcome}] += d.Count
		a.missed.Note(d)
		a.counting.Unlock()
		told(d)
	})
	return a
}

// Deliveries calls f with how many alerts of each rule had each outcome.
func (a *alerter) Deliveries(f func(rule string, outcome report.DeliveryOutcome, n int)) {
	a.counting.Lock()
	defer a.counting.Unlock()
	for of, n := range a.counts {
		f(of.alert, of.outcome, n)
	}
}

// Undelivered returns what became of the latest deliveries of alerts that fire and did not reach their receivers.
func (a *alerter) Undelivered() []report.Delivery {
	fires := a.Firing()
	a.counting.Lock()
	defer a.counting.Unlock()
	return slices.DeleteFunc(slices.Clone(a.missed), func(d report.Delivery) bool {
		return !slices.ContainsFunc(fires, func(f report.Alert) bool { return f.Alert == d.Alert })
	})
}

// Put takes in a batch, which is not modified.
func (a *alerter) Put(b model.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.idle {
		a.tell(a.engine.Put(b))
	}
}

// Tap returns src with every batch going to a before it goes on.
func (a *alerter) Tap(src feed.Source) feed.Source {
	return feed.SourceFunc(func(ctx context.Context, emit func(model.Batch)) error {
		return src.Run(ctx, func(b model.Batch) {
			a.Put(b)
			emit(b)
		})
	})
}

// SetConfig puts another configuration in place. A nil a has none.
func (a *alerter) SetConfig(c *config.Config) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell(a.engine.SetRules(alertRules(c)))
	a.queue.SetRoutes(routes(c))
	a.idle = len(c.Alerts) == 0
}

// tell delivers events. a.mu is held, so that they are in order.
func (a *alerter) tell(events []alert.Event) {
	for _, e := range events {
		said := report.AlertOf(e, a.names)
		a.history = append(a.history, said)
		if n := len(a.history) - maxHistory; n > 0 {
			a.history = slices.Delete(a.history, 0, n)
		}
		a.change(said)
		a.queue.Put(said)
	}
}

// Firing returns the alerts that fire now, by rule and key.
func (a *alerter) Firing() []report.Alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	return collect.Map(a.engine.Firing(), func(e alert.Event) report.Alert { return report.AlertOf(e, a.names) })
}

// History returns the alerts that began or ended lately, oldest first.
func (a *alerter) History() []report.Alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.history)
}

// Close delivers what waits, for a few seconds at most.
func (a *alerter) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	a.queue.Close(ctx)
}

func alertRules(c *config.Config) []alert.Rule {
	return collect.Map(c.Alerts, func(a config.Alert) alert.Rule { return a.Rule })
}

func routes(c *config.Config) map[string]notify.Route {
	all := make(map[string]notify.Route, len(c.Alerts))
	for _, a := range c.Alerts {
		all[a.Name] = routeOf(a)
	}
	return all
}

// routeOf returns where the events of an alert go. A URL in a file or in the environment is
// read when it is needed, so that it can be replaced.
func routeOf(a config.Alert) notify.Route {
	r := notify.Route{Command: a.Command, Alertmanager: a.Alertmanager}
	if a.Webhook+a.WebhookFile+a.WebhookEnv != "" {
		r.Webhook = func() (string, error) {
			env := os.Getenv(a.WebhookEnv)
			switch {
			case a.WebhookFile != "":
				text, err := file.Read(a.WebhookFile)
				return strings.TrimSpace(string(text)), err
			case a.Webhook == "" && env == "":
				return "", fmt.Errorf("the environment has no %s, which webhook_env names", a.WebhookEnv)
			}
			return cmp.Or(a.Webhook, env), nil
		}
	}
	return r
}

// tryAlerts delivers a made-up beginning and end of every alert of that name, or of all for
// "", and prints what became of each. The error says how many failed.
func tryAlerts(ctx context.Context, c *config.Config, name string, o output) error {
	failed, tried := 0, 0
	for _, a := range c.Alerts {
		if name != "" && a.Name != name {
			continue
		}
		route := routeOf(a)
		if route.Webhook == nil && route.Alertmanager == "" && len(route.Command) == 0 {
			fmt.Fprintf(o.Out, "%s: goes nowhere: give it a webhook, an alertmanager or a command\n", a.Name)
			continue
		}
		for _, firing := range []bool{true, false} {
			tried++
			said := report.AlertOf(alert.Sample(a.Rule, firing, time.Now()), o.Names)
			said.Text = "this is a test: " + said.Text
			outcome := "was delivered"
			if err := route.Deliver(ctx, said, func(report.Delivery) {}); err != nil {
				failed++
				outcome = fmt.Sprintf("was not delivered: %v", err)
			}
			fmt.Fprintf(o.Out, "%s: %s %s\n", a.Name, said.State, outcome)
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case tried == 0 && name != "":
		return usagef("there is no alert %q that goes anywhere in the configuration", name)
	case tried == 0:
		return usagef("the configuration has no alert that goes anywhere: add a webhook or a command to one under alerts")
	case failed > 0:
		return fmt.Errorf("%d of %d deliveries failed", failed, tried)
	}
	return nil
}

func newAlert(p *program) *cobra.Command {
	c := helped("alert")
	name := arity{max: 1, what: "name"}
	c.AddCommand(p.command(helped("test [NAME]"), name, func(c *cobra.Command, args []string) error {
		loaded, _, err := configuration(p.Config)
		if err != nil {
			return err
		}
		return tryAlerts(c.Context(), loaded, append(args, "")[0], p.output(c))
	}, []string{"config", "mask"}))
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		return usagef("alert needs a command: use \"ratescope alert test\"")
	})
}

// configuration returns the configuration that --config gives or that of the XDG folders, whether a
// server is named or not, and its path.
func configuration(given string) (*config.Config, string, error) {
	path := cmp.Or(given, defaultConfigPath())
	if path == "" {
		return nil, "", usagef("there is no configuration file: write one with \"ratescope config init\", or name one with --config")
	}
	loaded, err := config.Load(path)
	return loaded, path, usage(err)
}
