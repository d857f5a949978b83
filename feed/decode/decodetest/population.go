package decodetest

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
)

// Population is the keys of many programs, of which few are rate limiters, as the commands that
// write them.
type Population struct {
	Commands [][]any
	Subjects []Subject // the limiters, among them those of libraries that no decoder knows
	Secrets  []string  // values of keys that are no limiters, each once
	Kinds    []string  // of keys that are no limiters
	Keys     int       // how many keys are no limiters
}

// Subject is what a limiter limits.
type Subject struct {
	Library string   // as its registry names it
	LeftOut bool     // no decoder knows the library, on purpose
	Keys    []string // of the limiter, or the names that its row may have
	Doubles []string // libraries whose keys are the same
}

// Populate returns at least unrelated keys that are no limiters, and limiters of many libraries
// with some subjects each, as they are at the instant now. The same seed gives the same population
// but for the times.
func Populate(now limiter.Instant, unrelated int, seed uint64) *Population {
	w := &writer{now: now, random: rand.New(rand.NewPCG(seed, seed))}
	for _, k := range limiters {
		for i := range subjectsEach {
			if k.leftOut && i >= leftOutEach {
				break
			}
			keys := k.write(w, i)
			w.p.Subjects = append(w.p.Subjects, Subject{Library: k.library, LeftOut: k.leftOut, Keys: keys, Doubles: k.doubles})
		}
	}
	kinds := slices.Concat(applications, lookAlikes, queues)
	for _, k := range kinds {
		w.p.Kinds = append(w.p.Kinds, k.name)
	}
	for i := 0; w.p.Keys < unrelated; i++ {
		for _, k := range kinds {
			if k.once && i > 0 {
				continue
			}
			before := len(w.written)
			w.count = true
			k.write(w, i)
			w.count = false
			w.p.Keys += len(w.written) - before
		}
	}
	return &w.p
}

// Libraries returns the libraries whose limiters a population has, in their order.
func Libraries() []string {
	var names []string
	for _, l := range limiters {
		if !slices.Contains(names, l.library) {
			names = append(names, l.library)
		}
	}
	return names
}

// How many subjects each library has.
const (
	subjectsEach = 12
	leftOutEach  = 6
)

// Fill writes the population.
func (p *Population) Fill(t testing.TB, client *redis.Client) {
	t.Helper()
	for batch := range slices.Chunk(p.Commands, 500) {
		_, err := client.Pipelined(context.Background(), func(pipe redis.Pipeliner) error {
			for _, c := range batch {
				pipe.Do(context.Background(), c...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// kind is keys of one sort that are no limiters. write writes the i-th of them.
type kind struct {
	name  string
	once  bool // a server has only one of them
	write func(w *writer, i int)
}

// layout is the limiters of one library. write writes the i-th and returns its keys.
type layout struct {
	library string
	leftOut bool
	doubles []string
	write   func(w *writer, i int) []string
}

// writer collects a population.
type writer struct {
	p       Population
	now     limiter.Instant
	random  *rand.Rand
	count   bool
	written map[string]bool
}

func (w *writer) do(command string, key string, args ...any) {
	if w.written == nil {
		w.written = make(map[string]bool)
	}
	if w.count {
		w.written[key] = true
	}
	w.p.Commands = append(w.p.Commands, append([]any{command, key}, args...))
}

// set writes a string; ttl 0 is no expiry. Expiries are instants, so that they agree with the
// times in values however long it takes to write the population.
func (w *writer) set(key string, value any, ttl time.Duration) {
	if ttl > 0 {
		w.do("SET", key, value, "PXAT", w.millis(ttl))
		return
	}
	w.do("SET", key, value)
}

func (w *writer) expire(key string, ttl time.Duration) {
	w.do("PEXPIREAT", key, w.millis(ttl))
}

// seconds is the instant now, moved, in seconds.
func (w *writer) seconds(ahead time.Duration) float64 { return float64(w.now.Add(ahead)) / 1e6 }

func (w *writer) second(ahead time.Duration) int64 { return int64(w.now.Add(ahead)) / 1e6 }

func (w *writer) millis(ahead time.Duration) int64 { return w.now.Add(ahead).Millis() }

// upTo returns a number from least to most.
func (w *writer) upTo(least, most int) int { return least + w.random.IntN(most-least+1) }

// within returns a part of d, at least a tenth.
func (w *writer) within(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.1 + 0.9*w.random.Float64())).Truncate(time.Millisecond)
}

func (w *writer) hex(n int) string {
	b := make([]byte, (n+1)/2)
	for i := range b {
		b[i] = byte(w.random.IntN(256))
	}
	return hex.EncodeToString(b)[:n]
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func (w *writer) word(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(letters[w.random.IntN(len(letters))])
	}
	return b.String()
}

func (w *writer) uuid() string {
	h := w.hex(32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

func (w *writer) ip() string {
	return fmt.Sprintf("203.0.%d.%d", w.random.IntN(256), w.random.IntN(256))
}

// secret returns a value that no output may hold.
func (w *writer) secret() string { return w.plant("s3cr3t" + w.word(18)) }

// code returns a secret of digits, which could be taken for a count.
func (w *writer) code() string { return w.plant(fmt.Sprint(w.upTo(100_000_000, 999_999_999))) }

func (w *writer) plant(s string) string {
	w.p.Secrets = append(w.p.Secrets, s)
	return s
}
