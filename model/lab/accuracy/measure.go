// Package accuracy measures how far the sliding window counter is from the truth: in
// each of its roundings, against an exact log of the same requests, by how heavily a
// source loads its limit. It is the table that Cloudflare published about its own
// counters, for any traffic.
//
// It measures twice. With denied requests free, the default of this program, a decision is
// wrong by the true window of what the counter itself admitted, as everywhere in the lab.
// With denied requests charged, as Cloudflare counts, every request counts, admitted or
// not, so that counter and log see the same stream; a decision is wrong when the counter's
// differs from that of a log which counts them too.
package accuracy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/collect"
	"ratescope/model/lab"
)

// Options says what to measure. The zero Options measures made-up sources at 100
// requests a minute.
type Options struct {
	Limit    limiter.Limit      // zero means 100 in a minute
	Trace    *lab.Trace         // recorded traffic, a source a key; nil makes sources up
	Sources  int                // how many to make up; 0 means 600
	Windows  int                // how many windows a point of the Poisson law is the mean of; 0 means 4000, for 1 % or so
	Seed     uint64             // DefaultSeed is what the command takes, so that others measure the same
	Progress func(done float64) // called with how far it is, 0 to 1; may be nil
}

// Roundings are the variants in the order of Band.By.
var Roundings = [...]convention.Rounding{convention.Floor, convention.Exact, convention.Nearest}

// names of the roundings.
var names = [...]string{convention.Floor: "floor", convention.Exact: "exact", convention.Nearest: "round"}

// Outcome is how one rounding did on a number of requests.
type Outcome struct {
	WronglyAllowed int64   `json:"wrongly_allowed"`
	WronglyDenied  int64   `json:"wrongly_denied"`
	Difference     float64 `json:"difference"` // sum of |estimate - exact|, in requests
}

// Band is the sources whose mean load, requests a window over the limit, is in From to To.
type Band struct {
	From     float64    `json:"from"`
	To       float64    `json:"to"` // 0 is no upper end
	Sources  int        `json:"sources"`
	Requests int64      `json:"requests"`
	Exact    float64    `json:"exact"` // sum of the exact counts, in requests
	By       [3]Outcome `json:"by_rounding"`
}

// Wrong returns the share of wrong decisions of a rounding, 0 to 1.
func (b Band) Wrong(rounding int) float64 {
	o := b.By[rounding]
	return share(float64(o.WronglyAllowed+o.WronglyDenied), float64(b.Requests))
}

func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// Point is how far the exact rounding is off for Poisson arrivals of a mean count.
type Point struct {
	Mean     int     `json:"mean"`     // requests a window
	Measured float64 `json:"measured"` // mean difference, relative to the requests before the one that comes
	Law      float64 `json:"law"`      // what theory says: Law(Mean)
}

// Worst is the most that an adversary got admitted in one true window.
type Worst struct {
	What    string `json:"what"`
	Largest int64  `json:"largest"`
	Limit   int64  `json:"limit"`
}

// Table is the sources by their load.
type Table struct {
	All   Band   `json:"all"`
	Bands []Band `json:"bands"`
}

// Report is what was measured. Its own table is that of charged denials, Free that of free
// ones, where differences are not measured.
type Report struct {
	Limit    limiter.Limit `json:"-"`
	Recorded bool          `json:"recorded"` // the traffic was a trace
	Skipped  int           `json:"skipped"`  // lines of the trace that could not be read
	Damage   string        `json:"damage"`   // why the trace ends too soon; "" where it does not
	Denied   string        `json:"denied"`   // what the table below says of denied requests
	Table
	Free    Table   `json:"free"`
	Poisson []Point `json:"poisson"`
	Worst   []Worst `json:"worst"`
}

// Law is the mean relative difference of a weighted counter for Poisson arrivals of n
// requests a window. Given its count, how many of the previous window's requests fall
// into the part still covered is binomial; the mean of its absolute deviation over all
// elapsed parts f is sqrt(2n/π)·∫sqrt(f(1-f))df = sqrt(2/π)·π/8·sqrt(n) = 0.313·sqrt(n).
func Law(n float64) float64 { return math.Sqrt(2/math.Pi) * math.Pi / 8 / math.Sqrt(n) }

// edges of the load bands.
var edges = [...]float64{0, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.5}

// DefaultSeed is the seed of made-up traffic unless another is given.
const DefaultSeed = 1

const (
	defaultSources = 600
	windowsEach    = 40 // of a made-up source
	defaultWindows = 4000
	maxWindows     = 100_000
)

// zero is where made-up stories begin: aligned to any window that divides a day.
const zero limiter.Instant = 4_000_060_800_000_000

