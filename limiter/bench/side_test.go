package bench

import (
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"ratescope/limiter"
)

// BenchmarkLocalSideBySide prints what one decision costs one goroutine. All contestants
// take turns of a few milliseconds at most, of which the cheapest counts, so that what
// else the machine does falls on none of them.
func BenchmarkLocalSideBySide(b *testing.B) {
	for range b.N {
		out := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
		_, _ = fmt.Fprintln(out, "\nns a decision\t1 key\t10,000 keys")
		var columns [][]float64
		var all []contestant
		for _, n := range []int{1, 10_000} {
			rounds, turn := 400, 2000
			if n > 1 {
				rounds, turn = 60, 3*n // the caches hold one contestant's keys at a time
			}
			keys, order := names(n), arrivals(n)
			all = append(ours(b, keys), given(b, keys)...)
			all = append(all, peers(b, keys)...)
			low := make([]float64, len(all))
			for round := range rounds {
				for i, c := range all {
					at := round * turn
					start := time.Now()
					for j := range turn {
						c.decide(order[(at+j)%len(order)])
					}
					ns := float64(time.Since(start).Nanoseconds()) / float64(turn)
					if low[i] == 0 || ns < low[i] {
						low[i] = ns
					}
				}
			}
			columns = append(columns, low)
		}
		for i, c := range all {
			_, _ = fmt.Fprintf(out, "%s\t%.0f\t%.0f\n", c.name, columns[0][i], columns[1][i])
		}
		_ = out.Flush()
	}
}

// given are all algorithms at an instant that the caller brings along, which spares them
// the clock and the checks.
func given(b *testing.B, keys []string) []contestant {
	var all []contestant
	for _, a := range limiter.Algorithms() {
		m, err := limiter.NewMemory(a)
		if err != nil {
			b.Fatal(err)
		}
		now := limiter.InstantOf(time.Now())
		all = append(all, contestant{"ratescope-" + a.String() + " at an instant", func(i int) {
			now++
			if d := m.AllowAt(now, keys[i], limit, 1); !d.Allowed {
				b.Fatalf("denied: %+v", d)
			}
		}})
	}
	return all
}
