// Package notify delivers alerts: to a webhook, to an Alertmanager, and to a command that is run without a
// shell. Each has a time limit, retries and a bound on how much is sent, so that neither a receiver that
// hangs nor five hundred alerts at once hold up the watching.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratescope/internal/goroutine"
	"ratescope/model/collect"
	"ratescope/model/handoff"
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

// Times of an Alertmanager, and how much it is told at once.
const (
	again    = 15 * time.Second // from one message about an alert that lasts to the next
	lapses   = 5 * time.Minute  // from the last of them to its end, where none says that it ended
	mostOnce = 1000             // alerts in one message
)

// manager tells one Alertmanager which alerts fire: of a change at once, and of all again and again while they
// last, so that it knows them after a restart. An end is posted until an Alertmanager takes it. Safe for concurrent use.
type manager struct {
	url  string
	told func(report.Delivery)

	mu      sync.Mutex
	alerts  map[string]*managed // by Dedup
	count   int                 // of beginnings and ends
	changes handoff.Signal      // some alert has begun or ended
	failing bool                // the last message was not heard
}

// managed is one alert as the Alertmanager is told of it. Times are of this machine's clock: the
// Alertmanager's is rather that than the server's.
type managed struct {
	alert  report.Alert
	since  time.Time
	ended  time.Time // zero while it lasts
	change int       // the number of its beginning or end; 0 once that was heard
}

func newManager(url string, told func(report.Delivery)) *manager {
	return &manager{url: url, told: told, alerts: map[string]*managed{}, changes: handoff.NewSignal()}
}

// put takes the beginning or the end of an alert.
func (m *manager) put(a report.Alert) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, one := time.Now(), m.alerts[a.Dedup]
	if one == nil || !one.ended.IsZero() {
		one = &managed{since: now.Add(-time.Duration(max(a.At-a.Since, 0)) * time.Millisecond)}
		m.alerts[a.Dedup] = one
	}
	one.alert = a
	if a.State == report.Resolved {
		one.ended = now
	}
	m.changed(one)
}

// changed notes that an alert has begun or ended. m.mu is held.
func (m *manager) changed(one *managed) {
	m.count++
	one.change = m.count
	m.changes.Send()
}

// keep ends the alerts of the rules that do not stay, as after a change of the configuration, and returns
// those that lasted.
func (m *manager) keep(stays func(rule string) bool) (moved []report.Alert) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.alerts {
		if one.ended.IsZero() && !stays(one.alert.Alert) {
			moved = append(moved, one.alert)
			one.alert.State, one.ended = report.Resolved, time.Now()
			m.changed(one)
		}
	}
	return moved
}

// run tells the Alertmanager until ctx ends.
func (m *manager) run(ctx context.Context) {
	wait := again
	next := time.NewTimer(wait)
	defer next.Stop()
	for {
		all := false
		select {
		case <-ctx.Done():
			return
		case <-m.changes:
		case <-next.C:
			all = true
		}
		switch err := m.send(ctx, all, false); {
		case err == nil && !all:
			continue // a change does not put off the next message about all alerts
		case err == nil:
			wait = again
		case wait == again:
			wait = pause
		default:
			wait = min(2*wait, again)
		}
		next.Reset(wait)
	}
}

// send tells of what has changed, or of all. last is that no further attempt follows where this one fails.
func (m *manager) send(ctx context.Context, all, last bool) error {
	m.mu.Lock()
	now := time.Now()
	chosen := collect.Only(slices.Sorted(maps.Keys(m.alerts)), func(id string) bool { return all || m.alerts[id].change > 0 })
	was := make(map[string]managed, len(chosen))
	for _, id := range chosen {
		was[id] = *m.alerts[id]
	}
	m.mu.Unlock()
	for part := range slices.Chunk(chosen, mostOnce) {
		list := collect.Map(part, func(id string) postable { return postableOf(was[id], now) })
		to, err := post(ctx, "the Alertmanager", strings.TrimSuffix(m.url, "/")+"/api/v2/alerts",
			func(w io.Writer) error { return json.NewEncoder(w).Encode(list) })
		m.heard(part, was, to, err, last, !last && ctx.Err() != nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// heard notes what became of a message, and tells of it, unless silent: of what had changed, and of all when
// the Alertmanager is first found away.
func (m *manager) heard(part []string, was map[string]managed, to string, err error, last, silent bool) {
	m.mu.Lock()
	away := err != nil && !refused(err)
	silent = silent || away && m.failing && !last
	m.failing = away
	counts := map[[2]string]int{} // by rule and state
	for _, id := range part {
		sent, one := was[id], m.alerts[id]
		if sent.change > 0 || away {
			counts[[2]string{sent.alert.Alert, sent.alert.State}]++
		}
		switch {
		case away && one.change == 0: // it hears of all when it is back
			m.count++
			one.change = m.count
		case !away && one.change == sent.change:
			if one.change = 0; !one.ended.IsZero() {
				delete(m.alerts, id)
			}
		}
	}
	m.mu.Unlock()
	if silent {
		return
	}
	for _, of := range slices.SortedFunc(maps.Keys(counts), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }) {
		m.told(delivery(report.Alert{Alert: of[0], State: of[1], Count: counts[of]}, to, outcome(err, last), err))
	}
}

// postable is an alert as the Alertmanager's /api/v2/alerts takes it.
type postable struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// postableOf returns an alert as it is told at an instant. Labels without a value are none.
func postableOf(m managed, now time.Time) postable {
	a := m.alert
	p := postable{
		Labels: map[string]string{"alertname": a.Alert, "severity": a.Severity,
			"server": safetext.Clean(report.ServerName(string(a.Server)))},
		Annotations: map[string]string{"text": string(a.Text), "dedup_key": a.Dedup},
		StartsAt:    m.since, EndsAt: now.Add(lapses),
	}
	if a.Key != nil {
		p.Labels["key"] = safetext.Clean(string(*a.Key))
	}
	if a.Value != nil {
		p.Annotations["value"] = strconv.FormatFloat(*a.Value, 'g', 6, 64)
	}
	if !m.ended.IsZero() {
		p.EndsAt = m.ended
	}
	return p
}
