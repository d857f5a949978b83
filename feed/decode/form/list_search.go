package form

import (
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
		f.Head, f.Index = listHead, s.indexes()
	}
	return []decode.Fetch{f}
}

// indexes returns the elements to read beside the head, in ascending order.
func (s *listSearch) indexes() []int64 {
	all := spread(listHead, s.length-1, listSpread)
	low, high := max(s.last-listDrift, listHead), min(s.out+listDrift, s.length-1)
	if high-low < listClose {
		low = max((low+high-listClose)/2, listHead)
		high = min(low+listClose-1, s.length-1)
	}
	all = append(all, spread(low, high, listClose)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// spread returns n numbers from low to high, both among them, in even steps; all of them where they
// are no more than n.
func spread(low, high int64, n int64) []int64 {
	if high < low {
		return nil
	}
	if high-low < n {
		n = high - low + 1
	}
	all := make([]int64, 0, n)
	for i := range n - 1 {
		all = append(all, low+(high-low)*i/(n-1))
	}
	return append(all, high)
}

// take reads what was fetched. window returns whether an instant is in the window. The log is of
// what is in the window, oldest first; whole says that it holds each of its requests, else it
// holds as many at least, and more says that another round tells more.
func (s *listSearch) take(got *decode.Sample, now limiter.Instant, window func(limiter.Instant) bool) (log []limiter.Entry, whole, more, ok bool) {
	read := make([]listed, 0, len(got.First)+len(got.Index))
	for i, e := range got.First {
		read = append(read, listed{index: int64(i), text: e.Member})
	}
	for _, i := range s.asked(got) {
		read = append(read, listed{index: i, text: got.Index[i]})
	}
	live := len(read)
	for i := range read {
		v, isNumber := Number(read[i].text)
		if !isNumber {
			return nil, false, false, false
		}
		if read[i].at = instantOf(v, now); i < live && !window(read[i].at) {
			live = i
		}
	}
	s.last, s.out = -1, got.Length
	if live > 0 {
		s.last = read[live-1].index
	}
	if live < len(read) {
		s.out = min(s.out, read[live].index)
	}
	s.length = got.Length
	whole = s.last+1 == s.out
	if s.rounds++; whole || s.rounds >= listRounds {
		s.rounds = 0
	}
	return between(read[:live]), whole, s.rounds > 0, true
}

// asked returns the indexes behind the head that were read.
func (s *listSearch) asked(got *decode.Sample) []int64 {
	all := make([]int64, 0, len(got.Index))
	for i := range got.Index {
		if i >= int64(len(got.First)) && i < got.Length {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all
}

// listed is an element that was read.
type listed struct {
	index int64
	text  string
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
	for i := len(newestFirst) - 1; i >= 0; i-- {
		older := newestFirst[i]
		add(older.at, 1)
		if i == 0 {
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

// instantOf returns the instant of a number of seconds. What a client's clock has ahead of the
// server's is taken as now.
func instantOf(seconds float64, now limiter.Instant) limiter.Instant {
	if seconds < float64(now)/1e6 {
		return decode.InstantIn(max(seconds, 0), time.Second)
	}
	return now
}
