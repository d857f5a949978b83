package lab

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/record"
)

// Trace is traffic that was recorded.
type Trace struct {
	Arrivals  []Arrival  // in the order of time
	Keys      []TraceKey // by number, the busiest first
	Recording bool       // of a server, not an access log
	Skipped   int        // lines or requests that could not be read
	Damage    string     // why it ends too soon; "" where it does not

	numbers map[string]int32 // of the keys, by their names
}

// TraceKey is a key whose requests were recorded.
type TraceKey struct {
	Name   string       // as it was in the file: hostile text
	Target model.Target // what is known of its limiter: nothing in an access log
	Denied bool         // denied requests are recorded too
	// Stood says that something counted at the first reading already whose instants are not known.
	Stood bool
	// Within is how far apart two readings were at most between which requests came, where the key tells no instants.
	Within time.Duration

	state limiter.State // what the requests told so far come to
}

// number returns the number of a key, which is appended where it is new.
func (t *Trace) number(k TraceKey) int32 {
	n, known := t.numbers[k.Name]
	if !known {
		n, k.Name = int32(len(t.Keys)), strings.Clone(k.Name)
		t.Keys = append(t.Keys, k)
		collect.Put(&t.numbers, k.Name, n)
	}
	return n
}

// AllKeys asks for the requests of every key as if they were one key's.
const AllKeys int32 = -1

// Source returns a source of one key's requests under a setup, or of AllKeys. The first
// one comes in the first window of the story, at its own place in that window.
func (t *Trace) Source(s Setup, number int32) Source {
	list := collect.Only(t.Arrivals, func(a Arrival) bool { return number == AllKeys || a.Key == number })
	if len(list) > 0 {
		shift := s.Zero - list[0].At.Floor(s.Limit.Window)
		for i := range list {
			list[i].At += shift
		}
	}
	return Given(list)
}

// Length returns the time from the first request to the last.
func (t *Trace) Length() time.Duration {
	if len(t.Arrivals) == 0 {
		return 0
	}
	return t.Arrivals[len(t.Arrivals)-1].At.Sub(t.Arrivals[0].At)
}

// ReadTrace reads an access log, or a recording that model/record wrote; either may be
// compressed with gzip.
//
// A recording tells units of cost by the instants at which they were charged. Each that was admitted counts
// as a request of its own, and where a key was too hot to be read entry by entry, or keeps
// counters alone, those of one look come at one instant. What was denied while there was room for some of it is one request.
func ReadTrace(r io.Reader) (Trace, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(2); string(head) == "\x1f\x8b" {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return Trace{}, fmt.Errorf("the file cannot be uncompressed: %w", err)
		}
		in = bufio.NewReaderSize(zip, 64<<10)
	}
	head, _ := in.Peek(64)
	read := map[bool]func(io.Reader) (Trace, error){true: readRecording, false: ReadAccessLog}[record.Recognize(head)]
	t, err := read(in)
	if err == nil {
		t.rank()
	}
	return t, err
}

// latest is the last instant that a trace may tell, the year 2200: what is later is none.
const latest limiter.Instant = 7_258_118_400_000_000

