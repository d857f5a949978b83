package discover_test

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
)

// What keys look like that are limiters, and that are none; each file says how it is written.
var (
	//go:embed testdata/limiters.txt
	limitersText string
	//go:embed testdata/unrelated.txt
	unrelatedText string
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

// How many subjects each layout has.
const (
	subjectsEach = 12
	leftOutEach  = 6
)

// Populate returns at least unrelated keys that are no limiters, and limiters of many libraries
// with some subjects each, as they are at the instant now. The same seed gives the same population
// but for the times.
func Populate(now limiter.Instant, unrelated int, seed uint64) *Population {
	w := &writer{now: now, random: rand.New(rand.NewPCG(seed, seed))}
	p := &Population{}
	for _, k := range w.kinds(limitersText) {
		n := subjectsEach
		if k.mark == "unknown" {
			n = leftOutEach
		}
		library, doubles, _ := strings.Cut(k.name, " = ")
		for i := range n {
			commands, rows := k.commands(i + 1)
			s := Subject{Library: library, LeftOut: k.mark == "unknown", Keys: rows, Doubles: strings.Fields(doubles)}
			p.Commands, p.Subjects = append(p.Commands, commands...), append(p.Subjects, s)
		}
	}
	kinds := w.kinds(unrelatedText)
	for _, k := range kinds {
		p.Kinds = append(p.Kinds, k.name)
	}
	written := make(map[string]bool)
	for i := 0; len(written) < unrelated; i++ {
		for _, k := range kinds {
			if k.mark == "once" && i > 0 {
				continue
			}
			commands, rows := k.commands(i + 1)
			p.Commands = append(p.Commands, commands...)
			for _, key := range rows {
				written[key] = true
			}
		}
	}
	p.Keys, p.Secrets = len(written), w.secrets
	return p
}

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

// kind is keys of one sort: its name, what stands in parentheses behind it, and its commands.
type kind struct {
	name, mark string
	text       *template.Template
}

// kinds reads a file of commands. It panics on what is wrong there.
func (w *writer) kinds(file string) (all []kind) {
	for _, section := range strings.Split("\n"+file, "\n## ")[1:] {
		head, body, _ := strings.Cut(section, "\n")
		k := kind{text: template.Must(template.New(head).Delims("<<", ">>").Funcs(w.functions()).Parse(body))}
		k.name, k.mark, _ = strings.Cut(strings.TrimSuffix(head, ")"), " (")
		all = append(all, k)
	}
	return all
}

// commands returns the commands of the i-th key of a kind, and the names of its rows: those that ROW says, or else
// the keys that are written.
func (k *kind) commands(i int) (commands [][]any, rows []string) {
	var b strings.Builder
	if err := k.text.Execute(&b, i); err != nil {
		panic(err)
	}
	var said []string
	for line := range strings.Lines(b.String()) {
		words := words(strings.TrimSpace(line))
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0].(string), "#"):
		case words[0] == "ROW":
			said = append(said, words[1].(string))
		default:
			commands, rows = append(commands, words), append(rows, words[1].(string))
		}
	}
	if said != nil {
		return commands, said
	}
	slices.Sort(rows)
	return commands, slices.Compact(rows)
}

// words splits a line as redis-cli does: at spaces, but for what is between quotes, where \ escapes in double ones.
func words(line string) (all []any) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		switch line[0] {
		case '\'':
			word, rest, _ := strings.Cut(line[1:], "'")
			all, line = append(all, word), rest
		case '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				panic(line)
			}
			word, _ := strconv.Unquote(quoted)
			all, line = append(all, word), line[len(quoted):]
		default:
			word, rest, _ := strings.Cut(line, " ")
			all, line = append(all, word), rest
		}
	}
	return all
}

// writer writes what differs from key to key, and collects the secrets.
type writer struct {
	now     limiter.Instant
	random  *rand.Rand
	secrets []string
}

// functions returns what a file of commands may call. A duration is text or a time.Duration; times are those of now,
// moved by one.
func (w *writer) functions() template.FuncMap {
	at := func(ahead any) limiter.Instant { return w.now.Add(duration(ahead)) }
	within := func(d any) time.Duration { // a part of d, at least a tenth
		return time.Duration(float64(duration(d)) * (0.1 + 0.9*w.random.Float64())).Truncate(time.Millisecond)
	}
	into := func(window string) time.Duration { return w.now.Sub(w.now.Floor(duration(window))) }
	plant := func(secret string) string {
		w.secrets = append(w.secrets, secret)
		return secret
	}
	return template.FuncMap{
		"s": func(d any) int64 { return int64(at(d)) / 1e6 }, "ms": func(d any) int64 { return at(d).Millis() },
		"us":     func(d any) int64 { return int64(at(d)) },
		"sec":    func(d any) string { return fmt.Sprintf("%.6f", float64(at(d))/1e6) },
		"double": func(d any) string { return hexEscaped(math.Float64bits(float64(at(d)) / 1e6)) },
		"since2017": func(d any) string {
			return fmt.Sprintf("%.9f", float64(at(d))/1e6-1483228800)
		},
		"within": within, "in": func(d any) int64 { return at(within(d)).Millis() },
		// The expiry of a counter that is in the first half of its window.
		"young": func(d string) int64 { return at(duration(d)/2 + within(duration(d)/2) - 5*time.Millisecond).Millis() },
		// The number of the window of now, its first second, and an expiry so long after a first request in it, or its end.
		"index": func(d string) int64 { return int64(w.now) / duration(d).Microseconds() },
		"start": func(d string) int64 { return int64(w.now.Floor(duration(d))) / 1e6 },
		"begun": func(d, lasts string) int64 { return at(duration(lasts) - within(into(d))/2).Millis() },
		"after": func(d, later string) int64 { return at(duration(d) - into(d) + duration(later)).Millis() },

		"upto":  func(least, most int) int { return least + w.random.IntN(most-least+1) },
		"times": func(n int) []struct{} { return make([]struct{}, n) },
		"count": func() int { return 1 + w.random.IntN(90) },
		"hex":   w.hex, "word": w.word, "ip": func() string { return fmt.Sprintf("203.0.%d.%d", w.random.IntN(256), w.random.IntN(256)) },
		"uuid": func() string {
			h := w.hex(32)
			return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
		},
		"sha1": func(text string) string {
			digest := sha1.Sum([]byte(text))
			return hex.EncodeToString(digest[:])
		},
		// Values that no output may hold; a code is of digits, which could be taken for a count.
		"secret": func() string { return plant("s3cr3t" + w.word(18)) },
		"code":   func() string { return plant(strconv.Itoa(100_000_000 + w.random.IntN(900_000_000))) },
	}
}

// duration reads a duration of a file. It panics where it is none.
func duration(d any) time.Duration {
	if text, ok := d.(string); ok {
		parsed, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		return parsed
	}
	return d.(time.Duration)
}

// hexEscaped returns the bytes of a number, the highest first, as they are written between double quotes.
func hexEscaped(bits uint64) (out string) {
	for _, b := range binary.BigEndian.AppendUint64(nil, bits) {
		out += fmt.Sprintf(`\x%02x`, b)
	}
	return out
}

func (w *writer) hex(n int) string {
	b := make([]byte, (n+1)/2)
	for i := range b {
		b[i] = byte(w.random.IntN(256))
	}
	return hex.EncodeToString(b)[:n]
}

func (w *writer) word(n int) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[w.random.IntN(len(letters))]
	}
	return string(b)
}
