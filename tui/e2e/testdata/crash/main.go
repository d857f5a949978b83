// Crash is the dashboard over parts that panic, one at a time, as a fault of the program
// would: tests look at the terminal that it leaves behind.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
)

// faulty is an injector that panics where it is told to.
type faulty struct{ in string }

func (f faulty) Armed() error {
	if f.in == "View" {
		time.Sleep(time.Second) // the screen stands by then
		panic("a fault in View")
	}
	return nil
}

func (f faulty) Fire(context.Context, model.Order, func(model.Fired)) (model.Outcomes, error) {
	panic("a fault in a command")
}

func main() {
	in := os.Args[1]
	var o tui.Options
	o.Session.Inject.Injector = faulty{in}
	begun := time.Now()
	o.Session.Source.Take = func(ctx context.Context) (model.Batch, error) {
		select {
		case <-ctx.Done():
			return model.Batch{}, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		now := time.Now()
		if in == "Take" && now.Sub(begun) > time.Second {
			panic("a fault in a source")
		}
		at := limiter.InstantOf(now)
		return model.Batch{At: at, Local: now, Server: model.Server{Link: model.Live, Target: "made up"}, Sweep: model.Sweep{Passes: 1},
			Readings: []model.Reading{{Key: "k", At: at, Target: model.Target{
				Algorithm: limiter.FixedWindow, LimitKnown: true, Limit: limiter.Limit{Count: 5, Window: time.Second}, Window: time.Second}}}}, nil
	}
	if in == "Update" {
		o.Session.Saving.Export = func(model.Batch) (string, error) { panic("a fault in Update") }
	}
	if err := tui.Run(context.Background(), []tui.Options{o}, tea.WithoutSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}