func readRecording(r io.Reader) (Trace, error) {
	t := Trace{Recording: true}
	in, err := record.NewReader(r)
	if err != nil {
		return t, err
	}
	previous := map[string]model.Reading{}
	for {
		batch, err := in.Next()
		if d := (*record.Damage)(nil); errors.As(err, &d) {
			t.Damage = d.Why
		}
		if err != nil {
			break
		}
		for _, reading := range batch.Readings {
			old := previous[reading.Key]
			came, stood := since(&reading, &old)
			previous[reading.Key] = model.Reading{At: reading.At, Target: reading.Target, State: reading.State,
				Approximate: reading.Approximate, Partial: reading.Partial}
			if len(came) == 0 {
				continue
			}
			number := t.number(TraceKey{Name: reading.Key,
				state: limiter.State{Algorithm: cmp.Or(reading.Target.Algorithm, limiter.SlidingLog)}})
			k := &t.Keys[number]
			k.Target, k.Stood = reading.Target, k.Stood || stood
			k.Denied = k.Denied || reading.Denied.Known || reading.Target.Convention.Denied == convention.Charged
			if old.At > 0 && !entries(&reading) {
				k.Within = max(k.Within, reading.At.Sub(old.At))
			}
			for _, a := range came {
				if a.N > int64(maxArrivals-len(t.Arrivals)) {
					return t, fmt.Errorf("the recording holds more than %d requests: record a shorter time, or fewer keys", maxArrivals)
				}
				if a.At <= 0 || a.At > latest {
					t.Skipped++
					continue
				}
				one, l, terms := Arrival{At: a.At, Cost: 1, Key: number}, k.Target.Limit, k.Target.Convention
				if room := k.state.Peek(a.At, l, terms, 0).Remaining; a.Denied && room > 0 && room < a.N { // it wanted more than that
					one.Cost, a.N = a.N, 1
				}
				for range a.N {
					t.Arrivals = append(t.Arrivals, one)
					k.state.Take(a.At, l, terms, one.Cost)
				}
			}
		}
	}
	if len(t.Arrivals) == 0 {
		return t, errors.New("the recording holds no request: " + cmp.Or(t.Damage, "record while some come"))
	}
	slices.SortStableFunc(t.Arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return t, nil
}

// entries reports whether a reading holds the requests of a log one by one.
func entries(r *model.Reading) bool {
	return describe.KindOf(r.Target.Algorithm) == describe.Log && !r.Approximate && !r.Partial
}

// since returns the requests of a reading that were not among those of the one before, in the order in which they are
// to be decided, and whether some counted at the first reading whose instants are not known. A denied request comes
// after those that left no room for it. What was denied before the first reading is left out, for what stood in its way
// is not known.
func since(r, old *model.Reading) (list []model.Arrival, stood bool) {
	repeats := r.Repeats(old)
	var denied []model.Arrival
	for _, a := range r.Arrivals {
		switch {
		case repeats && a.At <= old.At:
		case !a.Denied:
			list = append(list, a)
		case old.At > 0:
			denied = append(denied, a)
		}
	}
	switch {
	case entries(r), old.At == 0 && describe.KindOf(r.Target.Algorithm) == describe.Log && !r.Partial:
		list = logged(r, old)
	case old.At == 0:
		rest := before(r, list)
		list, stood = append(rest, list...), len(rest) > 0
	default:
		list = placed(r, old, list, denied)
	}
	list = append(list, denied...)
	slices.SortStableFunc(list, func(a, b model.Arrival) int { return cmp.Compare(a.At, b.At) })
	return list, stood
}

// logged returns the entries of a log that were not in it at the reading before.
func logged(r, old *model.Reading) (list []model.Arrival) {
	had := old.State.Log
	for _, e := range r.State.Log {
		for len(had) > 0 && had[0].At < e.At {
			had = had[1:]
		}
		if len(had) > 0 && had[0].At == e.At {
			e.Count -= had[0].Count
		}
		if e.Count > 0 && (e.At > old.At || entries(old)) {
			list = append(list, model.Arrival{At: e.At, N: e.Count})
		}
	}
	return list
}

// placed gives admitted requests between two readings the instants that follow from the states: when an idle limiter
// began anew, and when it was full, for it denied.
func placed(r, old *model.Reading, admitted, denied []model.Arrival) (list []model.Arrival) {
	t, state := &r.Target, old.State.Clone()
	if !t.LimitKnown || t.Limit.Count == 0 || old.Target.Algorithm != t.Algorithm {
		return admitted
	}
	full := collect.Map(denied, func(d model.Arrival) limiter.Instant { return d.At })
	if ended := slices.DeleteFunc(slices.Clone(full), func(at limiter.Instant) bool { return at >= r.State.Start }); len(ended) > 0 &&
		describe.KindOf(t.Algorithm) == describe.Window { // of a window that is over since, nothing is read but what it denied
		at := ended[len(ended)-1]
		unread := state.Peek(at, t.Limit, t.Convention, 0).Remaining
		for _, a := range admitted { // the end may have come while the key was read
			if a.At < r.State.Start {
				unread -= a.N
			}
		}
		admitted = append([]model.Arrival{{At: at, N: unread}}, admitted...)
	}
	for _, a := range admitted {
		moments := slices.Clone(full)
		if at := began(r, a.N); at > old.At {
			moments = append(moments, at)
		}
		slices.Sort(moments)
		for _, at := range append(moments, a.At) {
			n := a.N
			if at != a.At {
				n = min(n, state.Peek(at, t.Limit, t.Convention, 0).Remaining)
			}
			if n > 0 && at <= a.At {
				state.Take(at, t.Limit, t.Convention, n)
				list, a.N = append(list, model.Arrival{At: at, N: n}), a.N-n
			}
		}
	}
	return list
}

// began returns when the first of so many requests came if nothing was used before them; 0 where that is not known.
func began(r *model.Reading, n int64) limiter.Instant {
	t, s := &r.Target, &r.State
	ends := s.TAT
	switch kind := describe.KindOf(t.Algorithm); {
	case (kind == describe.Window || kind == describe.Weighted) && t.Convention.Alignment == convention.FirstRequest:
		return s.Start
	case kind == describe.Bucket && t.Convention.Refill == convention.Greedy:
		ends = s.Filled.Add(s.Peek(s.Filled, t.Limit, t.Convention, 0).ResetAfter)
	case kind != describe.Arrival:
		return 0
	}
	return max(ends.Add(-time.Duration(float64(n)*float64(t.Limit.Window)/float64(t.Limit.Count))), 0)
}

// before returns what counted at the first reading of a key beside the requests that it tells: the count of the window
// before at its beginning, and what is used otherwise as late as it can have come.
func before(r *model.Reading, told []model.Arrival) (list []model.Arrival) {
	at, s := r.At, r.State
	if r.Partial || r.Err != "" || at <= 0 {
		return nil
	}
	add := func(at limiter.Instant, n int64, from, to limiter.Instant) {
		for _, a := range told {
			if a.At >= from && a.At < to {
				n -= a.N
			}
		}
		if n > 0 {
			list = append(list, model.Arrival{At: at, N: n})
		}
	}
	switch describe.KindOf(r.Target.Algorithm) {
	case describe.Weighted, describe.Window:
		if previous := s.Start.Add(-r.Target.Window); r.PreviousKnown && previous > 0 {
			add(previous, s.Previous, previous, s.Start)
		}
		if s.Start > 0 {
			came := min(at, s.Start.Add(r.Target.Window)-1)
			if describe.KindOf(r.Target.Algorithm) == describe.Window {
				came = cmp.Or(began(r, s.Current), came)
			}
			add(came, s.Current, s.Start, at+1)
		}
	case describe.Arrival, describe.Bucket:
		if r.Target.LimitKnown && r.Target.Limit.Count > 0 {
			used := s.Peek(at, r.Target.Limit, r.Target.Convention, 0).Used
			add(cmp.Or(min(began(r, used), at), at), used, 0, at+1)
		}
	}
	return list
}

// rank numbers the keys by their requests, the busiest first.
func (t *Trace) rank() {
	counts := make([]int, len(t.Keys))
	for _, a := range t.Arrivals {
		counts[a.Key]++
	}
	order := make([]int32, len(t.Keys))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return counts[b] - counts[a] })
	place, keys := make([]int32, len(order)), make([]TraceKey, len(order))
	for to, from := range order {
		place[from], keys[to] = int32(to), t.Keys[from]
	}
	for i := range t.Arrivals {
		t.Arrivals[i].Key = place[t.Arrivals[i].Key]
	}
	t.Keys = keys
}

