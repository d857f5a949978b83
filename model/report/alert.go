package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/model/alert"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// Alert is an alert that begins or ends, as a webhook gets it. Key is null where the alert
// is about the server, and a number that is not known is null.
type Alert struct {
	Alert    string   `json:"alert"`
	State    string   `json:"state"` // "firing" or "resolved"
	Severity string   `json:"severity"`
	Key      *Text    `json:"key"`
	Value    *float64 `json:"value"` // null of no_data and sick, which have none
	Limit    *int64   `json:"limit"`
	Window   *int64   `json:"window_ms"`
	Since    int64    `json:"since_ms"` // from which on the condition held, milliseconds on the server's clock
	At       int64    `json:"at_ms"`
	Server   Text     `json:"server"`
	Text     Text     `json:"text"` // one sentence
	// Dedup is the same for the same rule, key and server, whichever program tells of it: two that watch
	// page once. An alert ends under the Dedup under which it began.
	Dedup string `json:"dedup_key"`
	// Count is how many keys begin or end together. Keys are theirs, mostKeys at most; both are of an alert that
	// is joined with others, and 1 and the Key of one that is not. An alert about the server has no Keys.
	Count int    `json:"count"`
	Keys  []Text `json:"keys"`
}

// mostKeys bounds the keys that an Alert lists.
const mostKeys = 20

// States of an Alert.
const (
	Firing   = "firing"
	Resolved = "resolved"
)

// AlertOf returns an event in the form in which it is delivered.
func AlertOf(e alert.Event, o Options) Alert {
	sum := sha256.Sum256([]byte(ServerName(e.Server) + "\x00" + e.Rule + "\x00" + e.Key))
	a := Alert{Alert: e.Rule, State: Resolved, Severity: e.Severity, Since: e.Since.Millis(), At: e.At.Millis(), Server: Text(e.Server),
		Dedup: hex.EncodeToString(sum[:16]), Count: 1, Keys: []Text{},
		Value: finite(e.When.Metric != alert.NoData && e.When.Metric != alert.Faulty, e.Value)}
	if e.Firing {
		a.State = Firing
	}
	if e.OfKey {
		a.Key = new(o.Name(e.Key))
		a.Keys = []Text{*a.Key}
		a.Limit = collect.Known(e.Target.LimitKnown, e.Target.Limit.Count)
		a.Window = collect.Known(e.Target.Window > 0, Millis(e.Target.Window))
	}
	a.Text = Text(a.sentence(e))
	return a
}

// ServerName returns a server's URL, or its nodes' URLs, in the one form that all programs have in common that
// watch it: without a user, defaults, and the exporter that sees it, as in "redis://h by http://e".
func ServerName(server string) string {
	server, _, _ = strings.Cut(server, " by ")
	nodes := strings.Split(server, ", ")
	for i, node := range nodes {
		u, err := url.Parse(node)
		if err != nil || u.Scheme == "" {
			return server
		}
		if u.User, u.Host = nil, strings.TrimSuffix(u.Host, ":6379"); u.Path == "/0" || u.Path == "/" {
			u.Path = ""
		}
		nodes[i] = u.String()
	}
	slices.Sort(nodes)
	return strings.Join(nodes, ", ")
}

// Joined returns one alert for those of several keys, which have their rule, server and state in common.
// It is the first of them, with the number and the names of all, and the least Dedup: programs that join
// alerts otherwise page for each key once at most, and keys that begin later page anew.
func Joined(list []Alert) Alert {
	a := list[0]
	if len(list) == 1 {
		return a
	}
	a.Count, a.Keys = len(list), nil
	a.Dedup = slices.MinFunc(list, func(x, y Alert) int { return cmp.Compare(x.Dedup, y.Dedup) }).Dedup
	for _, one := range list[:min(len(list), mostKeys)] {
		a.Keys = append(a.Keys, one.Keys...)
	}
	a.Text += Text(fmt.Sprintf(" (and %d more)", len(list)-1))
	return a
}

// Delivery is what became of an attempt to deliver alerts of one rule.
type Delivery struct {
	Alert, State string
	Count        int    // of alerts
	To           string // whom they are for, as in "the webhook at hooks.example"
	Outcome      DeliveryOutcome
	Why          string // one clause, without a secret; "" where Outcome is Delivered
}

// DeliveryOutcome is what became of a Delivery.
type DeliveryOutcome string

// The outcomes.
const (
	Delivered DeliveryOutcome = "delivered"
	Retried   DeliveryOutcome = "retried" // it failed, and is tried again
	Refused   DeliveryOutcome = "refused" // the receiver does not take it
	Failed    DeliveryOutcome = "failed"  // it was given up
)

