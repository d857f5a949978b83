package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/replay"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/limiter/redisstore"
	"ratescope/model/lab"
	"ratescope/model/record"
)

// drill is a limiter on a real server before requests of which every decision is kept.
type drill struct {
	store *redisstore.Store
	key   string
	limit limiter.Limit
	mu    sync.Mutex
	truth []limiter.Decision
}

// drive sends requests until ctx ends, faster than the limit, with bursts, and with silences of more than a window.
// It closes busy after two windows.
func (d *drill) drive(ctx context.Context, seed uint64, busy chan<- struct{}) error {
	random := rand.New(rand.NewPCG(7, seed))
	for i := 1; ctx.Err() == nil; i++ {
		n, wait := 1, time.Duration(random.Int64N(int64(d.limit.Window/8)))
		if i%23 == 0 {
			n = int(d.limit.Count) + 4
		}
		if i%31 == 0 {
			wait = d.limit.Window * 11 / 10
		}
		if i == 30 {
			close(busy)
		}
		for range n {
			made, err := d.store.AllowN(context.Background(), d.key, d.limit, 1)
			if err != nil {
				return err
			}
			d.mu.Lock()
			d.truth = append(d.truth, made)
			d.mu.Unlock()
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
func (d *drill) recorded(t *testing.T, addr string, a limiter.Algorithm, file string) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	busy, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- d.drive(ctx, uint64(a), busy) }()
	select {
	case <-busy:
	case err := <-ended:
		return err
	}
	r := call(t, "record", file, "--for", "7s", "--redis", "redis://"+addr, "--watch", "ratelimit:{"+d.key+"}*",
		"--watch", "ratelimit:"+d.key+"*", "--algorithm", a.String(), "--limit", "10/2s")
	cancel()
	if err := <-ended; err != nil || r.code != 0 {
		return fmt.Errorf("%w, %v", err, r)
	}
	return nil
}

// TestIncidentsTellTheTruth records a limiter of each algorithm on a real server, with denials recorded and without,
// opens the recording in the lab, and holds the lab to the recording's own figures at each reading and to what was
// decided at each moment. All are recorded at the same time, as they wait for their windows, and beside no other test: where the
// machine is so busy that two readings are further apart than two admissions, no recording has them all.
func TestIncidentsTellTheTruth(t *testing.T) {
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
			d := &drill{store: store, key: fmt.Sprintf("%s-%v", a, denials), limit: limiter.Limit{Count: 10, Window: 2 * time.Second}}
			file, recorded := filepath.Join(t.TempDir(), "incident.jsonl.gz"), make(chan error, 1)
			go func() { recorded <- d.recorded(t, addr, a, file) }()
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
	var most int64 // of a fixed window: what was admitted between the last reading of a window and its end
	readings := 0
	for b, err := in.Next(); err == nil; b, err = in.Next() {
		for _, k := range b.Readings {
			run.AdvanceTo(k.At + shift)
			g, m, counts := k.Gauge(k.At), run.Ask(0, 0).Decision, run.Counts(0)
			if first == 0 {
				first, begun = k.At, counts
			}
			last = k.At
			admitted, denied := d.between(first, k.At)
			if !denials {
				denied = 0
			}
			got := []int64{m.Used, counts.Admitted - begun.Admitted, counts.Denied}
			want := []int64{g.Used.N, admitted, denied}
			if describe.KindOf(a) == describe.Weighted {
				got = append(got, m.Previous, m.Current, int64(m.Estimate), int64(1e6*m.Weight))
				want = append(want, g.Previous.N, g.Current.N, int64(g.Estimate), int64(1e6*g.Weight))
			}
			if describe.KindOf(a) == describe.Window {
				edge := k.At.Floor(d.limit.Window)
				if before > 0 && before < edge { // the counter is gone with its window
					unread, _ := d.between(before, edge-1)
					most += unread
				}
				if got[1] < want[1] && got[1] >= want[1]-most {
					got[1] = want[1]
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
		if n, _ := d.between(at.Add(-within), at.Add(within)); n > 0 && within > 0 {
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
	if alone := strings.Contains(text, "admitted requests alone"); alone == denials || !strings.Contains(text, "The limit was 10 in 2s.") {
		t.Errorf("it says %q", text)
	}
	if denials != (l.Goal.Kind == lab.GoalSmallest) {
		t.Errorf("it asks %q", l.Goal.Say)
	}
	list := make([]limiter.Instant, len(trace.Arrivals))
	for i, a := range trace.Arrivals {
		list[i] = a.At
	}
	admits := func(count int64) (n int64) {
		state := limiter.State{Algorithm: l.Algorithm}
		for _, at := range list {
			if state.Take(at, limiter.Limit{Count: count, Window: d.limit.Window}, limiter.Convention{}, 1).Allowed {
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
	if all := int64(len(list)); denials && (admits(l.Goal.Value) != all || admits(l.Goal.Value-1) == all) {
		t.Errorf("%d is not the smallest limit: it admits %d of %d, one less %d", l.Goal.Value, admits(l.Goal.Value), all, admits(l.Goal.Value-1))
	}
}
