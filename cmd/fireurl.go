package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/file"
	"ratescope/limiter"
	"ratescope/model"
)

// webCall is a request to an application as its flags say it.
type webCall struct {
	URL, Method string
	Headers     []string // "Name: value", or "@FILE" with one of these a line
	Body        string   // a file
}

// read reads the files that the flags name. The error is a usageError.
func (c *webCall) read() (fire.Call, error) {
	call := fire.Call{URL: c.URL, Method: c.Method}
	var fields []string
	for _, h := range c.Headers {
		name, isFile := strings.CutPrefix(h, "@")
		if !isFile {
			fields = append(fields, h)
			continue
		}
		text, err := file.Read(name)
		if err != nil {
			return call, usageError{err}
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" {
				fields = append(fields, line)
			}
		}
	}
	var err error
	if call.Header, err = fire.ReadHeader(fields); err != nil {
		return call, usageError{err}
	}
	if c.Body != "" {
		if call.Body, err = file.Read(c.Body); err != nil {
			return call, usageError{err}
		}
	}
	return call, nil
}

// fireURL fires at an application and prints its answers and what they did not say as it was.
// Where src is not nil, it watches s.Key, which is read after the last request.
func fireURL(ctx context.Context, src server, c webCall, s model.Order, fo fire.Options, o output) error {
	call, err := c.read()
	if err != nil {
		return err
	}
	app, err := fire.NewApplication(fo, call)
	if err != nil {
		return usageError{err}
	}
	defer app.Close()
	if err := app.Armed(); err != nil {
		return err
	}
	name := cmp.Or(s.Key, app.Shown())
	account := newFireAccount(name, o.Names)
	account.At(app.Shown(), app.Method())
	var list []model.Fired
	_, err = app.Fire(ctx, s, func(f model.Fired) {
		list = append(list, f)
		if line := account.Add(f); !o.JSON {
			fmt.Fprintln(o.Out, line)
		}
	})
	found := model.Findings(list)
	if src != nil && err == nil && ctx.Err() == nil {
		beside, readErr := compareReading(ctx, src, s.Key, list)
		found, err = append(found, beside...), readErr
	}
	return cmp.Or(ctx.Err(), account.conclude(err, account.Found(found), "", o))
}

// compareReading reads the key and compares it with the wait that the last answer announced.
func compareReading(ctx context.Context, src server, key string, list []model.Fired) ([]model.Finding, error) {
	batch, r, err := feed.ReadKey(ctx, src, key)
	if err != nil {
		return nil, err
	}
	g := r.Gauge(batch.At)
	if len(list) == 0 || !g.NextKnown || g.Next == limiter.Never {
		return nil, nil
	}
	last := &list[0]
	for i := range list {
		if list[i].Received.After(last.Received) {
			last = &list[i]
		}
	}
	if last.Outcome != model.Denied || last.Answer == nil {
		return nil, nil
	}
	next := batch.Local.Sub(last.Received) + g.Next
	if g.Next == 0 && next < last.Answer.RetryAfter.D { // it admits already, since when is not known
		next = max(next, 0)
	}
	if f, differs := model.CompareNext(last.Answer.RetryAfter, next); differs {
		return []model.Finding{f}, nil
	}
	return nil, nil
}
