package track

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// totals counts a long stream whose entries have running totals without reading it: the
// first entry at or after the beginning of a bin tells how much had come before that bin,
// so that one short range a bin gives the count of every bin exactly, however many entries
// there are.
type totals struct {
	edges  []limiter.Instant // beginnings of the bins
	firsts []*redis.XMessageSliceCmd
	newest *redis.XMessageSliceCmd
	before []int64 // units that came before each edge
}

// edgesAsked bounds the ranges of one pipeline: each is a few µs of the server's time.
const edgesAsked = 160

// totalsOf plans to count what came from an instant on, in the bins of r.
func totalsOf(r *record, from, now limiter.Instant) *totals {
	per := binsPerCount(r)
	t := &totals{}
	for i, last := floorDiv(r.bin(from), per)*per, r.bin(now); i <= last; i += per {
		t.edges = append(t.edges, r.begin(i))
	}
	return t
}

// ask adds the ranges of the next edges, and after the last of them the newest entry.
func (t *totals) ask(q *Query, key string) {
	t.firsts, t.newest = t.firsts[:0], nil
	left := t.edges[len(t.before):]
	for _, at := range left[:min(len(left), edgesAsked)] {
		t.firsts = append(t.firsts, q.Pipe.XRangeN(q.Ctx, key, decode.IdAt(at).String(), "+", 1))
	}
	q.Ranges += len(t.firsts) / 8
	if len(t.firsts) == len(left) {
		t.newest = q.Pipe.XRevRangeN(q.Ctx, key, "+", "-", 1)
	}
}

// take reads the answers. Once done it returns an entry for each bin that is not empty,
// and the newest entry with its total. ok is false for a stream that cannot be counted in
// this way: one of its entries has no total, or the totals began anew.
func (t *totals) take() (entries []limiter.Entry, newest streamEntry, done, ok bool, err error) {
	for _, cmd := range t.firsts {
		got, err := cmd.Result()
		if err != nil {
			return nil, newest, false, false, err
		}
		if len(got) == 0 {
			break // nothing came after this edge: the newest entry closes the account
		}
		e, good := readEntry(got[0])
		if !good || !e.hasTotal {
			return nil, newest, false, false, nil
		}
		t.before = append(t.before, e.total-e.n)
	}
	if t.newest == nil {
		return nil, newest, false, len(t.before) > 0, nil
	}
	got, err := t.newest.Result()
	if err != nil {
		return nil, newest, false, false, err
	}
	if len(got) == 0 || len(t.before) == 0 {
		return nil, newest, false, false, nil
	}
	newest, good := readEntry(got[0])
	if !good || !newest.hasTotal {
		return nil, newest, false, false, nil
	}
	for i, before := range t.before {
		after := newest.total
		if i+1 < len(t.before) {
			after = t.before[i+1]
		}
		if after < before {
			return nil, newest, false, false, nil
		}
		if after > before {
			entries = append(entries, limiter.Entry{At: t.edges[i], Count: after - before})
		}
	}
	if k := len(entries); k > 0 {
		entries[k-1].At = newest.at() // the last bin is not over: its units came until now
	}
	return entries, newest, true, true, nil
}

// streamEntry is one entry of a stream of counts.
type streamEntry struct {
	id                 decode.ID
	n, total           int64
	hasCount, hasTotal bool
}

// readEntry reads an entry; ok is false where its id is none.
func readEntry(m redis.XMessage) (e streamEntry, ok bool) {
	e.id, ok = decode.ParseID(m.ID)
	e.n, e.total, e.hasCount, e.hasTotal = decode.CountOf(m.Values)
	return e, ok
}

// at returns the instant of the entry, to the microsecond where this library wrote it.
func (e streamEntry) at() limiter.Instant {
	if e.hasTotal {
		return e.id.Fine()
	}
	return e.id.At()
}

// binsPerCount returns how many of the timeline's bins make one counted bin, which is not
// shorter than shortestBin.
func binsPerCount(r *record) int64 {
	for per := int64(1); per < model.BinsPerWindow; per++ {
		if model.BinsPerWindow%per == 0 && r.span()*time.Duration(per)/model.BinsPerWindow >= shortestBin {
			return per
		}
	}
	return model.BinsPerWindow
}