// Measure runs every source through counters and log. It ends early, with the error of ctx, when
// ctx does.
func Measure(ctx context.Context, o Options) (Report, error) {
	o.Limit = cmp.Or(o.Limit, limiter.Limit{Count: 100, Window: time.Minute})
	o.Sources, o.Windows = cmp.Or(o.Sources, defaultSources), cmp.Or(o.Windows, defaultWindows)
	if err := o.Limit.Validate(); err != nil {
		return Report{}, err
	}
	if o.Limit.Count == 0 {
		return Report{}, errors.New("a limit of 0 denies nothing, so no decision can be wrong: give a limit of 1 or more")
	}
	if o.Sources < 0 || o.Sources > 1_000_000 {
		return Report{}, fmt.Errorf("%d sources are out of range: use 1 to 1000000", o.Sources)
	}
	if o.Windows < 10 || o.Windows > maxWindows {
		return Report{}, fmt.Errorf("%d windows are out of range: use 10 to %d", o.Windows, maxWindows)
	}
	if o.Progress == nil {
		o.Progress = func(float64) {}
	}
	r := Report{Limit: o.Limit, Recorded: o.Trace != nil, Denied: "charged", Table: newTable(), Free: newTable()}
	source, sources := o.made, o.Sources
	if o.Trace != nil {
		r.Skipped, r.Damage = o.Trace.Skipped, o.Trace.Damage
		source, sources = o.recorded(), len(o.Trace.Keys)
	}
	for i := range sources {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		list, err := source(i)
		if err != nil {
			return r, err
		}
		r.source(list, o.Limit, o.Trace == nil)
		o.Progress(0.8 * float64(i) / float64(sources))
	}
	var err error
	if r.Poisson, err = poissonPoints(ctx, o); err != nil {
		return r, err
	}
	r.Worst = worst()
	o.Progress(1)
	return r, nil
}

func newTable() Table {
	var t Table
	for i, from := range edges {
		b := Band{From: from}
		if i+1 < len(edges) {
			b.To = edges[i+1]
		}
		t.Bands = append(t.Bands, b)
	}
	return t
}

// recorded returns what tells the requests of each key of a trace.
func (o *Options) recorded() func(key int) ([]lab.Arrival, error) {
	byKey := make([][]lab.Arrival, len(o.Trace.Keys))
	for _, a := range o.Trace.Arrivals {
		byKey[a.Key] = append(byKey[a.Key], a)
	}
	return func(key int) ([]lab.Arrival, error) { return byKey[key], nil }
}

// made makes up sources of many loads: most are people, whose requests are independent;
// some come and go, some are jobs.
func (o *Options) made(i int) ([]lab.Arrival, error) {
	s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: limiter.SlidingLog}}, Limit: o.Limit, Zero: zero.Floor(o.Limit.Window)}
	load := 0.05 * math.Pow(40, (float64(i)+0.5)/float64(o.Sources)) // 0.05 to 2, evenly in logarithm
	perSecond := load * float64(o.Limit.Count) / o.Limit.Window.Seconds()
	ms := float64(o.Limit.Window) / 1e6
	t := lab.Traffic{Model: lab.Poisson, PerSecond: perSecond}
	switch i % 10 {
	case 7, 8:
		t = lab.Traffic{Model: lab.OnOff, PerSecond: 2 * perSecond, OnMS: 1 + ms*0.7, OffMS: 1 + ms*0.7}
	case 9:
		t = lab.Traffic{Model: lab.Cron, EveryMS: ms / 2, PhaseMS: ms / 3, Burst: 1 + int(load*float64(o.Limit.Count)/2), SpreadMS: ms / 10}
	}
	src, err := t.Source(s, o.Seed+uint64(i))
	if err != nil {
		return nil, err
	}
	return slices.Collect(arrivals(src, s.Zero.Add(windowsEach*o.Limit.Window))), nil
}

// arrivals yields what a source makes up to an instant.
func arrivals(s lab.Source, end limiter.Instant) iter.Seq[lab.Arrival] {
	return func(yield func(lab.Arrival) bool) {
		for a, ok := s.Next(); ok && a.At <= end && yield(a); a, ok = s.Next() {
		}
	}
}

// source measures one source and books it in its band. A source that was made up has a
// past that is not there: its first two windows are left out.
func (r *Report) source(list []lab.Arrival, limit limiter.Limit, warm bool) {
	if len(list) == 0 {
		return
	}
	first, last := list[0].At, list[len(list)-1].At
	begin := collect.If(warm, first.Add(2*limit.Window), first)
	windows := max(float64(last.Sub(first))/float64(limit.Window), 1)
	load := float64(len(list)) / windows / float64(limit.Count)
	counted, free := Band{Sources: 1}, Band{Sources: 1}
	measure(slices.Values(list), limit, begin, &counted, Roundings[:]...)
	measureFree(list, limit, begin, &free)
	r.Table.add(load, counted)
	r.Free.add(load, free)
}

// add books what a source of a load did.
func (t *Table) add(load float64, one Band) {
	at := sort.SearchFloat64s(edges[:], load)
	if at == len(edges) || edges[at] > load {
		at--
	}
	t.Bands[at].add(one)
	t.All.add(one)
}

