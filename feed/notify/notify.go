// Package notify delivers alerts: a POST to a webhook, and a command that is run without a
// shell. Each has a time limit, retries and a limit on how many are sent, so that neither a
// receiver that hangs nor five hundred alerts at once hold up the watching.
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

	"ratescope/internal/backoff"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Route is where the events of one alert go.
type Route struct {
	Webhook func() (string, error) // returns the URL, which may be a secret; nil for none
	Command []string               // program and arguments, in which {key} and the like are replaced; nil for none
}

// Bounds of a delivery.
const (
	timeout  = 5 * time.Second // of one attempt
	attempts = 4
	pause    = time.Second // before the second attempt; doubled for each after it
)

// client sends the POSTs. It follows no redirects: they would carry the alert elsewhere.
var client = &http.Client{
	Timeout:       timeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Deliver sends one alert along a route, and tries again where that may help. The error is
// one sentence without the URL, which may be a secret.
func (r Route) Deliver(ctx context.Context, a report.Alert) error {
	var failed error
	if r.Webhook != nil {
		failed = retry(ctx, func() (again bool, err error) { return r.post(ctx, a) })
	}
	if len(r.Command) > 0 {
		_, err := r.run(ctx, a)
		failed = errors.Join(failed, err)
	}
	return failed
}

// retry calls f until it succeeds, says that another attempt is of no use, or has had all
// its attempts.
func retry(ctx context.Context, f func() (again bool, err error)) error {
	wait := pause
	for n := 1; ; n++ {
		again, err := f()
		if err == nil || !again || n == attempts || ctx.Err() != nil {
			return err
		}
		if backoff.Sleep(ctx, wait) != nil {
			return err
		}
		wait *= 2
	}
}

// post sends the alert to the webhook once.
func (r Route) post(ctx context.Context, a report.Alert) (again bool, err error) {
	address, err := r.Webhook()
	if err != nil {
		return false, err
	}
	var body bytes.Buffer
	if err := a.JSON(&body); err != nil {
		return false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &body)
	if err != nil {
		return false, errors.New("the URL of the webhook does not parse: write http://host/path or https://host/path")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "ratescope")
	answer, err := client.Do(request)
	if err != nil {
		var ue *url.Error // its text has the URL
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return true, fmt.Errorf("the webhook at %s does not answer: %w", request.URL.Host, err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	again = answer.StatusCode/100 == 5 || answer.StatusCode == http.StatusTooManyRequests
	return again, fmt.Errorf("the webhook at %s refuses the alert: %s", request.URL.Host, answer.Status)
}

// run starts the command once: what it did may not be done twice.
func (r Route) run(ctx context.Context, a report.Alert) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := Arguments(r.Command, a)
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.WaitDelay = time.Second // for what it has started, and left behind
	switch err := c.Run(); {
	case ctx.Err() == context.DeadlineExceeded:
		return false, fmt.Errorf("the command %s did not end within %v and was stopped", safetext.Clean(args[0]), timeout)
	case err != nil:
		return false, fmt.Errorf("the command %s failed: %w", safetext.Clean(args[0]), err)
	}
	return false, nil
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
	args := []string{command[0]} // the program is never a value
	for _, arg := range command[1:] {
		args = append(args, replace.Replace(arg))
	}
	return args
}
