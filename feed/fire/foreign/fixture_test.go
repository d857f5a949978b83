package foreign

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// fixture is what one library wrote and answered, call by call; see
// feed/decode/testdata/record/README.md.
type fixture struct {
	Library    string `json:"library"`
	Configured struct {
		Limit, Burst *float64
		Window       *float64 `json:"window_ms"`
	} `json:"configured"`
	Algorithm string `json:"algorithm"`
	Steps     []step `json:"steps"`
}

type step struct {
	At     float64  `json:"at_ms"`
	Call   string   `json:"call"`
	Cost   *float64 `json:"cost"`
	Answer struct {
		Allowed *bool `json:"allowed"`
	} `json:"answer"`
	Commands []json.RawMessage `json:"commands"`
	Keys     []servertest.Key  `json:"keys"`
}

// several are more commands than one request has: the step is of many.
const several = 20

// otherwise are recordings of a library that was told to write in another way, which its keys do
// not tell, or of calls that are more than one request, with the reason.
var otherwise = map[string]string{
	"rate-limit-redis/skip-failed":             "requests are given back after the answer",
	"rate-limit-redis/given-back-late":         "the recorded calls give back",
	"rate-limiter-flexible/block-duration":     "it blocks after the limit",
	"rate-limiter-flexible/block-on-consumed":  "it blocks after the limit",
	"rate-limiter-flexible/bursty":             "two limiters a call",
	"rate-limiter-flexible/union":              "two limiters a call",
	"rate-limiter-flexible/insurance":          "another limiter answers",
	"rate-limiter-flexible/in-memory-block":    "a process that remembers denials",
	"rate-limiter-flexible/non-atomic":         "the class that writes without a transaction",
	"rate-limiter-flexible/no-expiry":          "a window without an end",
	"rate-limiter-flexible/queue":              "a call waits for the next window",
	"rate-limiter-flexible/exec-evenly":        "a call is answered long after it was counted",
	"fastify-rate-limit/continue-exceeding":    "it renews the expiry after the limit",
	"fastify-rate-limit/exponential-backoff":   "it renews the expiry after the limit",
	"limits/2-fixed-window-elastic":            "it renews the expiry with each request",
	"limits/2-flask-default-limits":            "two limits a call",
	"redis-rate/at-most":                       "AllowAtMost admits a part of the cost",
	"throttled/peek":                           "the library's peek writes",
	"upstash-ratelimit/cached-fixed-window":    "its cached form",
	"upstash-ratelimit/multi-region-fixed":     "hashes over several regions",
	"upstash-ratelimit/multi-region-sliding":   "hashes over several regions",
	"upstash-ratelimit/sliding-window-cache":   "a process that remembers denials",
	"upstash-ratelimit/deny-list":              "denied by the deny list",
	"upstash-ratelimit/dynamic-limit":          "the limit changes on the way",
	"upstash-ratelimit/analytics":              "events beside, which are no part of the limiter",
	"hono-rate-limiter/reset-on-change":        "it renews the expiry with each request",
	"hono-rate-limiter/skip-successful":        "requests are given back after the answer",
	"hono-rate-limiter/unstorage":              "JSON that is read, added to and written in three steps",
	"go-zero/period-aligned":                   "its windows end with those of the clock",
	"fastapi-limiter/minute":                   "the recorder looked 160 ms after the first call",
	"nest-throttler-storage-redis/block":       "it blocks for longer than a window",
	"nest-throttler-storage-redis/short-block": "it blocks for less than a window",
	"nest-throttler-storage-redis/named":       "two limiters a call",
	"russellluo-slidingwindow/sync-200ms":      "a process that counts by itself",
	"laravel/always-hit":                       "denied requests are counted",
	"laravel/redis-throttle-duration":          "a hash, which is another limiter of the framework",
	"laravel/redis-throttle-minute":            "a hash, which is another limiter of the framework",
	"laravel/redis-throttle-prefixed":          "a hash, which is another limiter of the framework",
	"spring-cloud-gateway/nothing-stored":      "nothing is kept",
	"rate-limiter-flexible/set-penalty-reward": "penalties and rewards are no requests",
}

