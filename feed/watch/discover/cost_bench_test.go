package discover_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/watch/discover"
	"ratescope/internal/goroutine"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// BenchmarkRecognition compares what one search for limiters takes of a server's processor with what
// SCAN, TYPE and PTTL of the same keys take: a search that asks of every key what it is and how long
// it lives, and looks into none. Of the keys, of more than forty kinds, few are limiters.
func BenchmarkRecognition(b *testing.B) {
	for _, keys := range []int{5_000, 50_000, 200_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			s := servertest.Start(b)
			client := s.Client()
			defer client.Close()
			Populate(s.Now(), keys, 1).Fill(b, client)
			var bare, search []time.Duration
			for range b.N {
				for range 5 { // in turns
					bare = append(bare, used(s, func() { surveyBare(b, client) }))
					search = append(search, used(s, func() { searchOnce(b, client) }))
				}
			}
			slices.Sort(bare)
			slices.Sort(search)
			least, most := bare[len(bare)/2], search[len(search)/2]
			n := float64(client.DBSize(b.Context()).Val())
			b.ReportMetric(float64(least.Nanoseconds())/n, "bare-ns/key")
			b.ReportMetric(float64(most.Nanoseconds())/n, "search-ns/key")
			b.ReportMetric(100*(float64(most)/float64(least)-1), "%more")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// used returns what do took of the server's processor.
func used(s *servertest.Server, do func()) time.Duration {
	before := s.CPU()
	do()
	return s.CPU() - before
}

// pageOfScan is how many keys a search asks for at once.
const pageOfScan = 500

// surveyBare asks for the type and the expiry of every key, a page of SCAN at a time.
func surveyBare(b *testing.B, client *redis.Client) {
	ctx := b.Context()
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, "*", pageOfScan).Result()
		if err != nil {
			b.Fatal(err)
		}
		for some := range slices.Chunk(keys, pageOfScan) {
			if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, k := range some {
					p.Type(ctx, k)
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
			if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, k := range some {
					p.PTTL(ctx, k)
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		}
		if cursor = next; cursor == 0 {
			return
		}
	}
}

// searchOnce searches the keyspace once.
func searchOnce(b *testing.B, client *redis.Client) {
	scanner := discover.New(discover.Options{
		Client: client, Nodes: func(context.Context) ([]*redis.Client, error) { return []*redis.Client{client}, nil },
		Budget: 1, Now: func() limiter.Instant { return limiter.InstantOf(time.Now()) }, Away: func() bool { return false },
		Rest: time.Hour, Own: func() (time.Duration, int64) { return 0, 0 }, Trip: func() time.Duration { return 0 },
	})
	beside, ctx := goroutine.NewGroup(b.Context())
	ctx, stop := context.WithCancel(ctx)
	beside.Go(func() { scanner.Run(ctx, beside) })
	servertest.Await(b, "a search of all keys", func() bool { return scanner.Progress().Passes > 0 })
	stop()
	if err := beside.Wait(); err != nil {
		b.Fatal(err)
	}
}
