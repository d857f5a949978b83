package health

import (
	"strconv"
	"strings"
	"time"

	"ratescope/feed/connect"
	"ratescope/model"
)

// figures holds the fields of INFO, summed over the nodes of a server since their start.
type figures struct {
	values   map[string]float64     // numbers, by their names in INFO
	words    map[string]string      // texts, by their names in INFO
	commands map[string]commandSums // commandstats, by command
	errors   map[string]float64     // errorstats, by error code
	keys     float64                // keys in all databases

	lag     model.Measure   // the greatest replication lag of all nodes, in bytes
	unheard model.Measure   // the longest silence of a master toward a replica, in seconds
	unlink  bool            // a replica has no link to its master
	failed  map[string]bool // what could not be written to the disk, in words of writes
}

// commandSums holds the statistics of one command: numbers of calls, and times in µs.
type commandSums struct {
	calls, usec, failed, p50, p99 float64
}

func newFigures() figures {
	return figures{values: map[string]float64{}, words: map[string]string{}, commands: map[string]commandSums{}, errors: map[string]float64{},
		failed: map[string]bool{}}
}

// add adds the INFO of one node.
func (f *figures) add(text string) {
	fields := connect.ParseInfo(text)
	f.replicate(fields)
	for field, what := range writes {
		if v := fields[field]; v != "" && v != "ok" {
			f.failed[what] = true
		}
	}
	for name, value := range fields {
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

// addCommand adds a line of commandstats.
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

// parts parses fields of the form a=1,b=2.
func parts(s string) map[string]string {
	m := make(map[string]string)
	for _, p := range strings.Split(s, ",") {
		if k, v, ok := strings.Cut(p, "="); ok {
			m[k] = v
		}
	}
	return m
}

// same reports whether both figures are from the same process of the server: after a restart
// its counters begin at 0.
func (f *figures) same(now *figures) bool {
	return f.words["run_id"] == now.words["run_id"] && f.values["total_commands_processed"] <= now.values["total_commands_processed"]
}

// since returns the time from the figures before to now by the clocks of so many nodes, which INFO tells: the
// moment of asking is another one where the way is long. It is 0 where they do not tell, or one was set.
func (f *figures) since(before *figures, nodes int) time.Duration {
	const field = "server_time_usec"
	d := time.Duration((f.values[field]-before.values[field])/float64(nodes)) * time.Microsecond
	if before.values[field] == 0 || d <= Every/10 || d > 100*Every {
		return 0
	}
	return d
}

// writes maps the fields of INFO that hold the status of writing to the disk, "ok" or "err", to
// what is written.
var writes = map[string]string{
	"rdb_last_bgsave_status":    "the last snapshot",
	"aof_last_write_status":     "the last write to the append-only file",
	"aof_last_bgrewrite_status": "the last rewrite of the append-only file",
}

// replicate adds the replication fields of one node: for a master, how many bytes its slowest
// replica is behind; for a replica, how many bytes it has received and not applied, and how
// long ago it last heard from its master.
func (f *figures) replicate(fields map[string]string) {
	number := func(text string) model.Measure {
		v, err := strconv.ParseFloat(text, 64)
		return model.Measure{Known: err == nil, V: v}
	}
	behind := func(most, least model.Measure) {
		if most.Known && least.Known {
			f.lag = model.Measure{Known: true, V: max(f.lag.V, most.V-least.V)}
		}
	}
	if fields["role"] == "slave" {
		behind(number(fields["slave_read_repl_offset"]), number(fields["slave_repl_offset"]))
		silence := number(fields["master_last_io_seconds_ago"])
		if fields["master_link_status"] != "up" {
			f.unlink = true
			silence = number(fields["master_link_down_since_seconds"])
		}
		if silence.Known && silence.V >= 0 {
			f.unheard = model.Measure{Known: true, V: max(f.unheard.V, silence.V)}
		}
		return
	}
	for name, value := range fields {
		if n, isReplica := strings.CutPrefix(name, "slave"); isReplica && n != "" && n[0] >= '0' && n[0] <= '9' {
			behind(number(fields["master_repl_offset"]), number(parts(value)["offset"]))
		}
	}
}
