package lab

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// Trace is traffic that was recorded.
type Trace struct {
	Arrivals []Arrival       // in the order of time
	Keys     []string        // by number, the busiest first; as they were in the file: hostile text
	Targets  []model.Target  // what is known of the limiters of the keys, by number; nil for an access log
	Denials  map[string]bool // keys of which denied requests are recorded too
	// Stood are the keys of which something counted at their first reading already: that comes at the beginning of
	// the window that counted it, or at that reading, for its instants are not known.
	Stood   map[string]bool
	Skipped int    // lines or requests that could not be read
	Damage  string // why it ends too soon; "" where it does not
}

// AllKeys asks for the requests of every key as if they were one key's.
const AllKeys int32 = -1

// Source returns a source of one key's requests under a setup, or of AllKeys. The first
// one comes in the first window of the story, at its own place in that window.
func (t *Trace) Source(s Setup, number int32) Source {
	var list []Arrival
	var shift limiter.Instant
	for _, a := range t.Arrivals {
		if number != AllKeys && a.Key != number {
			continue
		}
		if list == nil {
			shift = s.Zero - a.At.Floor(s.Limit.Window)
		}
		a.At += shift
		list = append(list, a)
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
// A recording tells units of cost by the instants at which they were charged. Each counts
// as a request of its own, and where a key was too hot to be read entry by entry, or keeps
// counters alone, those of one look come at one instant.
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
	read := ReadAccessLog
	if record.Recognize(head) {
		read = readRecording
	}
	t, err := read(in)
	if err == nil {
		t.rank()
	}
	return t, err
}

// latest is the last instant that a trace may tell, the year 2200: what is later is none.
const latest limiter.Instant = 7_258_118_400_000_000

func readRecording(r io.Reader) (Trace, error) {
	var t Trace
	in, err := record.NewReader(r)
	if err != nil {
		return t, err
	}
	numbers, previous := map[string]int32{}, map[string]model.Reading{}
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
			repeats := reading.Repeats(&old)
			previous[reading.Key] = model.Reading{At: reading.At, Target: model.Target{Window: reading.Target.Window}}
			var stood []model.Arrival
			if old.At == 0 {
				stood = before(&reading)
			}
			if len(stood)+len(reading.Arrivals) == 0 {
				continue
			}
			number, known := numbers[reading.Key]
			if !known {
				number = int32(len(t.Keys))
				numbers[reading.Key], t.Keys = number, append(t.Keys, reading.Key)
				t.Targets = append(t.Targets, model.Target{})
			}
			t.Targets[number] = reading.Target
			if reading.Denied.Known {
				if t.Denials == nil {
					t.Denials = map[string]bool{}
				}
				t.Denials[reading.Key] = true
			}
			if reading.Target.Algorithm.Kind() != limiter.KindLog && len(stood) > 0 {
				if t.Stood == nil {
					t.Stood = map[string]bool{}
				}
				t.Stood[reading.Key] = true
			}
			for _, a := range slices.Concat(stood, reading.Arrivals) {
				if repeats && a.At <= old.At {
					continue
				}
				if a.N > int64(maxArrivals-len(t.Arrivals)) {
					return t, fmt.Errorf("the recording holds more than %d requests: record a shorter time, or fewer keys", maxArrivals)
				}
				if a.At <= 0 || a.At > latest {
					t.Skipped++
					continue
				}
				for range a.N {
					t.Arrivals = append(t.Arrivals, Arrival{At: a.At, Cost: 1, Key: number})
				}
			}
		}
	}
	switch {
	case len(t.Arrivals) == 0 && t.Damage != "":
		return t, errors.New("the recording holds no request: " + t.Damage)
	case len(t.Arrivals) == 0:
		return t, errors.New("the recording holds no request: record while some come")
	}
	slices.SortStableFunc(t.Arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return t, nil
}

// before returns what counted at the first reading of a key beside the requests that it tells: the entries of a
// log, the count of each window at its beginning, and of other algorithms what is used at the reading.
func before(r *model.Reading) (list []model.Arrival) {
	at, s := r.At, r.State
	if r.Partial || r.Err != "" || at <= 0 {
		return nil
	}
	told := func(from, to limiter.Instant) (n int64) {
		for _, a := range r.Arrivals {
			if a.At >= from && a.At < to {
				n += a.N
			}
		}
		return n
	}
	add := func(at limiter.Instant, n int64) {
		if n > 0 {
			list = append(list, model.Arrival{At: at, N: n})
		}
	}
	switch r.Target.Algorithm.Kind() {
	case limiter.KindLog:
		for _, e := range s.Log {
			add(e.At, e.Count-told(e.At, e.At+1))
		}
	case limiter.KindWeighted, limiter.KindWindow:
		if previous := s.Start.Add(-r.Target.Window); r.PreviousKnown && previous > 0 {
			add(previous, s.Previous-told(previous, s.Start))
		}
		if s.Start > 0 {
			add(s.Start, s.Current-told(s.Start, at+1))
		}
	case limiter.KindArrival, limiter.KindBucket:
		if r.Target.LimitKnown {
			add(at, s.Peek(at, r.Target.Limit, r.Target.Convention, 0).Used-told(0, at+1))
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
	place, keys := make([]int32, len(order)), make([]string, len(order))
	var targets []model.Target
	for to, from := range order {
		place[from], keys[to] = int32(to), t.Keys[from]
		if t.Targets != nil {
			targets = append(targets, t.Targets[from])
		}
	}
	for i := range t.Arrivals {
		t.Arrivals[i].Key = place[t.Arrivals[i].Key]
	}
	t.Keys, t.Targets = keys, targets
}
