package decode_test

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.yaml.in/yaml/v3"

	"ratescope/feed/script"
	"ratescope/limiter"
)

// The limiters that applications write themselves, nine lists of them. Each says how it is written.
var (
	//go:embed testdata/homemade.yaml
	homemadeText []byte
	//go:embed testdata/homemade_public.yaml
	publicText []byte
	//go:embed testdata/homemade_third.yaml
	thirdText []byte
	//go:embed testdata/homemade_fourth.yaml
	fourthText []byte
	//go:embed testdata/homemade_fifth.yaml
	fifthText []byte
	//go:embed testdata/homemade_seventh.yaml
	seventhText []byte
	//go:embed testdata/homemade_eighth.yaml
	eighthText []byte
	//go:embed testdata/homemade_ninth.yaml
	ninthText []byte
	//go:embed testdata/homemade_tenth.yaml
	tenthText []byte
)

// Homemade is a limiter that an application writes itself.
type Homemade struct {
	Name, Family string
	Limit        string         // COUNT/DURATION, or COUNT/month
	Keys         string         // of its script, by spaces
	Script       string         // its name, replaced by its text
	Rule, Match  map[string]any // what tells it, by its whole layout and by a glob; a nil Rule is one that cannot be told
}

// eachHomemade runs a test for all lists.
func eachHomemade(t *testing.T, test func(t *testing.T, all []Homemade)) {
	t.Helper()
	lists := map[string][]byte{"first": homemadeText, "public": publicText, "third": thirdText, "fourth": fourthText, "fifth": fifthText,
		"seventh": seventhText, "eighth": eighthText, "ninth": ninthText, "tenth": tenthText}
	for name, list := range lists {
		t.Run(name, func(t *testing.T) { test(t, homemadeLimiters(t, list)) })
	}
}