// maxLine is the longest line of an access log that is read whole.
const maxLine = 1 << 20

// ReadAccessLog reads a log in the Common Log Format, or the Combined one, which begins
// alike: host ident user [02/Jan/2006:15:04:05 -0700] "request" status bytes. A host is a
// key. The format knows whole seconds only, so the requests of a second are spread over
// it evenly in their order. Lines that are not of the format are skipped and counted; a
// file without one that is gets an error.
func ReadAccessLog(r io.Reader) (Trace, error) {
	var t Trace
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		host, at, ok := readLine(lines.Text())
		if !ok {
			t.Skipped++
			continue
		}
		t.Arrivals = append(t.Arrivals, Arrival{At: limiter.InstantOf(at), Cost: 1, Key: t.number(TraceKey{Name: host, Denied: true})})
	}
	if err := lines.Err(); err != nil {
		return t, fmt.Errorf("the access log cannot be read on: %w", err)
	}
	if len(t.Arrivals) == 0 {
		return t, errors.New(`the file is neither a recording nor an access log: give what "ratescope record" wrote, ` +
			`or lines in the Common Log Format, host - - [02/Jan/2006:15:04:05 -0700] "GET / HTTP/1.1" 200 1`)
	}
	slices.SortStableFunc(t.Arrivals, func(a, b Arrival) int { return int(a.At - b.At) }) // servers log a request when it ends
	spread(t.Arrivals)
	return t, nil
}

// logLine finds the host and the time in a line.
var logLine = collect.Regexp(`^([^ ]+) [^\[]*\[([^\]]*)\]`)

// readLine takes the host and the time from one line.
func readLine(line string) (host string, at time.Time, ok bool) {
	m := logLine().FindStringSubmatch(line)
	if m == nil {
		return "", at, false
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
	year := at.Year()
	return m[1], at, err == nil && year >= 1970 && year < 2200
}

// spread gives the requests of each second their place in it.
func spread(list []Arrival) {
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].At == list[from].At {
			to++
		}
		for i := from; i < to; i++ {
			list[i].At += limiter.Instant(1_000_000 * (i - from) / (to - from))
		}
		from = to
	}
}
