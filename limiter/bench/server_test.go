package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
)

const (
	depth   = 16 // commands in a pipeline, so that the socket does not hide the script
	batches = 150
	turns   = 40
)

// cost is what the server spent on one decision.
type cost struct {
	script float64 // µs in the script, by commandstats
	thread float64 // µs of its main thread, socket included
	calls  float64 // commands within the script
}

// measure runs each of do, which make depth decisions each time, and divides. A machine
// has other things to do, so they take turns, of which the cheapest counts.
func measure(b *testing.B, client *redis.Client, do ...func()) []cost {
	b.Helper()
	low := make([]cost, len(do))
	for turn := range turns {
		for i, one := range do {
			for range 5 {
				one()
			}
			client.ConfigResetStat(context.Background())
			before := threadTime(b, client)
			for range batches {
				one()
			}
			spent := threadTime(b, client) - before
			usec, calls, inner := scriptStats(b, client)
			c := cost{script: usec / calls, thread: spent / (depth * batches), calls: inner / calls}
			if turn == 0 {
				low[i] = c
			}
			low[i].script, low[i].thread = min(low[i].script, c.script), min(low[i].thread, c.thread)
		}
	}
	return low
}

func threadTime(b *testing.B, client *redis.Client) (us float64) {
	for name, value := range info(b, client, "cpu") {
		if strings.HasSuffix(name, "_main_thread") {
			s, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			us += s * 1e6
		}
	}
	return us
}

func scriptStats(b *testing.B, client *redis.Client) (usec, calls, inner float64) {
	for name, value := range info(b, client, "commandstats") {
		n, t := 0.0, 0.0
		if _, err := fmt.Sscanf(value, "calls=%f,usec=%f", &n, &t); err != nil {
			b.Fatalf("%s:%s: %v", name, value, err)
		}
		switch name {
		case "cmdstat_evalsha":
			usec, calls = t, n
		case "cmdstat_info", "cmdstat_config|resetstat":
		default:
			inner += n
		}
	}
	return usec, calls, inner
}

