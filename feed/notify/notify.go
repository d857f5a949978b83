// Package notify delivers alerts: to a webhook, to an Alertmanager, and to a command that is run without a
// shell. Each has a time limit, retries and a bound on how much is sent, so that neither a receiver that
// hangs nor five hundred alerts at once hold up the watching.
package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"ratescope/internal/goroutine"
	"ratescope/model/collect"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Route is where the events of one alert go.
type Route struct {
	Webhook      func() (string, error) // returns the URL, which may be a secret; nil for none
	Alertmanager string                 // URL, as in http://host:9093; "" for none
	Command      []string               // program and arguments, in which {key} and the like are replaced; nil for none
}

// Bounds of a delivery.
const (
	timeout  = 5 * time.Second // of one attempt
	attempts = 4
	pause    = time.Second // before the second attempt; doubled for each after it
)

// client sends the POSTs, over connections of its own. It follows no redirects: they would carry the
// alert elsewhere.
var client = &http.Client{
	Transport:     http.DefaultTransport.(*http.Transport).Clone(),
	Timeout:       timeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// refusal is an error after which trying again is of no use.
type refusal struct{ error }

func refused(err error) bool { return errors.As(err, new(refusal)) }

// Deliver sends one alert along a route at once, and tries again where that may help. told gets what
// became of each attempt. The error is one sentence without the URL, which may be a secret.
func (r Route) Deliver(ctx context.Context, a report.Alert, told func(report.Delivery)) error {
	var failed error
	if r.Webhook != nil {
		failed = r.post(ctx, a, told)
	}
	if r.Alertmanager != "" {
		m := newManager(r.Alertmanager, told)
		m.put(a)
		failed = errors.Join(failed, retry(ctx, func(ctx context.Context, last bool) error { return m.send(ctx, false, last) }))
	}
	if len(r.Command) > 0 {
		failed = errors.Join(failed, r.run(ctx, a, told))
	}
	return failed
}

// retry calls f until it succeeds, is refused, or has had all its attempts, of which last is the last one.
func retry(ctx context.Context, f func(ctx context.Context, last bool) error) error {
	wait := pause
	for n := 1; ; n++ {
		err := f(ctx, n == attempts)
		if err == nil || refused(err) || n == attempts || goroutine.Sleep(ctx, wait) != nil {
			return err
		}
		wait *= 2
	}
}

// outcome returns what became of an attempt; last is that no other one follows.
func outcome(err error, last bool) report.DeliveryOutcome {
	switch {
	case err == nil:
		return report.Delivered
	case refused(err):
		return report.Refused
	case last:
		return report.Failed
	}
	return report.Retried
}

// delivery returns what became of an attempt to deliver an alert; err is nil where it was delivered.
func delivery(a report.Alert, to string, o report.DeliveryOutcome, err error) report.Delivery {
	d := report.Delivery{Alert: a.Alert, State: a.State, Count: a.Count, To: to, Outcome: o}
	if err != nil {
		d.Why = err.Error()
	}
	return d
}

// post sends the alert to the webhook.
func (r Route) post(ctx context.Context, a report.Alert, told func(report.Delivery)) error {
	return retry(ctx, func(ctx context.Context, last bool) error {
		to := "the webhook"
		address, err := r.Webhook()
		if err != nil {
			err = refusal{err}
		} else {
			to, err = post(ctx, to, address, a.JSON)
		}
		told(delivery(a, to, outcome(err, last || ctx.Err() != nil), err))
		return err
	})
}

// post sends one POST. It returns the name of the receiver, which has no secret.
func post(ctx context.Context, kind, address string, write func(io.Writer) error) (to string, err error) {
	var body bytes.Buffer
	if err := write(&body); err != nil {
		return kind, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &body)
	if err != nil {
		return kind, refusal{errors.New("its URL does not parse: write http://host/path or https://host/path")}
	}
	to = kind + " at " + request.URL.Host
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "ratescope")
	answer, err := client.Do(request)
	if err != nil {
		var ue *url.Error // its text has the URL
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return to, fmt.Errorf("it does not answer: %w", err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	switch {
	case answer.StatusCode/100 == 2:
		return to, nil
	case answer.StatusCode/100 == 5 || answer.StatusCode == http.StatusTooManyRequests:
		return to, fmt.Errorf("it answers %s", answer.Status)
	}
	return to, refusal{fmt.Errorf("it refuses it: %s", answer.Status)}
}

// run starts the command once: what it did may not be done twice.
func (r Route) run(ctx context.Context, a report.Alert, told func(report.Delivery)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := Arguments(r.Command, a)
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.WaitDelay = time.Second // for what it has started, and left behind
	err := c.Run()
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("it did not end within %v and was stopped", timeout)
	}
	if err != nil {
		err = fmt.Errorf("it failed: %w", err)
	}
	told(delivery(a, "the command "+safetext.Clean(args[0]), outcome(err, true), err))
	return err
}

// Arguments returns a command with the words in braces replaced by what the alert says:
// {alert}, {state}, {severity}, {key}, {value}, {limit}, {window_ms}, {since_ms}, {at_ms},
// {server} and {text}. Each stays one argument, whatever it holds.
func Arguments(command []string, a report.Alert) []string {
	var pairs []string
	for word, value := range a.Words() {
		pairs = append(pairs, "{"+word+"}", strings.ReplaceAll(value, "\x00", ""))
	}
	replace := strings.NewReplacer(pairs...)
	return append(command[:1:1], collect.Map(command[1:], replace.Replace)...) // the program is never a value
}
