package condition

import (
	"strconv"
	"strings"

	"ratescope/feed/connect"
)

// figures are the sums of INFO over the nodes of a server, since its start.
type figures struct {
	values   map[string]float64 // single numbers by INFO's names
	words    map[string]string
	commands map[string]commandSums
	errors   map[string]float64
	keys     float64
}

type commandSums struct {
	calls, usec, failed, p50, p99 float64 // percentiles in µs
}

func newFigures() figures {
	return figures{values: map[string]float64{}, words: map[string]string{}, commands: map[string]commandSums{}, errors: map[string]float64{}}
}

// add takes the INFO of one node.
func (f *figures) add(text string) {
	for name, value := range connect.ParseInfo(text) {
		kind, rest, _ := strings.Cut(name, "_")
		switch {
		case kind == "cmdstat":
			f.addCommand(rest, value)
		case kind == "errorstat":
			n, _ := strconv.ParseFloat(parts(value)["count"], 64)
			f.errors[rest] += n
		case strings.HasPrefix(name, "latency_percentiles_usec_"):
			c := strings.TrimPrefix(name, "latency_percentiles_usec_")
			p := parts(value)
			p50, _ := strconv.ParseFloat(p["p50"], 64)
			p99, _ := strconv.ParseFloat(p["p99"], 64)
			s := f.commands[c]
			s.p50, s.p99 = max(s.p50, p50), max(s.p99, p99)
			f.commands[c] = s
		case len(name) > 2 && strings.HasPrefix(name, "db") && strings.HasPrefix(value, "keys="):
			n, _ := strconv.ParseFloat(parts(value)["keys"], 64)
			f.keys += n
		default:
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				f.values[name] += v
			} else {
				f.words[name] = value
			}
		}
	}
}

func (f *figures) addCommand(name, value string) {
	p := parts(value)
	s := f.commands[name]
	calls, _ := strconv.ParseFloat(p["calls"], 64)
	usec, _ := strconv.ParseFloat(p["usec"], 64)
	failed, _ := strconv.ParseFloat(p["failed_calls"], 64)
	rejected, _ := strconv.ParseFloat(p["rejected_calls"], 64)
	s.calls, s.usec, s.failed = s.calls+calls, s.usec+usec, s.failed+failed+rejected
	f.commands[name] = s
}

// parts reads a=1,b=2.
func parts(s string) map[string]string {
	m := make(map[string]string)
	for _, p := range strings.Split(s, ",") {
		if k, v, ok := strings.Cut(p, "="); ok {
			m[k] = v
		}
	}
	return m
}

// same says that both looks are at the same life of the server: after a restart its sums
// begin anew.
func (f *figures) same(now *figures) bool {
	return f.words["run_id"] == now.words["run_id"] && f.values["total_commands_processed"] <= now.values["total_commands_processed"]
}
