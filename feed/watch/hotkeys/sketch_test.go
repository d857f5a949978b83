package hotkeys

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"ratescope/limiter"
)

const epoch = limiter.Instant(1_795_000_000_000_000)

// addition is one element of a stream.
type addition struct {
	key    string
	weight float64
	at     limiter.Instant
}

// zipf makes a stream over many keys of which few are heavy.
func zipf(seed uint64, n, keys int, skew float64) []addition {
	r := rand.New(rand.NewPCG(seed, 1))
	z := rand.NewZipf(r, skew, 1, uint64(keys-1))
	stream := make([]addition, n)
	at := epoch
	for i := range stream {
		at = at.Add(time.Duration(r.IntN(2000)) * time.Microsecond)
		stream[i] = addition{"k" + strconv.FormatUint(z.Uint64(), 10), float64(1 + r.IntN(5)), at}
	}
	return stream
}

// exact counts a stream with a map, by the definition of decay.
func exact(stream []addition, halfLife time.Duration, now limiter.Instant) (counts map[string]float64, total float64) {
	counts = make(map[string]float64)
	for _, a := range stream {
		w := a.weight * math.Exp2(-float64(now.Sub(a.at))/float64(halfLife))
		counts[a.key] += w
		total += w
	}
	return counts, total
}

// TestBounds holds the sketch to what it promises, against exact counts: no count too low,
// none too high by more than its error, no error above N/m, and every heavy key held.
func TestBounds(t *testing.T) {
	for _, halfLife := range []time.Duration{10_000 * time.Hour, time.Second, 20 * time.Second} {
		for _, capacity := range []int{1, 7, 64, 512} {
			for _, skew := range []float64{1.01, 1.3, 2.5} {
				t.Run(fmt.Sprintf("half-life %v, capacity %d, skew %v", halfLife, capacity, skew), func(t *testing.T) {
					stream := zipf(uint64(capacity), 20_000, 5_000, skew)
					s := NewSketch(capacity, halfLife)
					for _, a := range stream {
						s.Add(a.key, a.weight, a.at)
					}
					now := stream[len(stream)-1].at.Add(time.Second)
					hold(t, s, stream, halfLife, now)
				})
			}
		}
	}
}

func hold(t *testing.T, s *Sketch, stream []addition, halfLife time.Duration, now limiter.Instant) {
	t.Helper()
	truth, total := exact(stream, halfLife, now)
	tiny := 1e-9 * (1 + total) // rounding
	if d := math.Abs(s.Total(now) - total); d > tiny {
		t.Fatalf("total %v, want %v", s.Total(now), total)
	}
	held := map[string]bool{}
	last := math.Inf(1)
	for _, h := range s.Top(len(s.heap), now) {
		if held[h.Key] {
			t.Fatalf("%q is held twice", h.Key)
		}
		held[h.Key] = true
		if h.Count > last {
			t.Fatalf("%q with %v comes after %v", h.Key, h.Count, last)
		}
		last = h.Count
		if h.Count < truth[h.Key]-tiny || h.Count-h.Err > truth[h.Key]+tiny {
			t.Fatalf("%q: %v - %v .. %v does not hold the true %v", h.Key, h.Count, h.Err, h.Count, truth[h.Key])
		}
		if h.Err > total/float64(s.capacity)+tiny {
			t.Fatalf("%q: the error %v is above %v/%d", h.Key, h.Err, total, s.capacity)
		}
	}
	for key, n := range truth {
		if n > total/float64(s.capacity)+tiny && !held[key] {
			t.Fatalf("%q counts %v of %v and is not held", key, n, total)
		}
		if most := s.Missed(now); !held[key] && most < n-tiny {
			t.Fatalf("%q is not held, at most %v is said, and it is %v", key, most, n)
		}
	}
	if len(s.heap) > s.capacity || len(s.at) != len(s.heap) {
		t.Fatalf("%d keys, index of %d, capacity %d", len(s.heap), len(s.at), s.capacity)
	}
}

// TestNeedle: one key of many is a hundredth of the traffic, and stands on top.
func TestNeedle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	s := NewSketch(1024, 10*time.Second)
	at := epoch
	for i := range 200_000 {
		at = at.Add(50 * time.Microsecond)
		key := "user:" + strconv.Itoa(r.IntN(1_000_000))
		if i%100 == 0 {
			key = "attacker"
		}
		s.Add(key, 1, at)
	}
	top := s.Top(1, at)[0]
	rate := top.Count / s.Span(at).Seconds()
	if top.Key != "attacker" || math.Abs(rate-200) > 200.0/10+top.Err/s.Span(at).Seconds() {
		t.Errorf("on top: %+v, %.0f a second; want the attacker with 200", top, rate)
	}
}

