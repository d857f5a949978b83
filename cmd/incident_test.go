package cmd_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/replay"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/limiter/redisstore"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/lab"
	"ratescope/model/record"
)

// recordedFrom and recordedTo are the numbers of the requests of a drill between which it is recorded.
const recordedFrom, recordedTo = 20, 64

// drill is a limiter on a real server before requests of which every decision is kept.
type drill struct {
	store *redisstore.Store
	key   string
	limit limiter.Limit
	read  chan limiter.Instant // up to when the key is recorded, of the latest batch; nil before it is
	truth []limiter.Decision
}

// drive sends the requests from one number to another, faster than the limit and with a silence of more than a window,
// and before they are recorded a burst. Then the next one waits until the one before was read.
func (d *drill) drive(ctx context.Context, random *rand.Rand, from, to int) error {
	for i := from; i < to; i++ {
		n, wait := 1, time.Duration(random.Int64N(int64(d.limit.Window/8)))
		if i == recordedFrom-1 {
			n = int(d.limit.Count) + 4
		}
		if i%31 == 0 {
			wait = d.limit.Window * 11 / 10
		}
		for range n {
			made, err := d.store.AllowN(ctx, d.key, d.limit, 1)
			if err != nil {
				return err
			}
			d.truth = append(d.truth, made)
		}
		for latest := d.truth[len(d.truth)-1].At; d.read != nil && latest > 0; {
			select {
			case at := <-d.read:
				latest = collect.If(at > latest, 0, latest)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		time.Sleep(wait)
	}
	return nil
}

// between returns how many requests were admitted and denied after one instant, up to another.
func (d *drill) between(from, to limiter.Instant) (admitted, denied int64) {
	for _, made := range d.truth {
		switch {
		case made.At <= from || made.At > to:
		case made.Allowed:
			admitted++
		default:
			denied++
		}
	}
	return admitted, denied
}

// usedAt returns what the limiter had used at an instant, by its own arithmetic.
func (d *drill) usedAt(a limiter.Algorithm, at limiter.Instant) int64 {
	state := limiter.State{Algorithm: a}
	for _, made := range d.truth {
		if made.Allowed && made.At <= at {
			state.Take(made.At, d.limit, limiter.Convention{}, 1)
		}
	}
	return state.Peek(at, d.limit, limiter.Convention{}, 0).Used
}

// recorded drives the limiter and records it into a file.
func (d *drill) recorded(ctx context.Context, addr string, a limiter.Algorithm, file string) error {
	random := rand.New(rand.NewPCG(7, uint64(a)))
	if err := d.drive(ctx, random, 1, recordedFrom); err != nil {
		return err
	}
	names := []string{"ratelimit:{" + d.key + "}*", "ratelimit:" + d.key + "*"}
	const rules = "rules:\n- {match: %q, algorithm: %s, limit: 4/2s}\n- {match: %q, algorithm: %[2]s, limit: 4/2s}\n"
	c, err := config.Parse(fmt.Appendf(nil, rules, names[0], a, names[1]))
	if err != nil {
		return err
	}
	src, err := feed.NewRedis(feed.Options{URLs: []string{"redis://" + addr}, Watch: names, Rules: c.Rules})
	if err != nil {
		return err
	}
	defer src.Close()
	var text bytes.Buffer
	out, err := record.NewWriter(&text, true, record.Header{})
	if err != nil {
		return err
	}
	d.read = make(chan limiter.Instant, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ran := make(chan error, 1)
	go func() {
		ran <- src.Run(ctx, func(b model.Batch) {
			if b.At == 0 {
				return
			}
			_ = out.Write(b)                 // Close tells the error
			at := b.At.Add(-time.Second / 2) // without a reading up to then, the key is gone: a bucket's may be once it is full
			for _, r := range b.Readings {
				at = r.At
			}
			select {
			case <-d.read:
			default:
			}
			d.read <- at
		})
	}()
	err = cmp.Or(d.drive(ctx, random, recordedFrom, recordedTo), context.Cause(ctx))
	stop()
	return cmp.Or(err, <-ran, out.Close(), os.WriteFile(file, text.Bytes(), 0o600))
}

// TestIncidentsTellTheTruth records a limiter of each algorithm on a real server, with denials recorded and without,
// opens the recording in the lab, and holds the lab to the recording's own figures at each reading and to what was
// decided at each moment. All are recorded at the same time, as they wait for their windows. Where two readings are so far apart that
// a request between them leaves no trace, as on a busy machine, the lab may have one fewer.
func TestIncidentsTellTheTruth(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 2*servertest.Patience)
	defer stop()
	addr := servertest.Start(t).Addr()
	var open []func()
	for _, a := range limiter.Algorithms() {
		for _, denials := range []bool{false, true} {
			client := redis.NewClient(&redis.Options{Addr: addr})
			defer client.Close()
			var options []redisstore.Option
			if denials {
				options = append(options, redisstore.WithDenials())
			}
			store, err := redisstore.New(client, a, options...)
			if err != nil {
				t.Fatal(err)
			}
			d := &drill{store: store, key: fmt.Sprintf("%s-%v", a, denials), limit: limiter.Limit{Count: 4, Window: 2 * time.Second}}
			file, recorded := filepath.Join(t.TempDir(), "incident.jsonl.gz"), make(chan error, 1)
			go func() { recorded <- d.recorded(ctx, addr, a, file) }()
			open = append(open, func() {
				t.Run(fmt.Sprintf("%s/denials=%v", a, denials), func(t *testing.T) {
					if err := <-recorded; err != nil {
						t.Fatal(err)
					}
					d.opened(t, a, denials, file)
				})
			})
		}
	}
	for _, f := range open {
		f()
	}
}

// opened holds what the lab shows of a recording to the truth.
func (d *drill) opened(t *testing.T, a limiter.Algorithm, denials bool, file string) {
	lessons, _, err := lab.Open(file, replay.Read)
	if err != nil {
		t.Fatal(err)
	}
	content, err := replay.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := lab.ReadTrace(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	l := lessons[0]
	play := func(count int64) *lab.Run {
		s := l.Setup()
		s.Limit.Count = count
		w, err := l.Workload(s, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		return lab.NewRun(s, w)
	}
	run := play(d.limit.Count)
	shift := run.Setup().Zero - trace.Arrivals[0].At.Floor(d.limit.Window)
	in, err := record.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var first, last limiter.Instant
	var begun lab.Counts
	var before limiter.Instant
	var most [3]int64              // used, admitted and denied: so many can have left no trace between readings
	var blind [][2]limiter.Instant // readings between which some were admitted without a trace
	readings := 0
	for b, err := in.Next(); err == nil; b, err = in.Next() {
		for _, k := range b.Readings {
			run.AdvanceTo(k.At + shift)
			g, m, counts := k.Gauge(k.At), run.Ask(0, 0).Decision, run.Counts(0)
			if first == 0 && denials && !k.Denied.Known { // what is denied stands in a key of its own, which is found later
				continue
			}
			if first == 0 {
				first, begun = k.At, counts
			}
			last = k.At
			admitted, denied := d.between(first, k.At)
			if !denials {
				denied = 0
			}
			got := []int64{m.Used, counts.Admitted - begun.Admitted, counts.Denied - begun.Denied}
			want := []int64{g.Used.N, admitted, denied}
			if describe.KindOf(a) == describe.Weighted {
				got = append(got, m.Previous, m.Current, int64(m.Estimate), int64(1e6*m.Weight))
				want = append(want, g.Previous.N, g.Current.N, int64(g.Estimate), int64(1e6*g.Weight))
			}
			gone := k.At.Add(-d.limit.Window) // up to when an admission since the reading before can have left no trace
			switch describe.KindOf(a) {
			case describe.Window: // the counter is gone with its window
				gone = k.At.Floor(d.limit.Window) - 1
			case describe.Weighted:
				gone = gone.Floor(d.limit.Window) - 1
			case describe.Arrival, describe.Bucket: // as if it had not been, once the limit has let another one through
				gone = k.At.Add(-d.limit.Window / time.Duration(d.limit.Count))
			}
			if unread, _ := d.between(before, gone); before > 0 && unread > 0 {
				most[1] += unread
				blind = append(blind, [2]limiter.Instant{before, k.At})
			}
			if _, unread := d.between(before, k.At); before > 0 && k.At.Sub(before) > d.limit.Window/4 {
				most[2] += unread // what was denied is kept for a while alone
			}
			for i := range most {
				if got[i] < want[i] && got[i] >= want[i]-most[i] {
					got[i] = want[i]
				}
			}
			before = k.At
			if readings++; !slices.Equal(got, want) {
				t.Errorf("%v after the first reading the lab shows %v, want %v: used, admitted, denied, previous, current, estimate, weight",
					k.At.Sub(first), got, want)
			}
		}
	}
	if c := run.Counts(0); trace.Keys[0].Within > 0 && c.WronglyAdmitted+c.WronglyDenied > 0 {
		t.Errorf("%d and %d verdicts are called wrong though instants are known to %v", c.WronglyAdmitted, c.WronglyDenied, trace.Keys[0].Within)
	}
	t.Logf("%d readings, instants known to %v, denied %v", readings, trace.Keys[0].Within, trace.Keys[0].Denied)
	moments := 0
	run = play(d.limit.Count)
	for at := first; at < last; at = at.Add(d.limit.Window / 20) {
		run.AdvanceTo(at + shift)
		within := trace.Keys[0].Within
		if n, _ := d.between(at.Add(-within), at.Add(within)); n > 0 && within > 0 ||
			slices.ContainsFunc(blind, func(b [2]limiter.Instant) bool { return b[0] < at && at < b[1] }) {
			continue
		}
		moments++
		if got, want := run.Ask(0, 0).Decision.Used, d.usedAt(a, at); got != want {
			t.Errorf("%v after the first reading the lab shows %d used, want %d", at.Sub(first), got, want)
		}
	}
	t.Logf("%d moments", moments)
	d.taught(t, l, denials, trace, play)
}

// taught holds the words and the question of the lesson to what was recorded.
func (d *drill) taught(t *testing.T, l lab.Lesson, denials bool, trace lab.Trace, play func(count int64) *lab.Run) {
	run := play(l.Limit.Count)
	text := strings.Join(l.Paragraphs(run), "\n")
	if alone := strings.Contains(text, "admitted requests alone"); alone == denials || !strings.Contains(text, "The limit was 4 in 2s.") {
		t.Errorf("it says %q", text)
	}
	if denials != (l.Goal.Kind == lab.GoalSmallest) {
		t.Errorf("it asks %q", l.Goal.Say)
	}
	admits := func(count int64) (n int64) {
		state := limiter.State{Algorithm: l.Algorithm}
		for _, a := range trace.Arrivals {
			if state.Take(a.At, limiter.Limit{Count: count, Window: d.limit.Window}, limiter.Convention{}, a.Cost).Allowed {
				n++
			}
		}
		return n
	}
	for _, count := range []int64{l.Goal.Value - 1, l.Goal.Value, l.Goal.Value + 1, d.limit.Count, l.Limit.Count} {
		run = play(count)
		if p := l.Goal.Progress(run); p.Reached {
			t.Errorf("with a limit of %d it is solved before it begins: %+v", count, p)
		}
		run.AdvanceTo(run.Setup().Zero.Add(l.Length()))
		p, admitted := l.Goal.Progress(run), run.Counts(0).Admitted
		if p.Reached != (count == l.Goal.Value) || admitted != admits(count) {
			t.Errorf("with a limit of %d: %d admitted, want %d, %+v", count, admitted, admits(count), p)
		}
	}
	if all := int64(len(trace.Arrivals)); denials && (admits(l.Goal.Value) != all || admits(l.Goal.Value-1) == all) {
		t.Errorf("%d is not the smallest limit: it admits %d of %d, one less %d", l.Goal.Value, admits(l.Goal.Value), all, admits(l.Goal.Value-1))
	}
}