func info(b *testing.B, client *redis.Client, section string) map[string]string {
	text, err := client.Info(context.Background(), section).Result()
	if err != nil {
		b.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// together returns a client that sends the calls of one moment in one pipeline. Decisions by it are made one by
// one, each by a call of its own.
func together(b *testing.B, client *redis.Client) redisstore.Client {
	c, err := client.AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// bare is what no decision can undercut: a script that does nothing.
func bare(b *testing.B, client *redis.Client) func() {
	ctx := context.Background()
	sha, err := client.ScriptLoad(ctx, "return 1").Result()
	if err != nil {
		b.Fatal(err)
	}
	piped := together(b, client)
	return atOnce(b, func() error { return piped.Process(ctx, redis.NewCmd(ctx, "evalsha", sha, 1, "key")) })
}

// atOnce does one thing depth times at the same time.
func atOnce(b *testing.B, do func() error) func() {
	return func() {
		var wg sync.WaitGroup
		for range depth {
			wg.Go(func() {
				if err := do(); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// deciding makes depth decisions about key at the same time.
func deciding(b *testing.B, l *redisstore.Store, key string, limit limiter.Limit) func() {
	return atOnce(b, func() error {
		_, err := l.AllowN(context.Background(), key, limit, 1)
		return err
	})
}

// row is a line of the table: an algorithm, in a layout of its data.
type row struct {
	name, admits, keeps string
	algorithm           limiter.Algorithm
	layout              layout.Layout
}

func (r row) limiter(b *testing.B, client redisstore.Client) *redisstore.Store {
	l, err := redisstore.New(client, r.algorithm, redisstore.WithLayout(r.layout), redisstore.WithPrefix(""), redisstore.WithBatches(0))
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// rows say what an algorithm admits and keeps, as a reader chooses by.
func rows() []row {
	kept := map[limiter.Algorithm][2]string{
		limiter.FixedWindow:   {"up to 2L across an edge", "1 counter"},
		limiter.SlidingLog:    {"exactly L", "L instants"},
		limiter.SlidingWindow: {"about L, 2L at the very worst", "2 counters"},
		limiter.StreamCounter: {"exactly L", "a request each"},
		limiter.GCRA:          {"L evenly, and the burst", "1 instant"},
		limiter.TokenBucket:   {"L as it refills, and the burst", "1 pair"},
		limiter.LeakyBucket:   {"L as it drains, and the burst", "1 pair"},
	}
	var all []row
	for _, a := range limiter.Algorithms() {
		all = append(all, row{name: a.String(), admits: kept[a][0], keeps: kept[a][1], algorithm: a})
		if a == limiter.StreamCounter {
			all = append(all, row{"stream of units", "exactly L", "L units", a, layout.Layout{PerUnit: true}})
		}
	}
	return all
}

// BenchmarkServer prints what a decision costs the server, algorithm by algorithm, as a
// multiple of a script that does nothing: first the table of what they cost and keep,
// line for line, then the same for requests that are denied, and under a limit that is
// neither of a usual window nor a whole number of microseconds a unit.
func BenchmarkServer(b *testing.B) {
	client := servertest.Client(b)
	for range b.N {
		out := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
		rest := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
		_, _ = fmt.Fprintln(out, "\nalgorithm\ta window of L admits\tkeeps, a key\tbytes at 10\t100\t1,000\tcommands\tµs\t× bare")
		_, _ = fmt.Fprintln(rest, "\n× bare\tadmitted\tdenied\todd limit\tthread µs")
		nothing := bare(b, client)
		base := measure(b, client, nothing)[0]
		_, _ = fmt.Fprintf(out, "return 1\t\t\t\t\t\t0\t%.1f\t1.0\n", base.script)
		for _, r := range rows() {
			costs := price(b, client, r, nothing)
			_, _ = fmt.Fprintf(out, "%s\t%s\t%s", r.name, r.admits, r.keeps)
			for _, n := range []int{10, 100, 1000} {
				_, _ = fmt.Fprintf(out, "\t%s", thousands(size(b, client, r, n)))
			}
			base, in := costs[0], costs[1]
			_, _ = fmt.Fprintf(out, "\t%.0f\t%.1f\t%.1f\n", in.calls, in.script, in.thread/base.thread)
			_, _ = fmt.Fprintf(rest, "%s\t%.2f\t%.2f\t%.2f\t%.2f\n", r.name, in.thread/base.thread, costs[2].thread/base.thread, costs[3].thread/base.thread, in.thread)
		}
		_ = out.Flush()
		_ = rest.Flush()
	}
}

// price measures, in turns: a script that does nothing, and decisions of one algorithm that
// are admitted, denied, and admitted under an odd limit.
func price(b *testing.B, client *redis.Client, r row, nothing func()) []cost {
	client.FlushAll(context.Background())
	l := r.limiter(b, together(b, client))
	wide := limiter.Limit{Count: 1_000_000, Window: time.Minute}
	tight := limiter.Limit{Count: 3, Window: time.Hour}
	odd := limiter.Limit{Count: 700_000, Window: 90 * time.Second}
	if r.algorithm == limiter.SlidingLog || r.algorithm == limiter.StreamCounter {
		wide = limiter.Limit{Count: 10_000, Window: 10 * time.Millisecond} // is filled with about a thousand entries and then turns over
		odd = limiter.Limit{Count: 7000, Window: 9 * time.Millisecond}
	}
	return measure(b, client, nothing, deciding(b, l, "admit", wide), deciding(b, l, "deny", tight), deciding(b, l, "odd", odd))
}

// thousands writes 118000 as 118,000.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// size is what the keys of one limiter take on the server after n requests.
func size(b *testing.B, client *redis.Client, r row, n int) (bytes int64) {
	ctx := context.Background()
	client.FlushAll(ctx)
	l := r.limiter(b, client)
	for range n {
		if _, err := l.AllowN(ctx, "user:42", limiter.Limit{Count: 10_000, Window: time.Hour}, 1); err != nil {
			b.Fatal(err)
		}
	}
	for _, k := range client.Keys(ctx, "*").Val() {
		bytes += client.MemoryUsage(ctx, k, 0).Val()
	}
	return bytes
}

// BenchmarkStreamDepth shows that a stream decision costs the same however many entries
// its window holds, admitted and denied.
func BenchmarkStreamDepth(b *testing.B) {
	client := servertest.Client(b)
	ctx := context.Background()
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			client.FlushAll(ctx)
			l := row{algorithm: limiter.StreamCounter}.limiter(b, together(b, client))
			wide := limiter.Limit{Count: 1 << 30, Window: time.Hour}
			for fill := deciding(b, l, "deep", wide); client.XLen(ctx, "deep").Val() < int64(n); {
				fill()
			}
			for range b.N {
				full := wide
				full.Count = 1
				costs := measure(b, client, deciding(b, l, "deep", wide), deciding(b, l, "deep", full))
				b.ReportMetric(costs[0].script, "µs/admitted")
				b.ReportMetric(costs[1].script, "µs/denied")
			}
		})
	}
}

// BenchmarkExpired lets a million entries leave a window and reports the worst decision
// that follows: where none counts any more, so that all are dropped at once, and where
// some do, so that the others are removed little by little. A machine has other things to
// do, so the lowest of three readings counts.
func BenchmarkExpired(b *testing.B) {
	client := servertest.Client(b)
	for _, live := range []int{0, 10} {
		for _, a := range []limiter.Algorithm{limiter.SlidingLog, limiter.StreamCounter} {
			b.Run(fmt.Sprintf("%s/live=%d", a, live), func(b *testing.B) {
				for range b.N {
					worst := worstExpired(b, client, a, live)
					for range 2 {
						worst = min(worst, worstExpired(b, client, a, live))
					}
					b.ReportMetric(worst, "µs/worst")
				}
			})
		}
	}
}

// worstExpired makes enough decisions for ten trims of either kind.
func worstExpired(b *testing.B, client *redis.Client, a limiter.Algorithm, live int) (worst float64) {
	ctx := context.Background()
	client.FlushAll(ctx)
	fillExpired(b, client, a, live)
	l, err := redisstore.New(client, a, redisstore.WithPrefix(""))
	if err != nil {
		b.Fatal(err)
	}
	allow := func(key string) {
		if _, err := l.AllowN(ctx, key, limiter.Limit{Count: 1 << 30, Window: time.Hour}, 1); err != nil {
			b.Fatal(err)
		}
	}
	allow("new") // sends the script, which a server counts apart
	for range 640 {
		client.ConfigResetStat(ctx)
		allow("old")
		usec, _, _ := scriptStats(b, client)
		worst = max(worst, usec)
	}
	return worst
}

// fillExpired writes a million entries of long ago as the limiter itself would have.
func fillExpired(b *testing.B, client *redis.Client, a limiter.Algorithm, live int) {
	ctx := context.Background()
	script := redis.NewScript(`
local now = redis.call('TIME')[1] * 1000000
for i = ARGV[1] + 0, ARGV[2] + 0 do
  local at = ARGV[3] == '1' and now - 1000000 + i or now - 10000000000 + i
  local id = string.format('%.0f', at)
  if KEYS[2] == 'z' then redis.call('ZADD', KEYS[1], id, id)
  else redis.call('XADD', KEYS[1], string.format('%.0f-%d%015.0f', math.floor(at / 1000), at % 1000 + 1, i), 'count', 1, 'total', i) end
end`)
	kind := "z"
	if a == limiter.StreamCounter {
		kind = "s"
	}
	const million = 1_000_000
	for from := 1; from <= million; from += 10_000 {
		if err := script.Run(ctx, client, []string{"old", kind}, from, from+9999, 0).Err(); err != nil && err != redis.Nil {
			b.Fatal(err)
		}
	}
	if live > 0 {
		if err := script.Run(ctx, client, []string{"old", kind}, million+1, million+live, 1).Err(); err != nil && err != redis.Nil {
			b.Fatal(err)
		}
	}
}
