package config_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
)

// settled returns what is left of the readings of keys after some looks at them.
func settled(looks [][]decode.Sample, now limiter.Instant) (reads []string) {
	last := looks[0][len(looks[0])-1]
	for _, g := range config.Settle(config.Suggest(&last, "x:*", now), looks) {
		reads = append(reads, g.Entry.Read)
	}
	return reads
}

// TestSettleBuckets tells buckets that fill from those that drain by what requests at random do to them, and never the
// wrong way round, whether most requests are admitted or denied.
func TestSettleBuckets(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	begin := limiter.InstantOf(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	right, all := 0, 0
	for n := range 60 {
		leaks, capacity, rate := n%2 == 1, float64(5+random.IntN(40)), []float64{0.2, 0.5, 1, 1.0 / 3}[n%4]
		load := rate * []float64{0.5, 1, 3}[n%3] * 0.1 // requests in 100 ms
		looks := make([][]decode.Sample, 6)
		amounts, times := make([]float64, 6), make([]limiter.Instant, 6)
		for i := range amounts {
			if times[i] = begin; !leaks {
				amounts[i] = capacity
			}
		}
		for tick := range 80 {
			now := begin.Add(time.Duration(tick) * 100 * time.Millisecond)
			for i := range amounts {
				if random.Float64() < load {
					at := now.Add(time.Duration(random.IntN(90)) * time.Millisecond)
					came := at.Sub(times[i]).Seconds() * rate
					if leaks {
						amounts[i] = math.Max(amounts[i]-came, 0)
						if amounts[i]+1 <= capacity {
							amounts[i]++
						}
					} else if amounts[i] = math.Min(amounts[i]+came, capacity); amounts[i] >= 1 {
						amounts[i]--
					}
					times[i] = at
				}
				if tick%4 == 3 {
					looks[i] = append(looks[i], decode.Sample{Key: fmt.Sprint("x:", i), Type: "hash", Whole: true, TTL: time.Minute, Length: 2,
						Fields: map[string]string{"v": strconv.FormatFloat(amounts[i], 'f', 6, 64), "t": strconv.FormatInt(times[i].Millis(), 10)}})
				}
			}
		}
		want, wrong := "bucket", "level"
		if leaks {
			want, wrong = wrong, want
		}
		got := settled(looks, begin.Add(8*time.Second))
		if !slices.Contains(got, want) {
			t.Errorf("%d: a %s is read as %v", n, want, got)
		}
		if all++; !slices.Contains(got, wrong) {
			right++
		}
	}
	if t.Logf("%d of %d were settled", right, all); 2*right < all {
		t.Errorf("%d of %d were settled, want half", right, all)
	}
}

// TestSettleCounts tells what is left from what was used by the direction in which it moves until it expires.
func TestSettleCounts(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		counts []int
		want   []string
	}{{[]int{9, 8, 8, 5}, []string{"left"}}, {[]int{1, 3, 4}, []string{"value"}}, {[]int{4, 4, 4}, []string{"left", "value"}}, {[]int{4, 6, 5}, []string{"left", "value"}}} {
		var looks []decode.Sample
		for i, n := range c.counts {
			looks = append(looks, decode.Sample{Key: "x:1", Type: "string", Text: strconv.Itoa(n), TTL: time.Minute - time.Duration(i)*time.Second})
		}
		got := settled([][]decode.Sample{looks}, now)
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%v is read as %v, want %v", c.counts, got, c.want)
		}
	}
	var looks []decode.Sample // an end in a field, beside an expiry that each request renews
	for i, n := range []int{3, 1, 9, 8} {
		ends := now.Add(time.Duration(1+i/2*20) * time.Second).Millis()
		looks = append(looks, decode.Sample{Key: "x:1", Type: "hash", Whole: true, Length: 2, TTL: time.Hour,
			Fields: map[string]string{"points": strconv.Itoa(n), "resetAt": strconv.FormatInt(ends, 10)}})
	}
	if got := settled([][]decode.Sample{looks}, now); !slices.Equal(got, []string{"left field points"}) {
		t.Errorf("points that fall until their end are read as %v", got)
	}
}

// TestLimitOfBuckets tells rate and capacity of buckets from what requests at random do to them, and says nothing of buckets
// that are never full.
func TestLimitOfBuckets(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	begin := limiter.InstantOf(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	told := 0
	for n := range 40 {
		capacity, rate := float64(3+random.IntN(20)), []float64{0.5, 1, 2, 10}[n%4]
		busy := n%8 >= 6 // so that none of them is ever full
		looks := make([][]decode.Sample, 6)
		amounts, times := make([]float64, 6), make([]limiter.Instant, 6)
		for tick := range 400 {
			now := begin.Add(time.Duration(tick) * 100 * time.Millisecond)
			for i := range amounts {
				load := []float64{rate / 10, rate / capacity / 20}[i%2] // some come often, some after a while
				if random.Float64() < load || busy && random.Float64() < 0.8 {
					if times[i] == 0 {
						amounts[i], times[i] = capacity, now
					}
					amounts[i] = math.Min(amounts[i]+now.Sub(times[i]).Seconds()*rate, capacity)
					if times[i] = now; amounts[i] >= 1 {
						amounts[i]--
					}
				}
				if times[i] != 0 && tick%4 == 3 && (!busy || tick > 100) {
					looks[i] = append(looks[i], decode.Sample{Key: fmt.Sprint("x:", i), Type: "hash", Whole: true, TTL: time.Minute, Length: 2,
						Fields: map[string]string{"tokens": strconv.FormatFloat(amounts[i], 'f', 6, 64), "t": strconv.FormatInt(times[i].Millis(), 10)}})
				}
			}
		}
		looks = slices.DeleteFunc(looks, func(of []decode.Sample) bool { return len(of) == 0 })
		list := config.Settle(config.Suggest(&looks[0][0], "x:*", begin.Add(40*time.Second)), looks)
		got, err := limiter.ParseLimit(list[0].Entry.Limit)
		ok := err == nil
		if want := time.Duration(capacity / rate * float64(time.Second)); ok && (got.Count != int64(capacity) || (got.Window-want).Abs() > want/50) {
			t.Errorf("%v at once and %v a second: %+v", capacity, rate, got)
		}
		if ok {
			told++
		}
	}
	if t.Logf("the limit of %d of 40 is told", told); told < 12 {
		t.Errorf("the limit of %d of 40 is told", told)
	}
}

// TestSettleUnits: a number that moves in steps may be in parts of a request, so that the limit may be in either: there is a reading for
// each, and what tells them apart is said. Numbers that are multiples of one by chance are counts.
func TestSettleUnits(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		texts []string
		each  string
	}{
		{[]string{"10", "80", "140", "30"}, "10"}, {[]string{"1500", "12000"}, "1500"}, {[]string{"3", "6", "9", "12", "27", "15"}, "3"},
		{[]string{"3", "24", "42"}, ""}, {[]string{"10", "20", "31"}, ""}, {[]string{"100", "100", "100"}, ""}, {[]string{"2", "4", "8"}, ""},
	} {
		var looks [][]decode.Sample
		for i, text := range c.texts {
			looks = append(looks, []decode.Sample{{Key: fmt.Sprint("x:", i), Type: "string", Text: text, TTL: 10 * time.Second}})
		}
		list := config.Settle(config.Suggest(&looks[0][0], "x:*", now), looks)
		if got := list[1].Entry.Weight; got != c.each || (c.each != "") != (list[0].Unsure != "" && list[0].Unsure == list[1].Unsure && list[0].As != list[1].As) {
			t.Errorf("%q: %+v", c.texts, list)
		}
	}
}
