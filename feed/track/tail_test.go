package track

import (
	"testing"

	"ratescope/limiter"
)

// FuzzLay wants the units that are laid out to be all of them, in order and in their time.
func FuzzLay(f *testing.F) {
	f.Add(int64(1_000_000), int64(200_000), int64(10_000))
	f.Add(int64(1_000_000), int64(0), int64(3))
	f.Fuzz(func(t *testing.T, from, over, n int64) {
		from, over, n = max(from, 0)%(1<<52), max(over, 0)%(1<<40), n%(1<<40)
		var sum int64
		last := limiter.Instant(0)
		for _, e := range lay(limiter.Instant(from), limiter.Instant(from+over), n) {
			if e.Count < 0 || e.At < last || e.At < limiter.Instant(from) || e.At > limiter.Instant(from+over) {
				t.Fatalf("%+v of %d from %d over %d", e, n, from, over)
			}
			sum += e.Count
			last = e.At
		}
		if sum != max(n, 0) {
			t.Fatalf("%d of %d units were laid", sum, n)
		}
	})
}
