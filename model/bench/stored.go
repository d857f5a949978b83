package bench

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"ratescope/limiter"
)

// timelike is the smallest number that is a time since 1970 in seconds, and no count.
const timelike = 1e9

var numbers = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:e[+-]?\d+)?`)

// amounts lists the numbers of all keys that are no times, by where they stand.
func amounts(keys []Key) (all map[string]float64, times int) {
	all = map[string]float64{}
	for _, k := range keys {
		text := fmt.Sprint(k.Value)
		for i, word := range numbers.FindAllString(text, -1) {
			v, err := strconv.ParseFloat(word, 64)
			switch {
			case err != nil:
			case v >= timelike:
				times++
			default:
				all[k.Name+"#"+strconv.Itoa(i)] = v
			}
		}
	}
	return all, times
}

// hint says of which algorithm what a limiter stores is typical, where its answers alone do not tell: 0 is
// none. It is not evidence of how it decides.
func (b *identifier) hint() (limiter.Algorithm, error) {
	store, ok := b.subject.(Store)
	if !ok {
		return 0, nil
	}
	looks := make([][]Key, 3)
	if err := b.subject.Reset(); err != nil {
		return 0, err
	}
	for i := range looks {
		if _, err := b.goOn([]Step{{At: time.Second + time.Duration(i)*b.spread, N: 1}}); err != nil {
			return 0, err
		}
		var err error
		if looks[i], err = store.Keys(); err != nil {
			return 0, err
		}
	}
	for _, k := range looks[2] {
		switch k.Type {
		case "stream":
			return limiter.StreamCounter, nil
		case "zset", "list", "set":
			return limiter.SlidingLog, nil
		}
	}
	before, _ := amounts(looks[0])
	after, times := amounts(looks[2])
	rises, falls := 0, 0
	for name, v := range after {
		if old, known := before[name]; known && v > old {
			rises++
		} else if known && v < old {
			falls++
		}
	}
	switch {
	case times == 0 && rises > 0:
		return limiter.FixedWindow, nil
	case times > 0 && falls > 0:
		return limiter.TokenBucket, nil
	case times > 0 && rises > 0:
		return limiter.LeakyBucket, nil
	case times > 0:
		return limiter.GCRA, nil
	}
	return 0, nil
}

// collides reports whether a second request at the same instant, or so much later, is admitted and leaves
// the keys as they are.
func (b *identifier) collides(store Store, apart time.Duration) (bool, error) {
	var looks [2][]Key
	if err := b.subject.Reset(); err != nil {
		return false, err
	}
	for i := range looks {
		got, err := b.goOn([]Step{{At: time.Second/4 + time.Duration(i)*apart, N: 1}})
		if err != nil || got[0] == 0 {
			return false, err
		}
		if looks[i], err = store.Keys(); err != nil {
			return false, err
		}
	}
	return len(looks[0]) > 0 && same(looks[0], looks[1]), nil
}

// paths are traffics that lead a limiter through its branches.
func (b *identifier) paths(costly bool) [][]Step {
	w, n := b.limit.Window, b.m.capacity
	paths := [][]Step{
		{{At: 0, N: 1}}, {{At: 0, N: 2}}, {{At: 0, N: n + 1}}, {{At: 0, N: n}, {At: w / 2, N: 1}}, {{At: 0, N: 1}, {At: w / 2, N: 1}},
		{{At: 0, N: n}, {At: w, N: 1}, {At: w + time.Millisecond, N: 1}}, {{At: 0, N: 1}, {At: 2*w - 1, N: 2}, {At: 3 * w, N: 1}},
		{{At: 0, N: n}, {At: w - time.Millisecond, N: n}, {At: w, N: n}, {At: 2 * w, N: n}},
	}
	if costly {
		paths = append(paths, []Step{{At: 0, N: 1, Cost: min(2, n)}}, []Step{{At: 0, N: 1}, {At: 0, N: 1, Cost: max(n-1, 1)}},
			[]Step{{At: 0, N: 1, Cost: n + 1}})
	}
	return paths
}

// lasting finds the shortest traffic after which a key has no expiry.
func (b *identifier) lasting(store Store, costly bool) (name string, steps []Step, err error) {
	for _, path := range b.paths(costly) {
		if err := b.subject.Reset(); err != nil {
			return "", nil, err
		}
		for i, s := range path {
			for k := int64(1); k <= s.N; k++ {
				if _, err := b.goOn([]Step{{At: s.At, N: 1, Cost: s.Cost}}); err != nil {
					return "", nil, err
				}
				if k > 3 && k < s.N-1 {
					continue
				}
				keys, err := store.Keys()
				if err != nil {
					return "", nil, err
				}
				for _, key := range keys {
					if key.Expires < 0 {
						sofar := append(append([]Step(nil), path[:i]...), Step{At: s.At, N: k, Cost: s.Cost})
						if steps == nil || requests(sofar) < requests(steps) {
							name, steps = key.Name, sofar
						}
					}
				}
			}
			if steps != nil && requests(steps) <= 1 {
				return name, steps, nil
			}
		}
	}
	return name, steps, nil
}

// size is how much all keys hold.
func size(keys []Key) (n int64) {
	for _, k := range keys {
		n += k.Size
	}
	return n
}

// grows reports how many elements a limiter keeps after n and after 2n denied requests more than it admits, and
// whether that is one for each.
func (b *identifier) grows(store Store) (steps []Step, each bool, err error) {
	const n = 20
	steps = []Step{{At: time.Millisecond, N: b.m.capacity}}
	for i := range 2 * n {
		steps = append(steps, Step{At: time.Duration(i+2) * time.Millisecond, N: 1})
	}
	if err := b.subject.Reset(); err != nil {
		return nil, false, err
	}
	var sizes []int64
	for _, part := range [][]Step{steps[:1], steps[1 : n+1], steps[n+1:]} {
		got, err := b.goOn(part)
		if err != nil {
			return nil, false, err
		}
		keys, err := store.Keys()
		if err != nil {
			return nil, false, err
		}
		if sizes = append(sizes, size(keys)); len(sizes) > 1 && got[0]+got[len(got)-1] > 0 {
			return nil, false, nil // they were not denied
		}
	}
	return steps[:n+1], sizes[1]-sizes[0] >= n && sizes[2]-sizes[1] >= n, nil
}

// untrimmed reports whether a limiter that is used steadily keeps what no longer counts.
func (b *identifier) untrimmed(store Store) (steps []Step, grows bool, err error) {
	const halves = 16 // of the window, so that no key expires in between
	n := (b.m.capacity + 1) / 2
	if err := b.subject.Reset(); err != nil {
		return nil, false, err
	}
	var sizes [halves]int64
	for i := range halves {
		steps = append(steps, Step{At: time.Duration(i) * (b.limit.Window/2 + time.Millisecond), N: n})
		if _, err := b.goOn(steps[i:]); err != nil {
			return nil, false, err
		}
		keys, err := store.Keys()
		if err != nil {
			return nil, false, err
		}
		sizes[i] = size(keys)
	}
	last, before, early := sizes[halves-1], sizes[halves-2], sizes[halves-3]
	return steps, last >= 5*b.m.capacity && last-before >= n && before-early >= n, nil
}
