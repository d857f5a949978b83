// Package alert decides when a rule about keys or about the server fires and when it ends. It is pure: an Engine takes the batches of a
// source and returns events, and all time in it is the server's. Delivering the events is feed/notify's.
package alert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ratescope/model"
	"ratescope/model/collect"
)

// Metric is a figure that a rule watches.
type Metric uint8

// The metrics. The last three have no number: they hold or they do not.
const (
	Utilization   Metric = iota // of a key: used over limit
	DeniedRate                  // of a key: recorded denials a second in the latest seconds
	Rate                        // of a key: admitted units a second over its window
	ScriptLatency               // of the server: mean time of the slowest script command, milliseconds
	Evictions                   // of the server: keys evicted a second
	Errors                      // of the server: error replies a second
	Skew                        // of the server: milliseconds by which its clock is certain to be off this machine's
	NoData                      // the server does not answer
	Faulty                      // a key cannot be read, never frees or holds what is no time
	Forgotten                   // keys left the server before they expired, as after a restart without its data
)

// metrics are the names in the configuration, in the order of the constants.
var metrics = [...]string{"utilization", "denied_per_s", "rate_per_s", "script_latency_ms", "evictions_per_s", "errors_per_s", "skew_ms",
	"no_data", "sick", "forgotten"}

// String returns the name that the configuration has.
func (m Metric) String() string { return metrics[m] }

// ofKey reports whether a metric is about a single key.
func (m Metric) ofKey() bool { return m <= Rate || m == Faulty }

// word reports whether a metric stands without a number.
func (m Metric) word() bool { return m >= NoData }

// Words returns the names of all metrics, in the order in which the documentation has them.
func Words() []string { return metrics[:] }

// Condition is a metric compared with a number.
type Condition struct {
	Metric Metric
	Op     string // ">=", ">", "<=" or "<"; "" for a metric without a number
	Value  float64
}

// operators in the order in which they are looked for: the longer ones first.
var operators = [...]string{">=", "<=", ">", "<"}

// ParseCondition reads a condition such as "utilization >= 0.9" or "no_data".
func ParseCondition(text string) (Condition, error) {
	name, op, number := strings.TrimSpace(text), "", ""
	for _, o := range operators {
		if before, after, found := strings.Cut(text, o); found {
			name, op, number = strings.TrimSpace(before), o, strings.TrimSpace(after)
			break
		}
	}
	i := slices.Index(metrics[:], name)
	if i < 0 {
		return Condition{}, &UnknownMetricError{name}
	}
	c := Condition{Metric: Metric(i), Op: op}
	switch {
	case c.Metric.word() && op != "":
		return c, fmt.Errorf("%q compares %s, which has no number: write %s alone", text, name, name)
	case c.Metric.word():
		return c, nil
	case op == "":
		return c, fmt.Errorf("%q compares nothing: write it as in %s >= 1", text, name)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v-v != 0 { // not finite
		return c, fmt.Errorf("%q compares %s with %q, which is no number: write it as in %s >= 1", text, name, number, name)
	}
	c.Value = v
	return c, nil
}

// UnknownMetricError is the error of a condition about a metric that does not exist.
type UnknownMetricError struct{ Name string }

func (e *UnknownMetricError) Error() string {
	return fmt.Sprintf("%q is no metric: use %s", e.Name, strings.Join(metrics[:], ", "))
}

// String returns the condition as the configuration has it.
func (c Condition) String() string {
	if c.Op == "" {
		return c.Metric.String()
	}
	return fmt.Sprintf("%s %s %s", c.Metric, c.Op, strconv.FormatFloat(c.Value, 'g', -1, 64))
}

func (c Condition) holds(v float64) bool {
	order := cmp.Compare(v, c.Value)
	if order == 0 {
		return strings.HasSuffix(c.Op, "=")
	}
	return strings.HasPrefix(c.Op, "<") == (order < 0)
}

func ofKey(m Metric, k *model.Watched) (v float64, known bool) {
	g := &k.Gauge
	switch m {
	case Utilization:
		return g.Utilization, g.Remaining.Known
	case DeniedRate:
		return g.DeniedPerSec.V, g.DeniedPerSec.Known
	}
	return k.Admitted(g.Rate), g.RateKnown
}

func (e *Engine) ofServer(m Metric) (v float64, known bool, ev Event) {
	h, s := &e.board.Health, &e.board.Server
	switch m {
	case NoData:
		ev.Reason = s.Err
		return collect.If(s.Link == model.Down || s.Err != "", 1.0, 0), true, ev
	case Forgotten:
		n, total := e.board.Forgotten(e.clock.now)
		ev.Total = total
		return float64(n), true, ev
	}
	if !e.live {
		return 0, false, ev
	}
	switch m {
	case Evictions:
		return h.Evicted.V, h.Evicted.Known, ev
	case Skew:
		off := max(s.Offset, -s.Offset) - s.OffsetBy
		return max(off.Seconds()*1000, 0), s.OffsetBy > 0 || s.Offset != 0, ev
	case Errors:
		for _, one := range h.Errors {
			if !slices.Contains(redirections, one.Name) {
				v += one.Rate
			}
		}
		return v, h.Over > 0, ev
	}
	for _, c := range h.Commands {
		if c.Scripts && c.Calls > 0 {
			v, known = max(v, c.Mean.Seconds()*1000), true
		}
	}
	return v, known, ev
}

// redirections are answers that a cluster gives while slots move, counted as errors by the server: the client
// asks the node that they name.
var redirections = []string{"MOVED", "ASK", "TRYAGAIN"}
