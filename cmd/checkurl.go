package cmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ratescope/feed/fire"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/bench"
	"ratescope/model/collect"
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
	calls, err := apartCalls(call, f.apart)
	if err != nil {
		return usage(err)
	}
	var apps []*fire.Application
	o := p.firing()
	o.Reason = f.reason
	for _, c := range append([]fire.Call{call}, calls...) {
		app, err := fire.NewApplication(o, c)
		if err != nil {
			return usage(err)
		}
		defer app.Close()
		apps = append(apps, app)
	}
	app := apps[0]
	if err := app.Armed(); err != nil {
		return err
	}
	steps := bench.Outside(limit)
	n := int64(2*len(calls)) + collect.Sum(steps, func(s bench.Step) int64 { return s.N })
	fmt.Fprintf(progress, "sending %s to %s within %s, and none before an edge of the clock, which takes up to %s more\n",
		format.Plural(int(n), "request"), app.Shown(), format.Length(steps[len(steps)-1].At), format.Length(limit.Window))
	fired, err := fireSteps(ctx, app, steps, limit.Window)
	if err != nil {
		return err
	}
	apart, err := apartOf(ctx, apps, f.apart)
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
	r.Apart = apart
	for _, found := range model.Findings(fired) {
		r.Lies(!found.Missing, found.Header+": "+found.What)
	}
	return f.print(checkPage{Report: &r, Name: app.Shown(), ascii: p.look.ascii}, p.json, out)
}

// apartCalls returns the call with another path or header each, as the user names them.
func apartCalls(call fire.Call, apart []string) (calls []fire.Call, err error) {
	for _, text := range apart {
		other := call
		if strings.HasPrefix(text, "/") {
			u, err := url.Parse(call.URL)
			if err != nil {
				return nil, err
			}
			other.URL = u.ResolveReference(&url.URL{Path: text}).String()
		} else {
			header, err := fire.ReadHeader([]string{text})
			if err != nil {
				return nil, err
			}
			other.Header = http.Header{}
			maps.Copy(other.Header, call.Header)
			maps.Copy(other.Header, header)
		}
		calls = append(calls, other)
	}
	return calls, nil
}

// apartOf finds out which calls have a limit of their own: they are admitted just before the first one, whose limit
// is used up, is denied.
func apartOf(ctx context.Context, apps []*fire.Application, names []string) (all []bench.Apart, err error) {
	for i, name := range names {
		var said [2]model.Outcome
		for k, app := range []*fire.Application{apps[i+1], apps[0]} {
			if _, err := app.Fire(ctx, model.Order{Cost: 1, N: 1}, func(f model.Fired) { said[k] = f.Outcome }); err != nil {
				return nil, err
			}
		}
		a := bench.Apart{What: name}
		if answered := said[0] == model.Admitted || said[0] == model.Denied; answered && said[1] == model.Denied {
			a.Separate = new(said[0] == model.Admitted)
		}
		all = append(all, a)
	}
	return all, nil
}

func fireSteps(ctx context.Context, app *fire.Application, steps []bench.Step, w time.Duration) (fired []model.Fired, err error) {
	now := time.Now()
	begin := limiter.InstantOf(now).Floor(w).Add(bench.OutsideBegins(w))
	if limiter.InstantOf(now) > begin {
		begin = begin.Add(w)
	}
	for _, s := range steps {
		if err := goroutine.Sleep(ctx, time.Until(begin.Add(s.At).Time())); err != nil {
			return fired, err
		}
		if _, err := app.Fire(ctx, model.Order{Cost: 1, N: int(s.N)}, func(f model.Fired) { fired = append(fired, f) }); err != nil {
			return fired, err
		}
	}
	return fired, nil
}
