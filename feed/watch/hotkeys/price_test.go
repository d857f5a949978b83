package hotkeys

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// cpu returns the processor time that the server has taken, by its own account.
func cpu(t testing.TB, c *redis.Client) time.Duration {
	var sum float64
	for line := range strings.Lines(c.Info(context.Background(), "cpu").Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// BenchmarkListening measures what a server takes for a write of one of 100,000 keys, in
// pipelines of 16, while no sampler listens and while one listens all the time. The
// difference is the price of an event, as eventPrice has it.
func BenchmarkListening(b *testing.B) {
	c := startServer(b)
	ctx := context.Background()
	for _, listening := range []bool{false, true} {
		b.Run(fmt.Sprintf("listening=%v", listening), func(b *testing.B) {
			within, cancel := context.WithCancel(ctx)
			var done sync.WaitGroup
			events := 0
			if listening {
				e := NewSampler(c, nil)
				done.Go(func() {
					defer e.Close()
					for within.Err() == nil {
						_, n, _ := e.Sample(ctx, 100*time.Millisecond, func(string) {})
						events += n
					}
				})
			}
			time.Sleep(20 * time.Millisecond)
			before := cpu(b, c)
			p := c.Pipeline()
			for i := range b.N {
				p.Incr(ctx, "rl:user:"+strconv.Itoa(rand.IntN(100_000)))
				if i%16 == 15 {
					if _, err := p.Exec(ctx); err != nil {
						b.Fatal(err)
					}
				}
			}
			after := cpu(b, c)
			cancel()
			done.Wait()
			b.ReportMetric(float64((after-before).Nanoseconds())/float64(b.N), "server-ns/write")
			if listening {
				b.ReportMetric(float64(events)/float64(b.N), "events/write")
			}
		})
	}
}
