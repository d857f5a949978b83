package form

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// listOf is a Redis list of instants, newest first.
type listOf []limiter.Instant

// read answers a Fetch as Redis does.
const testNow = limiter.Instant(1_795_000_000_123_000)

func (l listOf) read(f decode.Fetch) decode.Sample {
	s := decode.Sample{Key: f.Key, Type: "list", TTL: time.Minute, Length: int64(len(l)), Index: map[int64]string{}}
	text := func(i int64) string { return strconv.FormatFloat(float64(l[i])/1e6, 'f', -1, 64) }
	for i := range min(f.Head, int64(len(l))) {
		s.First = append(s.First, decode.Element{Member: text(i)})
	}
	for _, i := range f.Index {
		if i < int64(len(l)) {
			s.Index[i] = text(i)
		}
	}
	return s
}

// live counts the elements of the window, of which one exactly a window old still is one.
func (l listOf) live(now limiter.Instant, window time.Duration) (n int64) {
	for _, at := range l {
		if at >= now.Add(-window) {
			n++
		}
	}
	return n
}

// push puts an element at the head, and keeps so many.
func (l listOf) push(at limiter.Instant, most int) listOf {
	l = slices.Insert(l, 0, at)
	return l[:min(len(l), most)]
}

// TestLongList: a list of any length is counted right in a few rounds, while requests go on between
// them and between readings, and a full one says when the next request gets in.
func TestLongList(t *testing.T) {
	const window = time.Minute
	random := rand.New(rand.NewPCG(18, 1))
	for _, size := range []int{1, 1999, 2000, 2001, 2200, 5000, 40_000, 300_000} {
		for _, span := range []time.Duration{window / 3, window, 3 * window} {
			now := testNow
			list := make(listOf, size)
			for i := range list {
				list[i] = now.Add(-time.Duration(random.Int64N(int64(span))).Truncate(time.Microsecond))
			}
			slices.Sort(list)
			slices.Reverse(list)
			l := listLog(window, int64(size))
			for reading := range 4 {
				d, rounds := decode.Decoded{More: true}, 0
				for d.More {
					now = now.Add(time.Millisecond)
					list = list.push(now, size)
					got := list.read(l.Fetch(now)[0])
					d = l.Decode(now, []decode.Sample{got}, decode.Settings{})
					if rounds++; rounds > 4 {
						t.Fatalf("%d elements over %v: still asks after %d rounds", size, span, rounds)
					}
				}
				r := model.Reading{At: now, Type: "list", State: d.State, Partial: d.Partial, Target: model.Target{Limit: d.Limit, LimitKnown: true, Window: window}}
				r.Target.Algorithm, r.Target.Convention = d.Algorithm, d.Convention
				r.Target.Limit.Window, r.State.Algorithm = window, d.Algorithm
				g, want := r.Gauge(now), list.live(now, window)
				if d.Err != "" || !g.Used.Known || g.Used.N != want {
					t.Fatalf("%d elements over %v, reading %d: used %+v %s, want %d", size, span, reading, g.Used, d.Err, want)
				}
				next := time.Duration(0)
				if want == int64(size) {
					next = list[size-1].Add(window).Sub(now) + time.Microsecond
				}
				if g.Next != next {
					t.Errorf("%d elements over %v, reading %d: next in %v, want %v", size, span, reading, g.Next, next)
				}
				now = now.Add(time.Duration(random.Int64N(int64(window / 4))).Truncate(time.Microsecond))
			}
		}
	}
}

// TestListThatMoves: a list that is written faster than it is searched is counted in part, which
// says that it is as much at least, and is no verdict.
func TestListThatMoves(t *testing.T) {
	const window, size = time.Minute, 500_000
	now := testNow
	l := listLog(window, size)
	d, rounds := decode.Decoded{More: true}, 0
	for d.More {
		list := make(listOf, size)
		inside := size/2 + 90_000*(rounds%2) // of the window, another number in every round
		for i := range list {
			if list[i] = now.Add(-time.Duration(i) * 100 * time.Microsecond); i >= inside {
				list[i] = now.Add(-2*window - time.Duration(i)*time.Microsecond)
			}
		}
		d = l.Decode(now, []decode.Sample{list.read(l.Fetch(now)[0])}, decode.Settings{})
		rounds++
	}
	if rounds > listRounds || !d.Partial || d.Err != "" {
		t.Errorf("after %d rounds: partial %v %s, want the part that was counted after %d", rounds, d.Partial, d.Err, listRounds)
	}
}

// listLog returns a moving window of the library limits.
func listLog(window time.Duration, limit int64) *Reader {
	how := decode.Settings{Window: window, LimitFrom: model.LimitOfName, Convention: limiter.Convention{Edge: convention.Closed}}
	how.Limit.Count = limit
	return ListLog("LIMITS:LIMITER/a/1/1/minute", how, nil)
}
