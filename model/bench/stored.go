package bench

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
)

// timelike is the smallest number that is a time since 1970 in seconds, and no count; from shifted on one that two requests
// move by other than two is a time since another year.
const (
	timelike = 1e9
	shifted  = 1e7
)

var numbers = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:e[+-]?\d+)?`)

// amounts lists the numbers of all keys that are no times, by where they stand, and the times, in the unit that brings
// them nearest to now.
func amounts(keys []Key, now limiter.Instant) (all map[string]float64, times []limiter.Instant) {
	all = map[string]float64{}
	for _, k := range keys {
		text := fmt.Sprint(k.Value)
		for i, word := range numbers.FindAllString(text, -1) {
			v, err := strconv.ParseFloat(word, 64)
			switch {
			case err != nil:
			case v >= timelike:
				unit := 1e6
				for unit > 1 && v*unit > 2*float64(now) {
					unit /= 1000
				}
				times = append(times, limiter.Instant(v*unit))
			default:
				all[k.Name+"#"+strconv.Itoa(i)] = v
			}
		}
	}
	return all, times
}

// watcher sends traffic to a limiter that keeps keys, and looks at what is in them on the way.
type watcher struct {
	player   *player
	store    Store // nil where nothing can be looked at
	limit    limiter.Limit
	capacity int64 // admitted at once by a new key; 0 where that is not known yet
}

// watcher returns what looks at the keys of the limiter, as it is known now.
func (b *identifier) watcher() *watcher { return &watcher{&b.player, b.store, b.limit, b.m.capacity} }

// watch sends traffic to a new key, step by step, and looks at what is stored after each, until see returns false.
func (w *watcher) watch(steps []Step, see func(i int, admitted int64, keys []Key) bool) error {
	if err := w.player.reset(); err != nil {
		return err
	}
	for i := range steps {
		got, err := w.player.goOn(steps[i : i+1])
		if err != nil {
			return err
		}
		keys, err := w.store.Keys()
		if err != nil || !see(i, got[0], keys) {
			return err
		}
	}
	return nil
}

// hint says of which algorithm what a limiter stores is typical, where its answers alone do not tell: 0 is
// none. It is not evidence of how it decides.
func (w *watcher) hint() (typical limiter.Algorithm, err error) {
	if w.store == nil {
		return 0, nil
	}
	p, gap := w.player, w.player.spread
	if w.capacity < 3 { // its store shows more under a greater limit, with which it may fail
		why, own := p.why, p.own
		w.store.Told(limiter.Limit{Count: 5, Window: w.limit.Window})
		defer func() { w.store.Told(w.limit); p.why, p.own = why, own }()
		gap = w.limit.Window / 8
	}
	var before map[string]float64
	var began []limiter.Instant
	steps := []Step{{At: time.Second, N: 1}, {At: time.Second + gap, N: 1}, {At: time.Second + 2*gap, N: 1}}
	err = w.watch(steps, func(i int, _ int64, keys []Key) bool {
		after, times := amounts(keys, p.zero)
		if i == 0 {
			before, began = after, times
		}
		if i < 2 {
			return true
		}
		rises, falls, other := false, false, false
		for name, v := range after {
			old, known := before[name]
			if known && v >= shifted && v > old && v-old != 2 {
				other = true
				continue
			}
			rises, falls = rises || known && v > old, falls || known && v < old
		}
		ahead := len(times) > 0 && slices.Min(times) > p.zero.Add(steps[i].At+time.Millisecond)
		is := func(types ...string) bool {
			return slices.ContainsFunc(keys, func(k Key) bool { return slices.Contains(types, k.Type) })
		}
		switch {
		case is("stream"):
			typical = limiter.StreamCounter
		case is("zset", "list", "set"):
			typical = limiter.SlidingLog
		case (len(times) == 0 || ahead) && rises, ahead && falls, rises && gap > p.spread && slices.Equal(times, began):
			typical = limiter.FixedWindow // a count, and when its window ends
		case len(times) > 0 && falls:
			typical = limiter.TokenBucket
		case len(times) > 0 && rises:
			typical = limiter.LeakyBucket
		case len(times) > 0 || other:
			typical = limiter.GCRA
		}
		return false
	})
	return typical, err
}

// collides reports whether a second request at the same instant, or so much later, is admitted and leaves
// the keys as they are.
func (w *watcher) collides(apart time.Duration) (collides bool, err error) {
	var first []Key
	steps := []Step{{At: time.Second / 4, N: 1}, {At: time.Second/4 + apart, N: 1}}
	err = w.watch(steps, func(i int, admitted int64, keys []Key) bool {
		if i == 0 {
			first = keys
		} else {
			collides = admitted > 0 && len(first) > 0 && same(first, keys)
		}
		return admitted > 0
	})
	return collides, err
}

// paths are traffics that lead a limiter of n in a window of w through its branches.
func paths(w time.Duration, n int64, costly bool) [][]Step {
	all := [][]Step{
		{{At: 0, N: 1}}, {{At: 0, N: 2}}, {{At: 0, N: n + 1}}, {{At: 0, N: n}, {At: w / 2, N: 1}}, {{At: 0, N: 1}, {At: w / 2, N: 1}},
		{{At: 0, N: n}, {At: w, N: 1}, {At: w + time.Millisecond, N: 1}}, {{At: 0, N: 1}, {At: 2*w - 1, N: 2}, {At: 3 * w, N: 1}},
		{{At: 0, N: n}, {At: w - time.Millisecond, N: n}, {At: w, N: n}, {At: 2 * w, N: n}},
	}
	if costly {
		all = append(all, []Step{{At: 0, N: 1, Cost: min(2, n)}}, []Step{{At: 0, N: 1}, {At: 0, N: 1, Cost: max(n-1, 1)}},
			[]Step{{At: 0, N: 1, Cost: n + 1}})
	}
	return all
}

// lasting finds the shortest traffic after which a key has no expiry. It calls each after each traffic.
func (w *watcher) lasting(costly bool, each func(path []Step)) (name string, steps []Step, err error) {
	for _, path := range paths(w.limit.Window, w.capacity, costly) {
		var parts []Step // the first requests of a step and the last ones come alone
		for _, s := range path {
			for _, n := range []int64{1, 1, 1, s.N - 5, 1, 1} {
				if n = min(n, s.N); n > 0 {
					parts, s.N = append(parts, Step{At: s.At, N: n, Cost: s.Cost}), s.N-n
				}
			}
		}
		err = w.watch(parts, func(i int, _ int64, keys []Key) bool {
			at := slices.IndexFunc(keys, func(k Key) bool { return k.Expires < 0 })
			if sofar := joined(parts[:i+1]); at >= 0 && (steps == nil || requests(sofar) < requests(steps)) {
				name, steps = keys[at].Name, sofar
			}
			return at < 0
		})
		each(path)
		if err != nil {
			break
		}
	}
	return name, steps, err
}

// joined makes one step of those at one instant.
func joined(steps []Step) (all []Step) {
	for _, s := range steps {
		if last := len(all) - 1; last >= 0 && all[last].At == s.At && all[last].Cost == s.Cost {
			all[last].N += s.N
		} else {
			all = append(all, s)
		}
	}
	return all
}

func size(keys []Key) int64 {
	return collect.Sum(keys, func(k Key) int64 { return k.Size })
}

// grows reports whether a limiter keeps something for each denied request, by how much it holds after n and
// after 2n more than it admits.
func (w *watcher) grows() (steps []Step, each bool, err error) {
	const n = 20
	steps = []Step{{At: 0, N: w.capacity}}
	for i := range 2 * n {
		steps = append(steps, Step{At: time.Duration(i+1) * time.Millisecond, N: 1})
	}
	var sizes [2*n + 1]int64
	each = true
	err = w.watch(steps, func(i int, admitted int64, keys []Key) bool {
		sizes[i] = size(keys)
		each = each && (i == 0 || admitted == 0)
		return each
	})
	short := collect.If(sizes[1] > sizes[0] && sizes[2] > sizes[1], 2, n)
	return steps[:short+1], each && sizes[n]-sizes[0] >= n && sizes[2*n]-sizes[n] >= n, err
}

// untrimmed reports whether a limiter that is used steadily keeps what no longer counts in one key. A stream that is
// trimmed by whole nodes keeps a hundred entries before it is, so there are more.
func (w *watcher) untrimmed() (steps []Step, grows bool, err error) {
	const halves, entries = 16, 320 // of the window, so that no key expires in between
	n := (w.capacity + 1) / 2
	for i := range max(halves, entries/n/8*8) {
		steps = append(steps, Step{At: time.Duration(i) * (w.limit.Window/2 + time.Millisecond), N: n})
	}
	largest, grows := int64(0), true
	err = w.watch(steps, func(i int, _ int64, keys []Key) bool {
		if eighth := len(steps) / 8; i < len(steps)/2 || (i+1)%eighth > 0 {
			return true
		}
		before := largest
		largest = collect.Most(keys, func(k Key) int64 { return k.Size })
		grows = grows && largest > before
		return grows
	})
	return steps[:halves], grows && err == nil, err
}

func (b *bench) keys() error {
	if b.store == nil {
		return nil
	}
	w := b.watcher()
	name, steps, err := w.lasting(b.o.Cost, func(path []Step) {
		found, near := b.store.Undeclared()
		why := "a cluster refuses that, or answers from the wrong node"
		if near {
			why = "a cluster runs it, for the hash tag is that of a key in KEYS, and Redis does not promise that"
		}
		if len(found) > 0 {
			b.r.find(UndeclaredKey, !near, path, "the script touches %s, which KEYS does not hold: %s", strings.Join(found, ", "), why)
		}
	})
	if err != nil {
		return err
	}
	if steps != nil {
		b.r.find(NoExpiry, true, steps, "the key %q is left without an expiry: it stays for ever", name)
	}
	if b.m.endless || b.m.capacity == 0 {
		return nil
	}
	steps, grows, err := w.grows()
	if err != nil {
		return err
	}
	if grows {
		b.r.find(Grows, true, steps, "each denied request is kept: a client that does not stop fills the memory")
		return nil
	}
	steps, grows, err = w.untrimmed()
	if err == nil && grows {
		b.r.find(Grows, true, steps, "what no longer counts is kept: under steady traffic the key grows without end")
	}
	if err != nil || b.m.capacity < large {
		return err
	}
	steps = []Step{{At: 0, N: b.m.capacity - 1}, {At: b.limit.Window / 2, N: 1}, {At: b.limit.Window + time.Second, N: 1}}
	kept := int64(0)
	return w.watch(steps, func(i int, _ int64, keys []Key) bool {
		if n := size(keys); i < 2 {
			kept = n
		} else if gone := kept - n; gone >= large/2 {
			b.r.Trim = &Trim{gone, steps}
		}
		return true
	})
}

// clocks moves the clocks.
func (b *bench) clocks() error {
	if b.m.endless || b.m.capacity == 0 {
		return nil
	}
	w, n := b.limit.Window, b.m.capacity
	begin := 10*w + (w / 4).Truncate(time.Millisecond)
	fill := Step{At: begin, N: n}
	if b.store != nil {
		for _, ahead := range []time.Duration{w, 2 * w, 20 * w} {
			if _, err := b.play([]Step{{At: 0, N: n}}); err != nil {
				return err
			}
			b.store.Drift(ahead, 0)
			got, err := b.goOn([]Step{{At: time.Duration(n) * b.spread, N: 1}})
			b.store.Drift(0, 0)
			if err != nil {
				return err
			}
			if got[0] > 0 {
				b.r.find(ClientClock, false, []Step{{At: 0, N: n}, {At: ahead, N: 1}}, "time comes from the caller: a client whose clock "+
					"is %s ahead is admitted at once, and clients with unlike clocks disagree", seconds(ahead))
				break
			}
		}
	}
	client := len(b.r.Findings) > 0 && b.r.Findings[len(b.r.Findings)-1].ID == ClientClock
	if b.store != nil && !client && !strings.Contains(strings.ToUpper(b.store.Traffic()), "[TIME") {
		return nil // it knows no time but that of expiries
	}
	id := b.r.Identity
	aligned := id.Terms.Alignment == convention.Epoch && (describe.KindOf(id.Algorithm) == describe.Window ||
		describe.KindOf(id.Algorithm) == describe.Weighted || id.Algorithm == limiter.SlidingLog && id.Grain > 0)
	free, err := b.play([]Step{fill, {At: begin + time.Millisecond, N: n + 2}})
	if err != nil {
		return err
	}
	for _, back := range []time.Duration{time.Millisecond, time.Second, w / 4, w, 2*w + w/8} {
		back = back.Truncate(time.Millisecond)
		got, err := b.back(fill, back, client)
		if err != nil {
			return err
		}
		gained := got[1] + got[2] - free[1]
		if gained <= 0 {
			continue
		}
		when, steps := "while it is back", []Step{{At: back, N: n}, {At: 0, N: 1}}
		if got[1] == 0 {
			when, steps = "when it returns", []Step{{At: back, N: n}, {At: 0, N: 1}, {At: back + time.Millisecond, N: gained}}
		}
		if sooner, err := b.back(steps[0], back, client); err != nil || (sooner[1] > 0) != (got[1] > 0) || sooner[2] < got[2] {
			steps = later(steps, begin-back)
		}
		b.r.find(ClockBack, got[1] > 0 && !aligned, steps, "a clock that steps back by %s lets %d more in %s", seconds(back), gained, when)
		return nil
	}
	return nil
}

// back fills the limiter and asks it again while a clock shows an earlier time, and when it is right again:
// the clock of the caller alone, or that of all.
func (b *bench) back(fill Step, back time.Duration, client bool) ([]int64, error) {
	steps := []Step{fill, {At: fill.At - back, N: fill.N + 2}, {At: fill.At + time.Millisecond, N: fill.N + 2}}
	if !client || b.store == nil {
		return b.play(steps)
	}
	all, err := b.play(steps[:1])
	steps[1].At = fill.At
	for i := 1; i < 3 && err == nil; i++ {
		b.store.Drift([]time.Duration{-back, 0}[i-1], 0)
		var got []int64
		got, err = b.goOn(steps[i : i+1])
		all = append(all, got...)
	}
	return all, err
}

func (b *bench) costs() error {
	n := b.m.capacity
	if !b.o.Cost || b.m.endless || n < 2 {
		return nil
	}
	cost := min(3, n)
	const at = time.Duration(0)
	read := true
	if b.store != nil {
		said := map[int64]string{}
		for _, c := range []int64{1, cost} {
			if _, err := b.play([]Step{{At: at, N: 1, Cost: c}}); err != nil {
				return err
			}
			said[c] = b.store.Traffic()
		}
		got, err := b.play([]Step{{At: at, N: 1, Cost: n + 5}})
		if err != nil {
			return err
		}
		read = said[1] != said[cost] || got[0] == 0
	}
	steps := []Step{{At: at, N: 1, Cost: cost}, {At: at, N: n + 2}}
	got, err := b.play(steps)
	if err != nil {
		return err
	}
	if got[0] == 1 && got[1] > n-cost {
		steps[1].N = n - cost + 1
		b.r.find(CostIgnored, read || b.o.CostAsked, steps, "a request of cost %d takes the room of %d", cost, max(n-got[1], 0))
		return nil
	}
	steps = []Step{{At: at, N: n - 1}, {At: at, N: 1, Cost: cost}}
	if got, err = b.play(steps); err != nil {
		return err
	}
	if got[1] == 1 {
		b.r.find(CostIgnored, read || b.o.CostAsked, steps, "a request of cost %d is admitted where there is room for 1", cost)
	}
	return nil
}