// folders are where the recordings of a library lie beside those under its own name: programs that
// are built on it.
var folders = map[string][]string{"rate-limit-redis": {"express-slow-down"}, "nest-throttler-storage-redis": {"nestjs-throttler-storage-redis"}}

// TestWritesAsTheLibrary replays each recording up to a request, works that request out, sends its
// commands, and holds every key, its expiry and the answer to what the library itself then wrote and
// said.
func TestWritesAsTheLibrary(t *testing.T) {
	s := servertest.Start(t)
	client := s.Client()
	t.Cleanup(func() { client.Close() })
	for _, w := range All() {
		requests := 0
		for _, folder := range append([]string{w.Library}, folders[w.Library]...) {
			files, err := filepath.Glob(filepath.Join("..", "..", "decode", "testdata", "fixtures", folder, "*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s has no fixtures: %v", folder, err)
			}
			for _, file := range files {
				name := folder + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
				f := read(t, file)
				if f.Algorithm != w.Algorithm.String() || otherwise[name] != "" {
					continue
				}
				t.Run(name, func(t *testing.T) { requests += f.hold(t, w, client, folder == "express-slow-down") })
			}
		}
		if requests < 4 {
			t.Errorf("only %d requests of %s (%v) were compared", requests, w.Library, w.Algorithm)
		}
		t.Logf("%s (%v): %d requests compared", w.Library, w.Algorithm, requests)
	}
}

func read(t *testing.T, file string) (f fixture) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &f); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return f
}

// target is how the recorded limiter limits.
func (f *fixture) target(w *Writer) *model.Target {
	t := &model.Target{Library: w.Library, Algorithm: w.Algorithm, LimitKnown: true, Window: time.Duration(*f.Configured.Window * 1e6)}
	t.Limit = limiter.Limit{Count: int64(*f.Configured.Limit), Window: t.Window}
	if b := f.Configured.Burst; b != nil {
		t.Limit.Burst = int64(*b)
	}
	return t
}

// name is what the keys of a recording have in common.
func (f *fixture) name(t *testing.T) string {
	i := slices.IndexFunc(f.Steps, func(s step) bool { return len(s.Keys) > 0 })
	if i < 0 {
		return ""
	}
	name := servertest.Text(t, f.Steps[i].Keys[0].Key)
	switch {
	case f.Library == "russellluo-slidingwindow":
		return name[:strings.LastIndexByte(name, '@')]
	case f.Library == "upstash-ratelimit":
		return name[:strings.LastIndexByte(name, ':')]
	case f.Algorithm == limiter.FixedWindow.String():
	case f.Library == "go-zero", f.Library == "stripe", f.Library == "spring-cloud-gateway":
		return name[:strings.LastIndexByte(name, '.')] + leftTokens
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, laravelTimer), "/-1")
}