// String returns the delivery as one sentence.
func (d Delivery) String() string {
	what := fmt.Sprintf("the alert %s (%s)", safetext.Clean(d.Alert), d.State)
	if d.Count > 1 {
		what = fmt.Sprintf("the alert %s (%s, %d keys)", safetext.Clean(d.Alert), d.State, d.Count)
	}
	switch d.Outcome {
	case Delivered:
		return what + " was delivered to " + d.To
	case Retried:
		return fmt.Sprintf("%s was not delivered to %s and is tried again: %s", what, d.To, d.Why)
	}
	return fmt.Sprintf("%s was not delivered to %s: %s", what, d.To, d.Why)
}

// Undelivered holds what became of the latest delivery of a rule's alerts to a receiver, where they fire and did not reach it.
type Undelivered []Delivery

// Note takes in what became of a delivery.
func (u *Undelivered) Note(d Delivery) {
	*u = slices.DeleteFunc(*u, func(o Delivery) bool { return o.Alert == d.Alert && o.To == d.To })
	if d.State == Firing && d.Outcome != Delivered {
		*u = append(*u, d)
	}
}

// JSON prints a as one object on one line.
func (a Alert) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(a)
}

// Line returns a as one line of text for a log, without its end.
func (a Alert) Line() string {
	return fmt.Sprintf("%s  %-8s  %-8s  %s", Instant(a.At), strings.ToUpper(a.State), safetext.Clean(a.Severity), a.Text.Clean())
}

// Words returns the values by which a command's arguments refer to them.
func (a Alert) Words() map[string]string {
	words := map[string]string{
		"alert": a.Alert, "state": a.State, "severity": a.Severity, "key": "", "value": "", "limit": known(a.Limit),
		"window_ms": known(a.Window), "since_ms": strconv.FormatInt(a.Since, 10), "at_ms": strconv.FormatInt(a.At, 10),
		"server": string(a.Server), "text": string(a.Text),
	}
	if a.Key != nil {
		words["key"] = safetext.Clean(string(*a.Key))
	}
	if a.Value != nil {
		words["value"] = strconv.FormatFloat(*a.Value, 'g', 6, 64)
	}
	return words
}

func (a Alert) sentence(e alert.Event) string {
	lasted := ""
	if d := e.At.Sub(e.Since).Round(time.Second); d > 0 {
		lasted = " for " + collect.If(e.AtLeast, "at least ", "") + format.Length(d)
	}
	if !e.Firing {
		lasted = strings.TrimPrefix(cmp.Or(lasted, " for less than a second"), " for")
		if a.Key == nil {
			return fmt.Sprintf("%s: it is over at %s, after%s", a.Alert, a.Server.Clean(), lasted)
		}
		return fmt.Sprintf("%s: it is over at %s, after%s", a.Alert, a.Key.Clean(), lasted)
	}
	return fmt.Sprintf("%s: %s%s", a.Alert, a.subject(e), lasted)
}

// subject says what holds, in the words of the metric.
func (a Alert) subject(e alert.Event) string {
	value := strconv.FormatFloat(e.Value, 'f', -1, 64)
	if e.Value != float64(int64(e.Value)) {
		value = strconv.FormatFloat(e.Value, 'f', 2, 64)
	}
	switch e.When.Metric {
	case alert.Utilization:
		limit := ""
		if a.Limit != nil && a.Window != nil {
			limit = fmt.Sprintf(" of %d in %s", *a.Limit, Each(a.Window))
		}
		return fmt.Sprintf("%s is at %.0f %%%s", a.Key.Clean(), e.Value*100, limit)
	case alert.DeniedRate:
		return fmt.Sprintf("%s denies %s a second", a.Key.Clean(), value)
	case alert.Rate:
		return fmt.Sprintf("%s admits %s a second", a.Key.Clean(), value)
	case alert.Faulty:
		return fmt.Sprintf("%s does not work: %s", a.Key.Clean(), safetext.Sentence(e.Reason))
	case alert.ScriptLatency:
		return fmt.Sprintf("a script takes %s ms on %s", value, a.Server.Clean())
	case alert.Evictions:
		return fmt.Sprintf("%s evicts %s keys a second", a.Server.Clean(), value)
	case alert.Errors:
		return fmt.Sprintf("%s answers %s errors a second", a.Server.Clean(), value)
	case alert.Skew:
		return fmt.Sprintf("the clock of %s is %s off", a.Server.Clean(), format.Spaced(time.Duration(e.Value*1e6).Round(time.Millisecond)))
	case alert.Forgotten:
		return fmt.Sprintf("at least %d of %d limits were forgotten by %s: their keys left before they expired, so that all have a full "+
			"budget", int(e.Value), e.Total, a.Server.Clean())
	}
	if e.Reason != "" {
		return safetext.Sentence(e.Reason)
	}
	return a.Server.Clean() + " does not answer"
}
