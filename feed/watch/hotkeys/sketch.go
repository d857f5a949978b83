package hotkeys

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// Sketch counts the heaviest keys of a stream in bounded memory; the package comment gives its guarantees. Use NewSketch to make one.
// It is not safe for concurrent use. The same additions in the same order give the same sketch, with the same order of ties.
type Sketch struct {
	capacity int
	halfLife time.Duration

	landmark limiter.Instant // the instant to which all weights are scaled
	first    limiter.Instant // of the first addition
	newest   limiter.Instant // the latest of all additions
	total    float64         // sum of all weights, at the landmark

	heap slots // the smallest count on top
	at   map[string]*slot
}

// slot is a key in the sketch.
type slot struct {
	key        string
	count, err float64 // at the landmark
	place      int     // index in the heap
}

// Bounds of a Sketch.
const (
	// LongestKey is the greatest length of a key in bytes, so that a sketch of capacity m holds
	// at most m×LongestKey bytes of keys. Longer keys add to the total, but are not held.
	LongestKey = 1024
	// rescaleAfter is the number of half-lives after which the landmark moves, long before 2^x overflows a float64.
	rescaleAfter = 64
)

// NewSketch returns a sketch of at most capacity keys, at least one, whose counts halve every halfLife, which is above 0.
func NewSketch(capacity int, halfLife time.Duration) *Sketch {
	return &Sketch{capacity: max(capacity, 1), halfLife: halfLife, at: make(map[string]*slot, max(capacity, 1))}
}

// Add counts weight for key at an instant of the server's clock. Instants need not be in order, but a clock that is set back by more
// than rescaleAfter half-lives empties the sketch. A weight that is not a positive, finite number is ignored.
func (s *Sketch) Add(key string, weight float64, at limiter.Instant) {
	if !(weight > 0) || math.IsInf(weight, 1) {
		return
	}
	s.advance(at)
	weight *= s.scale(at)
	s.total += weight
	if len(key) > LongestKey {
		return
	}
	if e := s.at[key]; e != nil {
		e.count += weight
		heap.Fix(&s.heap, e.place)
		return
	}
	if len(s.heap) < s.capacity {
		s.at[key] = &slot{key: key, count: weight}
		heap.Push(&s.heap, s.at[key])
		return
	}
	// The new key takes the place of the key with the smallest count, and takes over this count as its error.
	e := s.heap[0]
	delete(s.at, e.key)
	e.key, e.err = key, e.count
	e.count += weight
	s.at[key] = e
	heap.Fix(&s.heap, 0)
}

// advance moves the landmark when at is far from it.
func (s *Sketch) advance(at limiter.Instant) {
	switch {
	case s.total == 0 || s.halfLifes(at, s.newest) < -rescaleAfter:
		s.Reset()
		s.landmark, s.first, s.newest = at, at, at
	case s.halfLifes(at, s.landmark) > rescaleAfter:
		fade := 1 / s.scale(at) // 0 after a very long time
		s.total *= fade
		for _, e := range s.heap {
			e.count, e.err = e.count*fade, e.err*fade
		}
		s.landmark = at
	}
	s.newest = max(s.newest, at)
}

// halfLifes returns the time from since to at in half-lives.
func (s *Sketch) halfLifes(at, since limiter.Instant) float64 {
	// In floating point, because a hostile clock may be further off than a Duration can hold.
	return (float64(at) - float64(since)) / (float64(s.halfLife) / float64(time.Microsecond))
}

// scale returns the factor that scales a weight added at an instant to the landmark.
func (s *Sketch) scale(at limiter.Instant) float64 { return math.Exp2(s.halfLifes(at, s.landmark)) }

// fade returns the factor that scales a weight at the landmark to now, or to the latest addition if that is later.
func (s *Sketch) fade(now limiter.Instant) float64 { return 1 / s.scale(max(now, s.newest)) }

// Reset removes all keys.
func (s *Sketch) Reset() {
	clear(s.at)
	clear(s.heap)
	s.heap, s.total = s.heap[:0], 0
}

// Hit is a key of a Sketch with its count.
type Hit struct {
	Key string
	// Count is the faded weight of the key, too high by at most Err and never too low.
	Count, Err float64
}

// Top returns the n keys with the highest counts at now, the highest first, or all keys if the sketch holds fewer.
func (s *Sketch) Top(n int, now limiter.Instant) []Hit {
	order := slices.Clone(s.heap)
	slices.SortFunc(order, func(a, b *slot) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.err, b.err), strings.Compare(a.key, b.key))
	})
	order = order[:min(max(n, 0), len(order))]
	fade := s.fade(now)
	return collect.Map(order, func(e *slot) Hit { return Hit{Key: e.key, Count: e.count * fade, Err: e.err * fade} })
}

// Missed returns the greatest possible true count of a key that is not held.
func (s *Sketch) Missed(now limiter.Instant) float64 {
	if len(s.heap) < s.capacity {
		return 0
	}
	return s.heap[0].count * s.fade(now)
}

// Total returns the faded sum of all weights that were added.
func (s *Sketch) Total(now limiter.Instant) float64 { return s.total * s.fade(now) }

// Span returns the effective length of the fading window: a count divided by it is a rate. A constant rate r leads to a count of r ×
// halfLife/ln 2 × (1 - 2^-(age/halfLife)), and Span is that count divided by r. It is 0 before the first addition.
func (s *Sketch) Span(now limiter.Instant) time.Duration {
	if s.total == 0 {
		return 0
	}
	age, h := max(now, s.newest).Sub(s.first), float64(s.halfLife)
	return time.Duration(h / math.Ln2 * (1 - math.Exp2(-float64(age)/h)))
}

// slots are a heap: the smallest count is on top.
type slots []*slot

// Len implements heap.Interface.
func (s slots) Len() int { return len(s) }

// Less implements heap.Interface.
func (s slots) Less(i, j int) bool { return s[i].count < s[j].count }

// Swap implements heap.Interface.
func (s slots) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

// Push implements heap.Interface.
func (s *slots) Push(e any) {
	e.(*slot).place = len(*s)
	*s = append(*s, e.(*slot))
}

// Pop implements heap.Interface; nothing is taken out.
func (s *slots) Pop() any { return nil }