// hold returns how many requests were compared.
func (f *fixture) hold(t *testing.T, w *Writer, client *redis.Client, neverDenies bool) (requests int) {
	target, name := f.target(w), f.name(t)
	for i, next := range f.Steps {
		if next.Answer.Allowed == nil || next.Cost == nil || *next.Cost <= 0 || len(next.Commands) > several {
			continue
		}
		var held []servertest.Key
		if i > 0 {
			since := next.At - f.Steps[i-1].At
			if held = pass(f.Steps[i-1].Keys, since); held == nil && len(f.Steps[i-1].Keys) > 0 {
				continue // one of them expired at about the same time
			}
		}
		if err := w.Check(target, int64(*next.Cost)); err != nil {
			continue
		}
		at := limiter.Instant(math.Round(next.At * 1000))
		r := &Request{Target: target, Cost: int64(*next.Cost), At: at}
		least := time.Hour // until one of the keys expires
		for _, k := range slices.Concat(held, next.Keys) {
			if k.TTL > 0 {
				least = min(least, time.Duration(k.TTL*1e6))
			}
		}
		got, written := play(t, w, client, name, held, r, least)
		if late := behind(t, got, next.Keys); late != 0 { // the instant of the call, which was before the recorder looked
			r.At += late
			got, written = play(t, w, client, name, held, r, least)
		}
		requests++
		for _, k := range next.Keys {
			key := servertest.Text(t, k.Key)
			is, ok := got[key]
			if !ok || !same(is.value, value(t, k)) {
				t.Errorf("step %d (%s): %s holds %q, the library left %q", i, next.Call, key, is.value, value(t, k))
			}
			// The recorder looked some milliseconds after the call, and a busy machine later still here.
			if ttl := time.Duration(k.TTL * 1e6); (ttl > 0 || is.ttl > 0) && (is.ttl-ttl > 60*time.Millisecond || is.ttl-ttl < -30*time.Millisecond-is.late) {
				t.Errorf("step %d (%s): %s lives for %v, the library let it live for %v", i, next.Call, key, is.ttl, ttl)
			}
			delete(got, key)
		}
		for key := range got {
			t.Errorf("step %d (%s): %s is there, and the library left none", i, next.Call, key)
		}
		if allowed := *next.Answer.Allowed; written.Decision.Allowed != allowed && !neverDenies {
			t.Errorf("step %d (%s): admitted %v, the library answered %v", i, next.Call, written.Decision.Allowed, allowed)
		}
		if d := written.Decision; d.Allowed != (d.RetryAfter == 0) || d.Remaining < 0 {
			t.Errorf("step %d (%s): %+v", i, next.Call, d)
		}
	}
	return requests
}

// pass returns keys as they are since milliseconds later; nil where that cannot be told.
func pass(keys []servertest.Key, since float64) (later []servertest.Key) {
	for _, k := range keys {
		if k.TTL > 0 {
			if k.TTL -= since; math.Abs(k.TTL) < 20 {
				return nil
			}
			if k.TTL < 0 {
				continue
			}
		}
		later = append(later, k)
	}
	if later == nil {
		later = []servertest.Key{}
	}
	return later
}

// kept is what one key holds.
type kept struct {
	value string
	ttl   time.Duration
	late  time.Duration // since the request was begun
}

// play restores keys, works a request out, and returns what its commands leave: what was seen before the least time was over after
// which one of the keys expires, for a busy machine may stand still for as long.
func play(
	t *testing.T, w *Writer, client *redis.Client, name string, held []servertest.Key, r *Request, least time.Duration,
) (map[string]kept, Written) {
	t.Helper()
	for range 200 {
		begun := time.Now()
		written := write(t, w, client, name, held, r)
		if got := holds(t, client, begun); time.Since(begun) < least {
			return got, written
		}
	}
	t.Fatalf("the machine stood still for %v, 200 times", least)
	return nil, Written{}
}

// write restores keys, works a request out and sends its commands.
func write(t *testing.T, w *Writer, client *redis.Client, name string, held []servertest.Key, r *Request) Written {
	t.Helper()
	ctx := t.Context()
	p := client.Pipeline()
	p.FlushDB(ctx)
	for _, k := range held {
		k.Restore(t, p)
	}
	var asked []*decode.Pending
	for _, f := range w.Fetch(name, r.Target, r.At) {
		asked = append(asked, decode.Ask(ctx, p, f))
	}
	if _, err := p.Exec(ctx); err != nil && err != redis.Nil {
		t.Fatal(err)
	}
	r.Held = nil
	for _, a := range asked {
		s, err := a.Sample()
		if err != nil {
			t.Fatal(err)
		}
		r.Held = append(r.Held, s)
	}
	written, err := w.Write(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(written.Commands) > 0 {
		if _, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for _, c := range written.Commands {
				if c[0] == "pexpireat" { // the recording is of another day
					c = []any{"pexpire", c[1], c[2].(int64) - r.At.Millis()}
				}
				p.Do(ctx, c...)
			}
			return nil
		}); err != nil && err != redis.Nil {
			t.Fatal(err)
		}
	}
	return written
}

