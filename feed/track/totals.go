package track

import (
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// totals counts a long stream whose entries have running totals, without reading it all. The
// first entry at or after the start of a bin shows how many units came before that bin, so that
// one short range for each bin gives the exact count of every bin, however many entries there
// are.
type totals struct {
	edges  []limiter.Instant         // starts of the bins
	firsts []*redis.XMessageSliceCmd // the first entry of each bin that was asked for
	newest *redis.XMessageSliceCmd   // the newest entry of the stream; nil before the last bins
	before []int64                   // units that came before each edge, as far as is known
}

// edgesAsked bounds the ranges of one pipeline: each takes a few µs of the server's time.
const edgesAsked = 160

// totalsOf plans to count the units that came from from to now, in the bins of r.
func totalsOf(r *record, from, now limiter.Instant) *totals {
	per := binsPerCount(r)
	t := &totals{}
	for i, last := model.FloorDiv(r.bin(from), per)*per, r.bin(now); i <= last; i += per {
		t.edges = append(t.edges, r.begin(i))
	}
	return t
}

// ask adds the commands for the next edges and, after the last edge, for the newest entry.
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

// take reads the answers. When done it returns an entry for each bin that is not empty, and the
// newest entry of the stream. ok is false for a stream that cannot be counted in this way: an
// entry has no total, or the totals restart.
func (t *totals) take() (entries []limiter.Entry, newest streamEntry, done, ok bool, err error) {
	for _, cmd := range t.firsts {
		e, there, err := onlyEntry(cmd)
		if err != nil || there && !e.hasTotal {
			return nil, newest, false, false, err
		}
		if !there {
			break // nothing came after this edge: the newest entry's total ends the last bin
		}
		t.before = append(t.before, e.total-e.n)
	}
	if t.newest == nil {
		return nil, newest, false, len(t.before) > 0, nil
	}
	if newest, _, err = onlyEntry(t.newest); err != nil || !newest.hasTotal || len(t.before) == 0 {
		return nil, newest, false, false, err
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
		entries[k-1].At = newest.at() // the last bin is not over: its units came until the newest entry
	}
	return entries, newest, true, true, nil
}

// streamEntry is one entry of a stream of counts.
type streamEntry struct {
	id                 decode.ID
	n, total           int64
	hasCount, hasTotal bool
}

// readEntry parses an entry; ok is false if its id does not parse.
func readEntry(m redis.XMessage) (e streamEntry, ok bool) {
	e.id, ok = decode.ParseID(m.ID)
	e.n, e.total, e.hasCount, e.hasTotal = decode.CountOf(m.Values)
	return e, ok
}

// onlyEntry reads the answer to a command that returns one entry at most. One whose id does not parse has no total.
func onlyEntry(cmd *redis.XMessageSliceCmd) (e streamEntry, there bool, err error) {
	got, err := cmd.Result()
	if err != nil || len(got) == 0 {
		return e, false, err
	}
	e, ok := readEntry(got[0])
	e.hasTotal = e.hasTotal && ok
	return e, true, nil
}

// at returns the instant of the entry, to the microsecond if ratescope's own library wrote it.
func (e streamEntry) at() limiter.Instant {
	if e.hasTotal {
		return e.id.Fine()
	}
	return e.id.At()
}

// binsPerCount returns how many bins of the timeline are counted together, so that they are not
// shorter than shortestBin.
func binsPerCount(r *record) int64 {
	for per := int64(1); per < model.BinsPerWindow; per++ {
		if model.BinsPerWindow%per == 0 && r.span()*time.Duration(per)/model.BinsPerWindow >= shortestBin {
			return per
		}
	}
	return model.BinsPerWindow
}