// TestFading: what was hot loses its place to what is hot.
func TestFading(t *testing.T) {
	s := NewSketch(8, time.Second)
	s.Add("was", 1000, epoch)
	s.Add("is", 10, epoch.Add(10*time.Second))
	if top := s.Top(2, epoch.Add(10*time.Second)); top[0].Key != "is" || math.Abs(top[1].Count-1000.0/1024) > 1e-9 {
		t.Errorf("%+v", top)
	}
	for i := range 1000 { // far beyond what 2^x could hold
		s.Add("on", 1, epoch.Add(time.Duration(i)*time.Hour))
	}
	if top := s.Top(1, 0); top[0].Key != "on" || top[0].Count != 1 {
		t.Errorf("%+v", top)
	}
	s.Add("back", 1, epoch) // the clock was set back by weeks
	if top := s.Top(9, epoch); len(top) != 1 || top[0].Key != "back" {
		t.Errorf("after the clock fell back: %+v", top)
	}
}

// TestRate: a constant rate is told from the start, not only after many half-lives.
func TestRate(t *testing.T) {
	s := NewSketch(4, 10*time.Second)
	if s.Span(epoch) != 0 {
		t.Error("an empty sketch has a span")
	}
	for i := range 100_000 {
		at := epoch.Add(time.Duration(i) * 2 * time.Millisecond)
		s.Add("k", 1, at)
		if i == 1000 || i == 10_000 || i == 99_999 {
			if rate := s.Top(1, at)[0].Count / s.Span(at).Seconds(); math.Abs(rate-500) > 5 {
				t.Errorf("after %v: %.1f a second, want 500", at.Sub(epoch), rate)
			}
		}
	}
}

func TestNonsense(t *testing.T) {
	s := NewSketch(-3, time.Second)
	for _, w := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		s.Add("k", w, epoch)
	}
	if len(s.heap) != 0 || s.Total(epoch) != 0 || len(s.Top(5, epoch)) != 0 {
		t.Error("weights that are no positive numbers were counted")
	}
	s.Add(string(make([]byte, LongestKey+1)), 2, epoch)
	if len(s.heap) != 0 || s.Total(epoch) != 2 {
		t.Error("a name that is too long is to be weighed, not held")
	}
	s.Add("k", 1, epoch)
	if len(s.Top(-1, epoch)) != 0 || len(s.Top(100, epoch)) != 1 {
		t.Error("Top does not heed its n")
	}
}

// TestDeterminism: the same stream twice, the same sketch to the last bit.
func TestDeterminism(t *testing.T) {
	stream := zipf(9, 30_000, 3_000, 1.05)
	tops := make([][]Hit, 2)
	for i := range tops {
		s := NewSketch(100, 3*time.Second)
		for _, a := range stream {
			s.Add(a.key, a.weight, a.at)
		}
		tops[i] = s.Top(100, stream[len(stream)-1].at)
	}
	if !reflect.DeepEqual(tops[0], tops[1]) {
		t.Error("two sketches of one stream differ")
	}
}

// FuzzSketch: whatever comes, at whatever instants, the bounds hold and no figure is
// nonsense.
func FuzzSketch(f *testing.F) {
	f.Add([]byte("abcabcabcaaaa"), uint8(3), uint16(500))
	f.Add([]byte{0, 255, 128, 7, 7, 7, 200, 1}, uint8(1), uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, capacity uint8, halfLife uint16) {
		h := time.Duration(max(halfLife, 1)) * time.Millisecond
		s := NewSketch(int(capacity), h)
		var stream []addition
		at := epoch
		for i, b := range data {
			at = at.Add(time.Duration(int8(b)) * time.Millisecond * 3)
			a := addition{"k" + strconv.Itoa(int(b%16)), float64(1 + i%7), at}
			stream = append(stream, a)
			s.Add(a.key, a.weight, a.at)
		}
		if len(stream) == 0 {
			return
		}
		now := at
		for _, a := range stream {
			now = max(now, a.at)
		}
		if now.Sub(epoch.Add(-time.Hour)) < rescaleAfter*h { // else a jump back may have emptied it
			hold(t, s, stream, h, now)
		}
		for _, x := range s.Top(len(s.heap), now) {
			if math.IsNaN(x.Count) || math.IsInf(x.Count, 0) || x.Err < 0 || x.Err > x.Count {
				t.Fatalf("%+v", x)
			}
		}
		s.Add("far", 1, limiter.Instant(math.MaxInt64))
		s.Add("past", 1, limiter.Instant(math.MinInt64))
		for _, x := range s.Top(len(s.heap), now) {
			if math.IsNaN(x.Count) || math.IsInf(x.Count, 0) || x.Err < 0 || x.Err > x.Count {
				t.Fatalf("after a hostile clock: %+v", x)
			}
		}
	})
}

func BenchmarkSketch(b *testing.B) {
	stream := zipf(5, 1<<16, 1_000_000, 1.1)
	for _, capacity := range []int{64, 1024, 16384} {
		b.Run("capacity="+strconv.Itoa(capacity), func(b *testing.B) {
			s := NewSketch(capacity, 10*time.Second)
			b.ReportAllocs()
			for i := range b.N {
				a := &stream[i&(1<<16-1)]
				s.Add(a.key, 1, a.at.Add(time.Duration(i>>16)*time.Minute))
			}
		})
	}
	b.Run("top 20 of 1024", func(b *testing.B) {
		s := NewSketch(1024, 10*time.Second)
		for _, a := range stream {
			s.Add(a.key, 1, a.at)
		}
		b.ReportAllocs()
		for range b.N {
			s.Top(20, epoch)
		}
	})
}