func (b *Band) add(one Band) {
	b.Sources += one.Sources
	b.Requests += one.Requests
	b.Exact += one.Exact
	for i, o := range one.By {
		b.By[i].WronglyAllowed += o.WronglyAllowed
		b.By[i].WronglyDenied += o.WronglyDenied
		b.By[i].Difference += o.Difference
	}
}

// measureFree lets counters that do not charge for what they deny decide about the same
// requests, and counts what was wrong by the tallies of the lab.
func measureFree(list []lab.Arrival, limit limiter.Limit, begin limiter.Instant, b *Band) {
	s := lab.Setup{Limit: limit, Zero: list[0].At.Floor(limit.Window)}
	s.Candidates = collect.Map(Roundings[:], func(r convention.Rounding) lab.Candidate {
		return lab.Candidate{Algorithm: limiter.SlidingWindow, Variant: names[r]}
	})
	run := lab.NewRun(s, lab.NewWorkload(lab.Given(list)))
	run.AdvanceTo(begin - 1)
	before, first := make([]lab.Counts, len(Roundings)), run.Decided()
	for i := range before {
		before[i] = run.Counts(i)
	}
	run.AdvanceTo(list[len(list)-1].At)
	b.Requests = int64(run.Decided() - first)
	for i := range before {
		t := run.Counts(i)
		b.By[i] = Outcome{WronglyAllowed: t.WronglyAdmitted - before[i].WronglyAdmitted,
			WronglyDenied: t.WronglyDenied - before[i].WronglyDenied}
	}
}

// measure lets counters in some roundings and an exact log count the same requests,
// admitted or not.
func measure(all iter.Seq[lab.Arrival], limit limiter.Limit, begin limiter.Instant, b *Band, roundings ...convention.Rounding) {
	states := make([]limiter.State, len(roundings))
	terms := make([]limiter.Convention, len(roundings))
	for i, rounding := range roundings {
		states[i].Algorithm = limiter.SlidingWindow
		terms[i] = limiter.Convention{Rounding: rounding, Denied: convention.Charged}
	}
	var exact int64
	var recent []lab.Arrival // (now-W, now]
	for a := range all {
		recent = append(recent, a)
		for limit.Window <= a.At.Sub(recent[0].At) {
			exact -= recent[0].Cost
			recent = recent[1:]
		}
		exact += a.Cost
		counts := a.At >= begin
		if counts {
			b.Requests++
			b.Exact += float64(exact)
		}
		truth := exact <= limit.Count
		for i := range states {
			d := states[i].Take(a.At, limit, terms[i], a.Cost)
			if !counts {
				continue
			}
			o := &b.By[i]
			o.Difference += math.Abs(d.Estimate - float64(exact))
			switch {
			case d.Allowed && !truth:
				o.WronglyAllowed++
			case !d.Allowed && truth:
				o.WronglyDenied++
			}
		}
	}
}

// means are the mean counts at which the law is checked.
var means = [...]int{10, 27, 50, 100, 200, 500, 1000}

// poissonPoints measures the exact rounding on Poisson arrivals, which no limit stops.
func poissonPoints(ctx context.Context, o Options) ([]Point, error) {
	var points []Point
	for i, n := range means {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		limit := limiter.Limit{Count: limiter.MaxCount, Window: time.Second}
		s := lab.Setup{Limit: limit, Zero: zero}
		src, _ := lab.Traffic{Model: lab.Poisson, PerSecond: float64(n)}.Source(s, o.Seed+uint64(n)) // the rates are in range
		var b Band
		until := zero.Add(min(time.Duration(o.Windows), 3_900_000/time.Duration(n)) * limit.Window)
		measure(arrivals(src, until), limit, zero.Add(2*limit.Window), &b, convention.Exact)
		// The law is about the requests that are there when one more comes; a count that
		// takes the one that comes in has n + 1 in the mean.
		points = append(points, Point{Mean: n, Measured: share(b.By[0].Difference, b.Exact-float64(b.Requests)), Law: Law(float64(n))})
		o.Progress(0.8 + 0.2*float64(i+1)/float64(len(means)))
	}
	return points, nil
}

// worst lets the adversary play against limiters of 100 in a minute that count what they
// admit, and looks into every true window.
func worst() []Worst {
	list, _ := lab.ParseCandidates([]string{ // they are names
		"fixed-window", "sliding-window/floor", "sliding-window/exact", "sliding-window/round", "sliding-log", "gcra",
	})
	s := lab.Setup{Candidates: list, Limit: limiter.Limit{Count: 100, Window: time.Minute}, Zero: zero.Floor(time.Minute)}
	src, _ := lab.Traffic{Model: lab.Adversary}.Source(s, 0) // its terms are in range
	run := lab.NewRun(s, lab.NewWorkload(src))
	run.AdvanceTo(s.Zero.Add(20 * s.Limit.Window))
	most := make([]Worst, len(list))
	for i, c := range list {
		most[i] = Worst{What: c.String(), Largest: run.Counts(i).Largest, Limit: s.Limit.Count}
	}
	return most
}
