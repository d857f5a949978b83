package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"ratescope/feed/fire"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/bench"
	"ratescope/model/format"
)

// checkURL judges the limiter of an application by its answers in real time. It says first how many requests it
// sends, and how long that takes.
func (p *program) checkURL(ctx context.Context, web webCall, limit limiter.Limit, f checkFlags, out, progress io.Writer) error {
	if _, err := p.Loaded(); err != nil {
		return err
	}
	call, err := web.read()
	if err != nil {
		return err
	}
	app, err := fire.NewApplication(fire.Options{Armed: p.armed(), Refused: p.refused(), Production: p.Named().Production}, call)
	if err != nil {
		return usageError{err}
	}
	defer app.Close()
	if err := app.Armed(); err != nil {
		return err
	}
	steps := bench.Outside(limit)
	n := int64(0)
	for _, s := range steps {
		n += s.N
	}
	long := steps[len(steps)-1].At
	fmt.Fprintf(progress, "sending %s to %s within %s, and none before an edge of the clock, which takes up to %s more\n",
		format.Plural(int(n), "request"), app.Shown(), format.Length(long), format.Length(limit.Window))
	fired, err := fireSteps(ctx, app, steps, limit.Window)
	if err != nil {
		return err
	}
	slices.SortFunc(fired, func(a, b model.Fired) int { return a.Sent.Compare(b.Sent) })
	var seen []bench.Observed
	for i := range fired {
		one := &fired[i]
		if one.Outcome != model.Admitted && one.Outcome != model.Denied {
			return fmt.Errorf("%s: request %d got no verdict: %s", app.Shown(), i+1, one.Err)
		}
		middle := one.Sent.Add(one.Received.Sub(one.Sent) / 2)
		seen = append(seen, bench.Observed{At: limiter.InstantOf(middle), Admitted: one.Outcome == model.Admitted})
	}
	r := bench.Judge(bench.Options{Limit: limit, Exact: f.promise == "exact"}, seen)
	account := newFireAccount(app.Shown(), p.names())
	for _, line := range account.Found(model.Findings(fired)) {
		r.Lies(line)
	}
	return f.print(checkPage{Report: &r, Name: app.Shown(), ascii: p.ascii}, p.json, out)
}

// fireSteps sends traffic in real time, from half a window after an edge of the clock on.
func fireSteps(ctx context.Context, app *fire.Application, steps []bench.Step, w time.Duration) (fired []model.Fired, err error) {
	now := time.Now()
	begin := limiter.InstantOf(now).Floor(w).Add(w / 2)
	if limiter.InstantOf(now) > begin {
		begin = begin.Add(w)
	}
	for _, s := range steps {
		wait := time.NewTimer(time.Until(begin.Add(s.At).Time()))
		select {
		case <-ctx.Done():
			return fired, ctx.Err()
		case <-wait.C:
		}
		order := model.Order{Cost: 1, N: int(s.N), Target: model.Target{Algorithm: limiter.Unknown}}
		if _, err := app.Fire(ctx, order, func(f model.Fired) { fired = append(fired, f) }); err != nil {
			return fired, err
		}
	}
	return fired, nil
}