// holds returns what every key of a server holds, and how long after begun it did.
func holds(t *testing.T, client *redis.Client, begun time.Time) map[string]kept {
	t.Helper()
	ctx := t.Context()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]kept{}
	for _, k := range keys {
		v := kept{ttl: max(client.PTTL(ctx, k).Val(), 0)}
		v.late = time.Since(begun)
		switch typ := client.Type(ctx, k).Val(); typ {
		case "string":
			v.value = client.Get(ctx, k).Val()
		case "list":
			v.value = strings.Join(client.LRange(ctx, k, 0, -1).Val(), " ")
		case "hash":
			v.value = sorted(client.HGetAll(ctx, k).Val())
		case "none": // it has just expired
		default:
			t.Fatalf("%s: type %s", k, typ)
		}
		all[k] = v
	}
	return all
}

func sorted(fields map[string]string) string {
	var list []string
	for f, v := range fields {
		list = append(list, f+"="+v)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// value is what a recorded key holds, in the words of holds.
func value(t *testing.T, k servertest.Key) string {
	t.Helper()
	switch k.Type {
	case "list":
		var elements []json.RawMessage
		if err := json.Unmarshal(k.Value, &elements); err != nil {
			t.Fatal(err)
		}
		words := make([]string, len(elements))
		for i, e := range elements {
			words[i] = servertest.Text(t, e)
		}
		return strings.Join(words, " ")
	case "hash":
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(k.Value, &fields); err != nil {
			t.Fatal(err)
		}
		words := map[string]string{}
		for f, v := range fields {
			words[f] = servertest.Text(t, v)
		}
		return sorted(words)
	}
	return servertest.Text(t, k.Value)
}

// same says whether two values are: instants of a clock that is finer than a microsecond are to the
// microsecond.
func same(got, want string) bool {
	g, w := strings.Fields(got), strings.Fields(want)
	if got == want || len(g) != len(w) {
		return got == want
	}
	for i := range g {
		x, err1 := strconv.ParseFloat(g[i], 64)
		y, err2 := strconv.ParseFloat(w[i], 64)
		if len(g[i]) == 19 && len(w[i]) == 19 { // nanoseconds
			x, err1 := strconv.ParseInt(g[i], 10, 64)
			y, err2 := strconv.ParseInt(w[i], 10, 64)
			if err1 == nil && err2 == nil && max(x-y, y-x) <= 1000 {
				continue
			}
		}
		if g[i] != w[i] && (err1 != nil || err2 != nil || !strings.HasPrefix(w[i], "1795") || math.Abs(x-y) > 1.1e-6) {
			return false
		}
	}
	return true
}

// behind returns by how much the instants in what was written differ from what the library wrote, 0
// where they do not, or are none.
func behind(t *testing.T, got map[string]kept, want []servertest.Key) limiter.Instant {
	t.Helper()
	for _, k := range want {
		is := got[servertest.Text(t, k.Key)].value
		g, w := strings.Fields(is), strings.Fields(value(t, k))
		if len(g) == 0 || len(w) == 0 || g[0] == w[0] {
			continue
		}
		x, err1 := strconv.ParseFloat(g[0], 64)
		y, err2 := strconv.ParseFloat(w[0], 64)
		if err1 != nil || err2 != nil || x < 1e8 {
			continue
		}
		unit := 1e6 // of seconds
		if x > 1e17 {
			unit = 1e-3
			gi, _ := strconv.ParseInt(g[0], 10, 64)
			wi, _ := strconv.ParseInt(w[0], 10, 64)
			x, y = 0, float64(wi-gi)
		}
		if d := limiter.Instant(math.Round((y - x) * unit)); d < 0 && d > -100_000 {
			return d
		}
	}
	return 0
}
