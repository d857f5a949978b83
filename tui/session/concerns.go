package session

import (
	"cmp"
	_ "embed" // of errors.txt
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ratescope/model"
	"ratescope/model/format"
)

// Concern is a present or coming problem of the server.
type Concern struct {
	Bad  bool   // it does harm now, and is not only a warning
	What string // the problem in a few words, with the figure; raw, to be cleaned for a terminal
	Why  string // the effect on rate limits, and the remedy if there is one; raw, too
}

// Thresholds of concerns.
const (
	slowTrip   = 50 * time.Millisecond // a round trip
	busyCPU    = 0.8                   // of the one core that runs commands
	recentSlow = time.Minute           // an entry of the slow log that is no history yet
	lagging    = 1 << 20               // bytes of a replica
	refusals   = 5                     // requests a second
)

// Concerns lists what is wrong, the worst first, as far as it is known.
func Concerns(h *model.Health, s model.Server) []Concern {
	if s.Link != model.Live {
		return nil // the header reports a link that is down
	}
	var list []Concern
	say := func(bad bool, what, why string) { list = append(list, Concern{bad, what, why}) }
	if Above(h.Evicted, 0) {
		why := "keys that are evicted lose their counts and admit anew"
		if h.Policy != "" {
			why += "; policy " + h.Policy
		}
		say(true, "evicts "+format.PerSecond(h.Evicted.V), why)
	}
	for _, e := range h.Errors {
		if e.Rate > 0 {
			bad, why := ErrorMeaning(e.Name)
			say(bad, e.Name+" "+format.PerSecond(e.Rate), why)
		}
	}
	if Above(h.Fruitless, refusals) {
		say(false, "at least "+format.PerSecond(h.Fruitless.V)+" script calls changed nothing, MONITOR shows where",
			"derived from the calls of scripts less what was admitted: clients retry what is denied, which most libraries do not record")
	}
	if h.Unheard.Known && !h.LinkUp {
		say(true, "no link to the master for "+format.Span(time.Duration(h.Unheard.V*float64(time.Second))), "what is read here grows old")
	}
	for _, what := range h.SaveFailed {
		say(true, what+" failed", "the server may refuse writes (MISCONF), and so decisions")
	}
	if h.MemoryMax.Known && h.MemoryMax.V > 0 && h.MemoryUsed.Known && h.MemoryUsed.V > model.NearLimit*h.MemoryMax.V {
		say(false, fmt.Sprintf("memory %.0f%% full", 100*h.MemoryUsed.V/h.MemoryMax.V), full(h.Policy))
	}
	if Above(h.CPU, busyCPU) {
		say(false, "cpu "+format.Percent(h.CPU.V), "one core runs all commands, and it has little left")
	}
	if s.RTT > slowTrip {
		say(false, "rtt "+format.Latency(s.RTT), "every decision waits for a round trip at least that long")
	}
	if Above(h.Lag, lagging) {
		say(false, "replica "+format.Bytes(h.Lag.V)+" behind", "after a failover that much of the counts would be lost")
	}
	if n := len(h.Slow); n > 0 && h.At.Sub(h.Slow[0].At) < recentSlow {
		say(false, "slow command "+format.Latency(h.Slow[0].Took), "everything else waited: "+h.Slow[0].Command)
	}
	if n := len(h.Spikes); n > 0 && h.At.Sub(h.Spikes[0].At) < recentSlow {
		say(false, h.Spikes[0].Event+" took "+format.Latency(h.Spikes[0].Latest),
			"everything else waited; LATENCY DOCTOR at the server says more")
	}
	rank := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(list, func(x, y Concern) int { return cmp.Compare(rank[x.Bad], rank[y.Bad]) })
	return list
}

// Refusals says what is known of requests that are refused by scripts at keys whose library does not record it; nil where nothing is.
// INFO counts the calls of all scripts together, so that those of others can hide any number of refusals: only its bounds are known, and
// that they are at keys that are at their limits. Access times may tell which of these are asked, which is all that asked is about.
func Refusals(h *model.Health, b *model.Board, asked bool, name func(key string) string) []Concern {
	calls, keys := 0.0, []*model.Watched{}
	for _, c := range h.Commands {
		if c.Scripts {
			calls += c.Calls
		}
	}
	take := func(k *model.Watched) {
		if k != nil && k.State(b.At) == model.Throttled && !k.Reading.Denied.Known {
			keys = append(keys, k)
		}
	}
	if b.Server.Link != model.Live || calls < 1 || !h.Fruitless.Known {
		return nil
	}
	for _, hot := range b.HotKeys.Keys {
		if hot.Asked.Known {
			take(b.Key(hot.Key))
		}
	}
	named := len(keys) > 0
	if !named && !asked {
		for _, k := range b.Keys() {
			take(k)
		}
	}
	if len(keys) == 0 || asked && calls < refusals {
		return nil
	}
	slices.SortFunc(keys, func(x, y *model.Watched) int {
		xs, _, _ := x.Throttled(b.At)
		ys, _, _ := y.Throttled(b.At)
		return cmp.Or(cmp.Compare(ys, xs), cmp.Compare(x.Reading.Key, y.Reading.Key))
	})
	at, more := name(keys[0].Reading.Key), ""
	if n := len(keys) - 1; n > 0 {
		more = fmt.Sprintf(" or %d more at their limits", n)
	}
	between := fmt.Sprintf("between %.0f and %.0f/s script calls are refused", math.Floor(h.Fruitless.V), math.Ceil(calls))
	if named {
		return []Concern{{What: fmt.Sprintf("%s asked again and again at its limit, up to %.0f/s", at, math.Ceil(calls)),
			Why: "others read " + at + more + " and write nothing; " + between + ", MONITOR for a second shows how many where"}}
	}
	return []Concern{{What: between, Why: "those of watched limiters at " + at + more + "; MONITOR for a second shows which"}}
}

// Above reports whether a figure is known and greater than least.
func Above(m model.Measure, least float64) bool { return m.Known && m.V > least }

// errorMeanings says what error codes mean for limiters: a line each, and an exclamation mark before what is bad.
//
//go:embed errors.txt
var errorMeanings string

// ErrorMeaning returns what an error code means for limiters on this server.
func ErrorMeaning(name string) (bad bool, why string) {
	why, bad = strings.CutPrefix(cmp.Or(format.Line(errorMeanings, name), "commands are answered with this error"), "!")
	return bad, why
}

// full returns what happens when the server's memory is full.
func full(policy string) string {
	switch policy {
	case "":
		return "soon keys are evicted or writes refused"
	case "noeviction":
		return "soon writes are refused, and so decisions; policy noeviction"
	}
	return "soon keys are evicted, which forgets their counts; policy " + policy
}
