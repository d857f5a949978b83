package watch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/feed/watch/discover"
	"ratescope/model"
)

// TestATrackerIsDueOnce: a tracker that is on screen and of which there is news is read once, since
// it holds the answers to one question alone.
func TestATrackerIsDueOnce(t *testing.T) {
	l := newLimiters(Options{}, nil)
	r := &reader{limiters: l}
	r.spending.share = 0.5
	for _, name := range []string{"a", "b", "c"} {
		k := &tracked{tracker: track.New(name, nil, false, nil)}
		l.trackers[name], l.visible = k, append(l.visible, k)
	}
	for _, kind := range []orderKind{orderQuick, orderWoken} {
		times := map[string]int{}
		for _, k := range r.dueBetween(order{kind: kind, names: []string{"b"}}) {
			times[k.tracker.Name]++
		}
		for _, name := range []string{"a", "b", "c"} {
			if want := 1; times[name] != want && !(kind == orderWoken && name != "b" && times[name] == 0) {
				t.Errorf("order %v reads %s %d times, want %d", kind, name, times[name], want)
			}
		}
	}
}

// TestShardsTearNoLimiter: every limiter is watched by one of several that share the slots, with all
// its keys, wherever those are.
func TestShardsTearNoLimiter(t *testing.T) {
	const parts = 4
	owners := map[string][]int{}
	for n := 1; n <= parts; n++ {
		slots, err := connect.ParseShard(fmt.Sprintf("%d/%d", n, parts))
		if err != nil {
			t.Fatal(err)
		}
		l := newLimiters(Options{Slots: slots}, nil)
		for i := range 200 {
			name := fmt.Sprintf("rl:user:%d", i)
			for window := range 3 { // counters without a common hash tag
				f := decode.Found{Key: fmt.Sprintf("%s:%d", name, 1700000000+60*window), Name: name}
				f.Evidence = model.Known
				l.adoptOne(f, 0)
			}
		}
		for name := range l.trackers {
			owners[name] = append(owners[name], n)
		}
		if len(l.trackers) < 20 || len(l.trackers) > 80 {
			t.Errorf("part %d of %d has %d of 200 limiters", n, parts, len(l.trackers))
		}
	}
	for name, of := range owners {
		if len(of) != 1 {
			t.Errorf("%s is watched by the parts %v", name, of)
		}
	}
	if len(owners) != 200 {
		t.Errorf("%d of 200 limiters are watched", len(owners))
	}
}

// TestLateLimitersAreOfTheGroup: a limiter that is found when many of its pattern are known has that pattern.
func TestLateLimitersAreOfTheGroup(t *testing.T) {
	l := newLimiters(Options{}, nil)
	for i := range 20 {
		f := decode.Found{Key: fmt.Sprintf("throttle:tenant-%04d", i), Type: "string"}
		f.Name, f.Evidence = f.Key, model.Known
		l.adoptOne(f, 0)
		l.generalize(l.trackers[f.Name], 0)
		if got := l.trackers[f.Name].tracker.Found.Pattern; i > 10 && got != "throttle:tenant-*" {
			t.Errorf("%s is of the group %s", f.Name, got)
		}
	}
}

// TestASignHasAllReadAgain: where a key shows a sign of others before the first pass is told, that is withheld and all limiters are
// read again, also those of which every write is announced. Those that could not be read rest on.
func TestASignHasAllReadAgain(t *testing.T) {
	l := newLimiters(Options{}, nil)
	l.scanner = discover.New(discover.Options{})
	r := &reader{limiters: l, shared: &shared{}, sweep: model.Sweep{Passes: 1}}
	now := time.Now()
	l.announced = now.Add(-2 * time.Second)
	for i := range fewTrackers + 2 {
		k := &tracked{tracker: track.New(fmt.Sprint("k:", i), nil, false, nil), own: true, read: now.Add(-time.Second), due: now.Add(time.Second)}
		k.tracker.Readings, k.resting = 1, i == 0
		l.trackers[k.tracker.Name] = k
	}
	if due := r.plan(now); len(due) != 0 {
		t.Errorf("%d of limiters that were not written are read", len(due))
	}
	r.inferred.Show(track.Sign{Pattern: "k:*", Left: true}, 1)
	told := func(at time.Time) bool {
		r.sweep.Passes, r.settled = 1, false
		r.holdPass(at)
		return r.sweep.Passes > 0
	}
	if told(now) {
		t.Error("the pass is told")
	}
	due := r.plan(now)
	if len(due) != fewTrackers+1 || slices.Contains(due, l.trackers["k:0"]) {
		t.Errorf("%d of %d are read again", len(due), fewTrackers+1)
	}
	for _, k := range due[1:] {
		k.due = now.Add(time.Second)
	}
	if told(now) || !told(now.Add(heldFor)) {
		t.Error("the last one is not waited for, or for ever")
	}
	if due[0].due = now.Add(time.Second); !told(now) {
		t.Error("the pass is not told although all were read again")
	}
}
