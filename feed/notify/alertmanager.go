package notify

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratescope/model/collect"
	"ratescope/model/handoff"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

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