// homemadeLimiters returns the limiters of a list. Each may use the scripts of the first.
func homemadeLimiters(t testing.TB, list []byte) []Homemade {
	t.Helper()
	var all struct {
		Scripts  map[string]string
		Limiters []Homemade
	}
	for _, text := range [][]byte{homemadeText, list} {
		all.Limiters = nil
		if err := yaml.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all.Limiters {
		h := &all.Limiters[i]
		h.Script = all.Scripts[h.Script]
		for _, r := range []map[string]any{h.Rule, h.Match} {
			if r == nil {
				continue
			}
			if limit, said := r["limit"]; !said {
				r["limit"] = h.Limit
			} else if limit == nil {
				delete(r, "limit")
			}
		}
	}
	return all.Limiters
}

// Told returns the limiter's rule, or its match, as a configuration file.
func Told(t testing.TB, rule map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{"rules": []any{rule}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// World is a Redis on virtual time in which a homemade limiter decides.
type World struct {
	Client *redis.Client
	Now    limiter.Instant

	limiter *Homemade
	server  *miniredis.Miniredis
	limit   limiter.Limit
	calls   int
	copied  *World // in which Truth tries what the limiter answers
}

// NewWorld returns an empty one at an instant.
func NewWorld(t testing.TB, h *Homemade, at limiter.Instant) *World {
	t.Helper()
	limit, err := limiter.ParseLimit(strings.Replace(h.Limit, "month", "30d", 1))
	if err != nil {
		t.Fatal(err)
	}
	w := &World{server: miniredis.RunT(t), limiter: h, limit: limit, Now: at}
	w.Client = redis.NewClient(&redis.Options{Addr: w.server.Addr(), MaintNotificationsConfig: nil})
	t.Cleanup(func() { w.Client.Close() })
	w.server.SetTime(at.Time())
	return w
}

// Advance moves the clock on.
func (w *World) Advance(d time.Duration) {
	if d > 0 {
		w.server.FastForward(d)
	}
	w.Now = w.Now.Add(d)
	w.server.SetTime(w.Now.Time())
}

// instants finds the words that stand for an instant in the names of keys.
var instants = regexp.MustCompile(`\{(utc|low|tokyo|delhi|york|quarter|weekday|hexstart|week|isoweek|index|hex|b36|slot|ticks|start|end):([^{}|]+)(?:\|(\d+))?(?:\|(-\d+))?\}`)

// Keys returns the keys of a request.
func (w *World) Keys(who string) []string {
	number := func(text string) int64 {
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	}
	now := int64(w.Now) / 1e6
	text := instants.ReplaceAllStringFunc(w.limiter.Keys, func(word string) string {
		p := instants.FindStringSubmatch(word)
		n, ring, later := number(p[2]), number(p[3]), number(p[4])
		value := int64(0)
		switch p[1] {
		case "utc":
			at := w.Now.Time().Add(time.Duration(later) * time.Second).UTC()
			return at.Truncate(time.Duration(max(ring, 1)) * time.Second).Format(p[2])
		case "week":
			year, week := w.Now.Time().UTC().ISOWeek()
			return fmt.Sprintf("%d-W%02d", year, week)
		case "isoweek":
			year, week := w.Now.Time().UTC().ISOWeek()
			return fmt.Sprintf("%d%s%02d", year, p[2], week)
		case "hex":
			return strconv.FormatInt(now/n, 16)
		case "b36":
			return strconv.FormatInt(now/n, 36)
		case "delhi":
			return w.Now.Time().In(time.FixedZone("", 19800)).Format(p[2])
		case "low":
			return strings.ToLower(w.Now.Time().UTC().Format(p[2]))
		case "york":
			return w.Now.Time().In(time.FixedZone("", -5*3600)).Format(p[2])
		case "quarter":
			return fmt.Sprintf("%dQ%d", w.Now.Time().UTC().Year(), (w.Now.Time().UTC().Month()+2)/3)
		case "weekday":
			return strconv.Itoa(int(w.Now.Time().UTC().Weekday()))
		case "hexstart":
			return strconv.FormatInt(now/n*n, 16)
		case "tokyo":
			return w.Now.Time().In(time.FixedZone("", 9*3600)).Format(p[2])
		case "index":
			value = now/n + later
		case "slot":
			value = now / n % ring
		case "ticks":
			value = (now + 62_135_596_800) / n
		case "start":
			value = (now/n + later) * n
		case "end":
			value = (now/n + 1) * n
		}
		return strconv.FormatInt(value, 10)
	})
	keys := strings.Fields(strings.ReplaceAll(text, "{who}", who))
	for i := range keys {
		keys[i] = strings.ReplaceAll(keys[i], "~", " ")
	}
	return keys
}

// Request makes one request of who and returns whether the limiter admits it.
func (w *World) Request(t testing.TB, who string) bool {
	t.Helper()
	w.calls++
	call := script.Call{Args: []string{"{limit}", "{window_ms}", "{now_ms}", "{id}"}}
	_, args := call.Expand(script.Values{Who: who, Limit: w.limit, Now: w.Now, Cost: 1, ID: "r" + strconv.Itoa(w.calls)})
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	reply, err := w.Client.Eval(t.Context(), w.limiter.Script, w.Keys(who), list...).Result()
	if err != nil {
		t.Fatalf("%s: %v", w.limiter.Name, err)
	}
	admitted, err := call.Admitted.Admits(reply)
	if err != nil {
		t.Fatalf("%s: %v", w.limiter.Name, err)
	}
	return admitted
}

// Truth is what a limiter answers about a subject.
type Truth struct {
	Remaining int64         // requests that it admits at once
	Next      time.Duration // until it admits one, to the millisecond; 0 now, -1 not within two windows
}

// Truth asks copies of the limiter at an instant, which is not before w.Now, so that nothing of it changes. It looks at claimed
// first, the time that a reading says it is until a request is admitted: where that is right to some milliseconds, it is the answer.
func (w *World) Truth(t testing.TB, who string, at limiter.Instant, claimed time.Duration) (is Truth) {
	t.Helper()
	if w.copied == nil {
		w.copied = NewWorld(t, w.limiter, w.Now)
	}
	copied := w.copied
	copied.calls = 1 << 20
	after := func(d time.Duration) *World {
		copied.server.FlushAll()
		copied.Now = w.Now
		copied.server.SetTime(w.Now.Time())
		w.Copy(t, copied.Client)
		copied.Advance(max(at.Sub(w.Now), 0) + d)
		return copied
	}
	for c := after(0); is.Remaining <= w.limit.Count && c.Request(t, who); is.Remaining++ {
	}
	if is.Remaining > 0 {
		return is
	}
	if about := 20 * time.Millisecond; claimed > about && !after(claimed-about).Request(t, who) && after(claimed+about).Request(t, who) {
		is.Next = claimed
		return is
	}
	low, high := time.Duration(0), time.Duration(0)
	for step := w.limit.Window / 10; ; high += step {
		if high > 2*w.limit.Window+2*time.Minute {
			return Truth{Next: -1}
		}
		if after(high).Request(t, who) {
			break
		}
		low = high
	}
	for high-low > time.Millisecond {
		if mid := (low + high) / 2; after(mid).Request(t, who) {
			high = mid
		} else {
			low = mid
		}
	}
	is.Next = high
	return is
}

// Copy writes all keys to another Redis, with the time that they have left.
func (w *World) Copy(t testing.TB, to redis.UniversalClient) {
	t.Helper()
	ctx := t.Context()
	names := w.server.Keys()
	slices.Sort(names)
	_, err := to.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range names {
			switch typ := w.server.Type(name); typ {
			case "string":
				text, _ := w.server.Get(name)
				p.Set(ctx, name, text, 0)
			case "hash":
				fields, _ := w.server.HKeys(name)
				for _, f := range fields {
					p.HSet(ctx, name, f, w.server.HGet(name, f))
				}
			case "stream":
				all, _ := w.server.Stream(name)
				for _, e := range all {
					p.XAdd(ctx, &redis.XAddArgs{Stream: name, ID: e.ID, Values: e.Values})
				}
			case "list":
				all, _ := w.server.List(name)
				for _, e := range all {
					p.RPush(ctx, name, e)
				}
			case "hll":
				n, _ := w.server.PfCount(name)
				for i := range n { // so many others
					p.PFAdd(ctx, name, i)
				}
			case "set":
				all, _ := w.server.Members(name)
				for _, e := range all {
					p.SAdd(ctx, name, e)
				}
			case "zset":
				all, _ := w.server.SortedSet(name)
				for member, score := range all {
					p.ZAdd(ctx, name, redis.Z{Score: score, Member: member})
				}
			}
			if ttl := w.server.TTL(name); ttl > 0 {
				p.PExpireAt(ctx, name, w.Now.Add(ttl).Time())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
