// Package alert decides when a rule about keys or about the server fires and when it ends.
// It is pure: an Engine takes the batches of a source and returns events, and all time in
// it is the server's. Delivering the events is feed/notify's.
package alert

import (
	"fmt"
	"strconv"
	"strings"
)

// Metric is a figure that a rule watches.
type Metric uint8

// The metrics. The last three have no number: they hold or they do not.
const (
	Utilization   Metric = iota // of a key: used over limit
	DeniedRate                  // of a key: recorded denials a second over its window
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
	for i, known := range metrics {
		if known != name {
			continue
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
		if err != nil || v != v || v-v != 0 { // not finite
			return c, fmt.Errorf("%q compares %s with %q, which is no number: write it as in %s >= 1", text, name, number, name)
		}
		c.Value = v
		return c, nil
	}
	return Condition{}, &UnknownMetricError{name}
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

// holds reports whether the condition is true of a value.
func (c Condition) holds(v float64) bool {
	switch c.Op {
	case ">=":
		return v >= c.Value
	case ">":
		return v > c.Value
	case "<=":
		return v <= c.Value
	case "<":
		return v < c.Value
	}
	return v > 0
}
