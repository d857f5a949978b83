package track

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// fixture is what one library wrote and answered, call by call; see
// feed/decode/testdata/record/README.md.
type fixture struct {
	file string // its name without an extension

	Library    string   `json:"library"`
	Source     string   `json:"source"`
	Scenario   string   `json:"scenario"`
	Algorithm  string   `json:"algorithm"`
	InRedis    []string `json:"in_redis"`
	Configured struct {
		Limit  *float64 `json:"limit"`
		Window *float64 `json:"window_ms"`
		Burst  *float64 `json:"burst"`
	} `json:"configured"`
	Steps []struct {
		At     float64  `json:"at_ms"`
		Call   string   `json:"call"`
		Cost   *float64 `json:"cost"`
		Answer struct {
			Allowed   *bool    `json:"allowed"`
			Remaining *float64 `json:"remaining"`
			Retry     *float64 `json:"retry_after_ms"`
		} `json:"answer"`
		Keys []servertest.Key `json:"keys"`
	} `json:"steps"`
	Peeks []struct {
		After      int      `json:"after_step"`
		At         float64  `json:"at_ms"`
		Next       *float64 `json:"next_ms"`
		Resolution float64  `json:"resolution_ms"`
	} `json:"peeks"`
}

// rule is what a person would have to say: what the keys do not hold.
func (f *fixture) rule(name string) *config.Rule {
	r := &config.Rule{Match: "*"}
	holds := func(what string) bool { return strings.Contains(strings.Join(f.InRedis, " "), what) }
	if f.Configured.Window != nil && !holds("window") {
		r.Window = time.Duration(*f.Configured.Window * 1e6)
		r.Limit.Window = r.Window
	}
	if f.Configured.Limit != nil && !holds("limit") {
		r.Limit.Count, r.LimitKnown = int64(*f.Configured.Limit), true
	}
	if f.Configured.Burst != nil && !holds("burst") {
		r.Limit.Burst = int64(*f.Configured.Burst)
	}
	for part, limit := range told[f.Library+"/"+f.Scenario] {
		if strings.Contains(name, part) {
			r.Limit, r.LimitKnown, r.Window = limit, true, limit.Window
		}
	}
	return r
}

// TestFixtures restores what the libraries wrote into a real Redis, step by step, and holds what
// is decoded of it to what the library itself answered: remaining, and when the next request was
// admitted.
func TestFixtures(t *testing.T) {
	s := servertest.Start(t)
	checked := 0
	shown := map[string]*shownLibrary{}
	eachFixture(t, "fixtures", func(f *fixture) {
		if slices.Contains(leftOut, f.Library) {
			return
		}
		t.Run(f.Library+"/"+f.file, func(t *testing.T) {
			if shown[f.Library] == nil {
				shown[f.Library] = &shownLibrary{}
			}
			checked += f.replay(t, s.Client(), shown[f.Library])
		})
	})
	showAll(t, shown)
	if checked < 20 {
		t.Errorf("only %d answers were compared", checked)
	}
	t.Logf("%d answers compared", checked)
}

