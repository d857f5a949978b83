package form

import (
	"maps"
	"slices"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// listSearch finds where the window begins in a list that is too long to be read whole: the
// instants of requests, newest first. It asks for single elements, which takes the server a
// microsecond each: some all over the list, whose instants stand for those between them, and more
// around the beginning of the window, until two neighbours are known of which one is in the window
// and the next is not. The zero value has not looked yet.
type listSearch struct {
	length int64 // of the list in the round before; 0 before the first
	// last is the highest index known to be in the window in the round before, and out the lowest
	// known not to be; the length where all are in the window.
	last, out int64
	rounds    int // without an end
}

const (
	listHead    = 200 // elements that are read at the head of a long list
	listSpread  = 64  // elements all over it
	listClose   = 128 // elements around the beginning of the window
	listDrift   = 16  // by how many elements the list may move between two rounds
	listRounds  = 6   // in one reading
	listBetween = 16  // entries of the log between two elements that were read
)

// fetch returns what to read of a list: its head alone while it is not known to be long.
func (s *listSearch) fetch(key string) []decode.Fetch {
	f := decode.Fetch{Key: key, Type: "list", Head: listElements}
	if s.length > listElements {
		low, high := max(s.last-listDrift, listHead), min(s.out+listDrift, s.length-1)
		if high-low < listClose {
			low = max((low+high-listClose)/2, listHead)
			high = min(low+listClose-1, s.length-1)
		}
		f.Head, f.Index = listHead, append(spread(listHead, s.length-1, listSpread), spread(low, high, listClose)...)
		slices.Sort(f.Index)
		f.Index = slices.Compact(f.Index)
	}
	return []decode.Fetch{f}
}

// spread returns at most n numbers from low to high, both among them, in even steps.
func spread(low, high int64, n int64) (all []int64) {
	n = min(n, high-low+1)
	for i := range max(n, 0) {
		all = append(all, low+(high-low)*i/max(n-1, 1))
	}
	return all
}

// take reads what was fetched. window returns whether an instant is in the window. The log is of
// what is in the window, oldest first; whole says that it holds each of its requests, else it
// holds as many at least, and more says that another round tells more.
func (s *listSearch) take(got *decode.Sample, now limiter.Instant, window func(limiter.Instant) bool) (log []limiter.Entry, whole, more, ok bool) {
	texts := maps.Clone(got.Index)
	if texts == nil {
		texts = make(map[int64]string)
	}
	for i, e := range got.First {
		texts[int64(i)] = e.Member
	}
	var read []listed
	s.last, s.out = -1, got.Length
	for _, i := range slices.Sorted(maps.Keys(texts)) {
		v, isNumber := Number(texts[i])
		switch at := instantOf(v, now); {
		case !isNumber:
			return nil, false, false, false
		case i >= got.Length || s.out < got.Length:
		case window(at):
			read = append(read, listed{i, at})
			s.last = i
		default:
			s.out = i
		}
	}
	s.length = got.Length
	if whole = s.last+1 == s.out; whole {
		s.rounds = 0
	} else {
		s.rounds = (s.rounds + 1) % listRounds
	}
	return between(read), whole, s.rounds > 0, true
}

// listed is an element that was read.
type listed struct {
	index int64
	at    limiter.Instant
}

// between returns the log of elements, newest first, with those that lie between two of them and
// were not read at even distances in time.
func between(newestFirst []listed) []limiter.Entry {
	log := make([]limiter.Entry, 0, len(newestFirst))
	add := func(at limiter.Instant, n int64) {
		if last := len(log) - 1; last >= 0 && at <= log[last].At { // clocks of several clients
			log[last].Count += n
			return
		}
		log = append(log, limiter.Entry{At: at, Count: n})
	}
	for i, older := range slices.Backward(newestFirst) {
		if add(older.at, 1); i == 0 {
			break
		}
		newer := newestFirst[i-1]
		left := older.index - newer.index - 1
		steps := min(left, listBetween) + 1
		for step := steps - 1; step > 0; step-- {
			n := left / step
			left -= n
			add(newer.at-(newer.at-older.at)*limiter.Instant(step)/limiter.Instant(steps), n)
		}
	}
	return log
}

// LogOf returns the log of instants in seconds, newest first.
func LogOf(newestFirst []float64, now limiter.Instant) []limiter.Entry {
	read := make([]listed, len(newestFirst))
	for i, v := range newestFirst {
		read[i] = listed{int64(i), instantOf(v, now)}
	}
	return between(read)
}

// instantOf returns the instant of a number of seconds. What a client's clock has ahead of the
// server's is taken as now.
func instantOf(seconds float64, now limiter.Instant) limiter.Instant {
	if seconds < float64(now)/1e6 {
		return decode.InstantIn(max(seconds, 0), time.Second)
	}
	return now
}
