package redisstore

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// BenchmarkGuards prints what the looks for foreign values cost the server: the processor time of
// its main thread for a decision, beside the same decisions of a store that never looks. The two
// take turns, and the median of the turns' ratios counts, because the machine has other things to do.
func BenchmarkGuards(b *testing.B) {
	client := servertest.Client(b)
	const depth, batches, turns = 16, 200, 30
	limit := limiter.Limit{Count: 1_000_000, Window: time.Minute}
	for range b.N {
		out := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
		_, _ = fmt.Fprintln(out, "\nalgorithm\tµs unguarded\tguards add")
		for _, a := range limiter.Algorithms() {
			client.FlushAll(b.Context())
			guarded, unguarded := newGuarded(b, client, a), newGuarded(b, client, a)
			unguarded.server.known = nil // trusts each key
			var ratios, spent []float64
			for range turns {
				var took [2]float64
				for i, s := range []*Store{unguarded, guarded} {
					before := mainThread(b, client)
					for range batches {
						var wg sync.WaitGroup
						for range depth {
							wg.Go(func() {
								if _, err := s.AllowN(b.Context(), "admit", limit, 1); err != nil {
									b.Error(err)
								}
							})
						}
						wg.Wait()
					}
					took[i] = mainThread(b, client) - before
				}
				ratios, spent = append(ratios, took[1]/took[0]), append(spent, took[0]/(depth*batches))
			}
			_, _ = fmt.Fprintf(out, "%s\t%.1f\t%+.1f %%\n", a, median(spent), 100*(median(ratios)-1))
		}
		_ = out.Flush()
	}
}

func newGuarded(b *testing.B, client *redis.Client, a limiter.Algorithm) *Store {
	s, err := New(client, a)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// mainThread is the processor time of the server's main thread so far, in microseconds.
func mainThread(b *testing.B, client *redis.Client) (us float64) {
	text, err := client.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasSuffix(name, "_main_thread") {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			us += seconds * 1e6
		}
	}
	return us
}