// eachFixture calls do with every fixture of a folder.
func eachFixture(t *testing.T, folder string, do func(f *fixture)) {
	t.Helper()
	root := filepath.Join("..", "decode", "testdata", folder)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := fixture{file: strings.TrimSuffix(d.Name(), ".json")}
		if err := json.Unmarshal(content, &f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		do(&f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// restore replaces what the server holds by the keys, and returns their names and the server's
// clock, from which on their expiries run.
func restore(t *testing.T, ctx context.Context, client *redis.Client, all []servertest.Key) (names []string, at limiter.Instant) {
	t.Helper()
	var clock *redis.TimeCmd
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushDB(ctx)
		for _, k := range all {
			names = append(names, k.Restore(t, p))
		}
		clock = p.Time(ctx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, limiter.InstantOf(clock.Val())
}

// restored are the keys of a step of a fixture on a server, where they go on expiring.
type restored struct {
	keys []servertest.Key
	now  limiter.Instant // of the step, by the clock of the fixture
	at   limiter.Instant // when they were restored, by the clock of the server
}

// decoders is what the decoders allow for between a clock and an expiry.
const decoders = 4 * time.Millisecond

// restoredFor is how old restored keys may be when they are examined, and decoders when they are read: a reading is compared with
// the answer at the instant of its step, and a unit that came or went in between could not be told from a difference.
const restoredFor = 100 * time.Millisecond

// later is how much later the clock of the fixture is than that of the server.
func (r *restored) later() time.Duration { return r.now.Sub(r.at) }

// renew restores the keys, and returns their names.
func (r *restored) renew(t *testing.T, ctx context.Context, client *redis.Client) (names []string) {
	t.Helper()
	names, r.at = restore(t, ctx, client, r.keys)
	return names
}

// serverTime is the server's clock.
func serverTime(t *testing.T, ctx context.Context, client *redis.Client) limiter.Instant {
	t.Helper()
	at, err := client.Time(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}
	return limiter.InstantOf(at)
}

// undisturbed calls do with the fixture's clock until the call took no longer than the decoders
// allow for between a clock and an expiry: on a busy machine it may be stopped in between. Keys that
// have become too old are restored anew.
func undisturbed(t *testing.T, ctx context.Context, client *redis.Client, r *restored, do func(at limiter.Instant)) {
	t.Helper()
	for range 200 {
		at := serverTime(t, ctx, client)
		if at.Sub(r.at) > restoredFor {
			r.renew(t, ctx, client)
			continue
		}
		do(at.Add(r.later()))
		if serverTime(t, ctx, client).Sub(at) < decoders {
			return
		}
	}
}

// apart is how far a clock and an expiry may be apart in an undisturbed reading, twice.
const apart = 8 * time.Millisecond

// replay returns how many answers were compared.
func (f *fixture) replay(t *testing.T, client *redis.Client, shown *shownLibrary) (checked int) {
	defer client.Close()
	var before *model.Reading
	begun := 0 // with this step the window did
	ctx := context.Background()
	reason, excused := excuse(f.Library + "/" + f.Scenario)
	if excused {
		t.Log("not compared: " + reason)
		return 0
	}
	trackers := map[string]*Tracker{} // by name, as a watcher that never stops has them
	for i, step := range f.Steps {
		now := limiter.Instant(math.Round(step.At * 1000))
		restored := &restored{keys: step.Keys, now: now}
		own, keys := byName(restored.renew(t, ctx, client))
		var finds []decode.Found
		undisturbed(t, ctx, client, restored, func(at limiter.Instant) {
			more, _, err := decode.Classify(ctx, client, library.Recognizer(), keys, nil, decode.Clock{Now: func() limiter.Instant { return at }})
			if err != nil {
				t.Fatal(err)
			}
			finds = slices.Concat(own, more)
		})
		if f.Library != model.OwnLibrary && !f.recognized(finds) { // a prefix of the user's own: a rule has to name the library
			undisturbed(t, ctx, client, restored, func(at limiter.Instant) {
				finds = named(t, ctx, client, f.names()[0], step.Keys, at)
			})
		}
		for _, found := range finds {
			if f.Library == model.OwnLibrary {
				f.meetOwn(t, trackers, found)
				continue
			}
			if found.Evidence == model.Known && !slices.Contains(f.names(), found.Library) {
				t.Errorf("step %d (%s): %q is taken for a key of %s", i, step.Call, found.Key, found.Library)
			}
			if found.Evidence == model.Known && slices.Contains(f.names(), found.Library) && trackers[found.Name] == nil {
				l := New(found.Name, f.rule(found.Name), false, nil)
				l.Attach(found)
				trackers[found.Name] = l
			}
		}
		was := before
		before = nil
		if len(trackers) == 0 {
			if len(step.Keys) > 0 && step.Answer.Allowed != nil {
				t.Errorf("step %d (%s): no limiter was recognized among %q", i, step.Call, keys)
			}
			continue
		}
		var tightest *model.Reading
		for _, l := range trackers {
			r := take(t, ctx, client, l, restored)
			if tightest == nil || pressing(&r, now) > pressing(tightest, now) {
				tightest = &r
			}
		}
		g := tightest.Gauge(now)
		before = tightest
		if reason, excused := excuse(fmt.Sprintf("%s/%s#%d", f.Library, f.Scenario, i)); excused {
			t.Logf("step %d not compared: %s", i, reason)
			continue
		}
		shown.add(t, f, i, was, tightest)
		if was == nil || !was.Gauge(was.At).Used.Known || g.Used.N < was.Gauge(was.At).Used.N {
			begun = i
		}
		if want, ok := f.turnedAway(begun, i); ok && tightest.Denied.Known && len(trackers) == 1 && tightest.Denied.N != want {
			t.Errorf("step %d (%s): %d denied, and the library denied %d in this window", i, step.Call, tightest.Denied.N, want)
		}
		if want := step.Answer.Remaining; want != nil && step.Answer.Allowed != nil && (step.Cost == nil || *step.Cost != 0) {
			checked++
			left := max(math.Floor(*want), 0)
			if slices.Contains(answersBefore, f.Library) {
				left = max(left-1, 0)
			}
			few := !*step.Answer.Allowed && left == 0 && step.Cost != nil && float64(g.Remaining.N) < *step.Cost // too few for this one
			// Of a unit that comes or goes within what a clock and an expiry may differ by, either is right.
			agrees := slices.ContainsFunc([]time.Duration{0, -apart, apart}, func(d time.Duration) bool {
				g := tightest.Gauge(now.Add(d))
				return g.Remaining.Known && math.Abs(float64(g.Remaining.N)-left) <= rounding[f.Library]
			})
			if !agrees && (!few || !g.Remaining.Known) {
				t.Errorf("step %d (%s): remaining %v, the library says %v (%s)", i, step.Call, g.Remaining, *want, summary(tightest, &g))
			}
		}
		for _, p := range f.Peeks {
			if p.After != i || p.Next == nil {
				continue
			}
			checked++
			at := limiter.Instant(math.Round(p.At * 1000))
			pg := tightest.Gauge(at)
			got := float64(pg.Next) / 1e6
			slack := max(50, p.Resolution+25, late[f.Library+"/"+f.Scenario], clocks[f.Library])
			if !pg.NextKnown || math.Abs(got-*p.Next) > slack {
				t.Errorf("step %d (%s): next in %.1f ms (known %v), the library admitted after %.1f (%s)", i, step.Call, got, pg.NextKnown, *p.Next, summary(tightest, &pg))
			}
		}
	}
	return checked
}

// rounding is by how much a library's own answers are off what it admits.
var rounding = map[string]float64{
	"redis-rate": 1, // a double cut off: after the first of 5 it answers 3, and admits 4
}

// clocks are the resolutions, in milliseconds, of the clocks by which libraries decide.
var clocks = map[string]float64{
	"fiber-limiter": 1000, // a time that is read once a second
}

func (f *fixture) recognized(finds []decode.Found) bool {
	return slices.ContainsFunc(finds, func(d decode.Found) bool {
		return d.Evidence == model.Known && slices.Contains(f.names(), d.Library)
	})
}

// names returns the names under which the fixture's keys may be recognized.
func (f *fixture) names() []string {
	if same := sameKeys[f.Library]; same != "" {
		return []string{same, f.Library}
	}
	return []string{f.Library}
}

// named looks at keys as one does whose rule names their library.
func named(t *testing.T, ctx context.Context, client *redis.Client, name string, keys []servertest.Key, now limiter.Instant) (finds []decode.Found) {
	t.Helper()
	for _, k := range keys {
		p := client.Pipeline()
		probe := decode.AskProbe(ctx, p, library.Recognizer(), servertest.Text(t, k.Key), k.Type, name)
		if _, err := p.Exec(ctx); err != nil && err != redis.Nil {
			t.Fatal(err)
		}
		if probe.Read(now) {
			probe.AskSiblings(ctx, p)
			if _, err := p.Exec(ctx); err != nil && err != redis.Nil {
				t.Fatal(err)
			}
		}
		finds = append(finds, probe.Found(now))
	}
	return finds
}

func summary(r *model.Reading, g *model.Gauge) string {
	return fmt.Sprintf("%s: %v, limit %d/%v (%v), used %v, TTL %v, %s", strconv.Quote(r.Key), r.Target.Algorithm, r.Target.Limit.Count, r.Target.Window, r.Target.LimitFrom, g.Used, r.TTL, r.Err)
}

// pressing orders the limits of one subject: the one that admits last is on top, then the one that
// has the least left.
func pressing(r *model.Reading, now limiter.Instant) float64 {
	g := r.Gauge(now)
	return float64(g.Next) - float64(g.Remaining.N)
}

// take reads a tracker of restored keys by the clock of their fixture, anew where the keys have become
// too old meanwhile.
func take(t *testing.T, ctx context.Context, client *redis.Client, l *Tracker, r *restored) model.Reading {
	t.Helper()
	const mostGone = 3
	tries := 0
	for range 200 {
		now := serverTime(t, ctx, client).Add(r.later())
		p := client.Pipeline()
		clock := p.Time(ctx)
		l.Ask(&Query{Ctx: ctx, Pipe: p, Now: now, Whole: true, OnScreen: true, Entries: 1000})
		end := p.Time(ctx)
		if _, err := p.Exec(ctx); err != nil && err != redis.Nil && !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			t.Fatal(err)
		}
		if limiter.InstantOf(end.Val()).Sub(r.at) > decoders || end.Val().Sub(clock.Val()) >= decoders {
			r.renew(t, ctx, client)
			continue
		}
		reading, outcome, err := l.Take(limiter.InstantOf(clock.Val()).Add(r.later()), 0)
		if err != nil {
			t.Fatal(err)
		}
		if outcome == Ready && (reading.Type != "none" || len(r.keys) == 0 || tries == mostGone) {
			return reading
		}
		if outcome == Ready { // a machine that stood still may have let it expire
			tries++
			r.renew(t, ctx, client)
		}
	}
	t.Fatal("the tracker asks for ever")
	return model.Reading{}
}

// excuse returns why a scenario, or the step of one, is not compared; ok is false where it is.
func excuse(name string) (reason string, ok bool) {
	if reason, ok = exceptions[name]; !ok {
		reason, ok = exceptionsNode[name]
	}
	return reason, ok
}

// exceptions are scenarios, or single steps of one, whose answers the keys cannot tell, with the
// reason.
var exceptions = map[string]string{
	"tokenbucket/basic":          "whether tokens drip or come at the end of an interval is not in the keys, so that no figure is shown",
	"django-ratelimit/basic":     "the name is a digest and windows begin at an instant of each client's own: which window a counter is of, and when that ends, is not in the keys, so that no figure is shown",
	"pyrate-limiter/two-rates#3": "the tighter of two rates denies, neither is in the keys, and a rule tells one",
	"discourse/global#7":         "what the library answers counts an entry exactly a window old, which its own admission does not: it admits 4 more",

	"throttled/goredisstore-no-prefix#12": "of a request beyond the burst the library answers with what an empty limiter would have left",

	"mennanov-limiters/fixed#6":           "until its second half a fixed window is kept as a sliding one of half its length",
	"mennanov-limiters/sliding-whole#6":   "until the next window a sliding window is kept as a fixed one of twice its length",
	"russellluo-slidingwindow/sync-200ms": "a process sends what it counted every 200 ms: the row is noted to lag",
	"httprate-redis/whole":                "a name hashes subject and window: the counters of a subject cannot be told from others",
	"httprate-redis/sliding":              "a name hashes subject and window: the counters of a subject cannot be told from others",
	"httprate-redis/prefix":               "a name hashes subject and window: the counters of a subject cannot be told from others",
	"envoy-ratelimit/minute#0":            "a counter of a minute is one of its first second, too, until a request comes after it",
}
