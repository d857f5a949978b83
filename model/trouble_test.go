package model_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestManyThrottledAtOnceAreOneEvent throttles 500 keys in a batch and some more after it.
func TestManyThrottledAtOnceAreOneEvent(t *testing.T) {
	var b model.Board
	var all []model.Reading
	for i := range 500 {
		all = append(all, logReading(fmt.Sprint("key", i), today, 0, 10, 10))
	}
	b.Apply(live(today, all...))
	b.Apply(live(today.Add(time.Second), logReading("late", today.Add(time.Second), 0, 10, 10)))
	want := []model.Alert{{At: today, What: model.BecameThrottled, N: 501}, {At: today.Add(time.Second), Key: "late", What: model.Appeared}}
	if got := b.Alerts(); !slices.Equal(got, want) {
		t.Errorf("%d alerts, the first %+v, want %+v", len(got), got[0], want)
	}
}

// TestRestartThatForgets has a server come back with another run id and two of its three
// limits: one that had expired anyway is not counted.
func TestRestartThatForgets(t *testing.T) {
	var b model.Board
	old := logReading("old", today, 0, 5, 10)
	old.TTL = time.Second
	first := live(today, logReading("a", today, 0, 5, 10), logReading("b", today, 0, 5, 10), logReading("c", today, 0, 5, 10), old)
	first.Server.RunID = "one"
	b.Apply(first)
	at := today.Add(3 * time.Second)
	kept := logReading("a", at, 0, 5, 10)
	gone := model.Reading{Key: "b", Type: "none", At: at, Target: kept.Target, State: limiter.State{Algorithm: limiter.SlidingLog}}
	next := live(at, kept, gone)
	next.Server.RunID = "two"
	b.Apply(next)
	if n := len(b.Alerts()); n != 0 {
		t.Fatalf("%d alerts before all limits were read: %+v", n, b.Alerts())
	}
	last := live(at.Add(time.Second))
	last.Server.RunID, last.Gone = "two", []string{"c"}
	b.Apply(last)
	want := model.Alert{At: at, What: model.Restarted, N: 2, Of: 3}
	if got := b.Alerts(); !slices.Contains(got, want) {
		t.Errorf("recorded is %+v, want %+v", got, want)
	}
	b.Apply(last)
	if n := len(slices.DeleteFunc(slices.Clone(b.Alerts()), func(a model.Alert) bool { return a.What != model.Restarted })); n != 1 {
		t.Errorf("the restart is told %d times", n)
	}
}

// TestFlushIsOneEventThatGrows: limits that leave before they expire are one event, which is corrected while more of them are missed.
func TestFlushIsOneEventThatGrows(t *testing.T) {
	var b model.Board
	var names []string
	first := live(today)
	for i := range 40 {
		names = append(names, fmt.Sprint("rl:", i))
		r := logReading(names[i], today, 0, 5, 10)
		r.Target.Window, r.Target.Limit.Window = time.Hour, time.Hour
		first.Readings = append(first.Readings, r)
	}
	b.Apply(first)
	for i, want := range []int64{0, 20, 30, 40} { // the last of them more than ten seconds after the first
		next := live(today.Add(time.Duration(i+1) * 6 * time.Second))
		next.Gone = names[10*i : 10*i+10]
		b.Apply(next)
		var got []int64
		for _, a := range b.Alerts() {
			if a.What == model.Emptied {
				got = append(got, a.N)
			}
		}
		if want == 0 && got != nil || want > 0 && !slices.Equal(got, []int64{want}) {
			t.Errorf("after %d of 40 left the events count %d, want %d", 10*i+10, got, want)
		}
	}
}

// TestRestartIsReportedOfWhatWasRead: while the server that came back does not answer, nothing is said of its
// limits, and then it is said of those that were read.
func TestRestartIsReportedOfWhatWasRead(t *testing.T) {
	var b model.Board
	at := today
	look := func(runID string, readings ...model.Reading) {
		batch := live(at, readings...)
		batch.Server.RunID = runID
		b.Apply(batch)
		at = at.Add(6 * time.Second)
	}
	look("one", logReading("a", at, 0, 5, 10), logReading("b", at, 0, 5, 10), logReading("c", at, 0, 5, 10))
	restarted := at
	for range 5 { // of which the third is more than ten seconds after the restart
		look("two")
	}
	told := func() []model.Alert {
		return slices.DeleteFunc(slices.Clone(b.Alerts()), func(a model.Alert) bool { return a.What != model.Restarted })
	}
	if got := told(); len(got) != 0 {
		t.Fatalf("before a limit was read: %+v", got)
	}
	gone := func(key string) model.Reading {
		return model.Reading{Key: key, Type: "none", At: at, Target: logReading(key, at, 0, 5, 10).Target, State: limiter.State{Algorithm: limiter.SlidingLog}}
	}
	look("two", gone("a"), gone("b"))
	if got, want := told(), []model.Alert{{At: restarted, What: model.Restarted, N: 2, Of: 2}}; !slices.Equal(got, want) {
		t.Errorf("recorded is %+v, want %+v", got, want)
	}
}

// TestServerTroubleIsOneEventAnEpisode: errors of a kind, and evictions, add up in one event
// until there were none for a while.
func TestServerTroubleIsOneEventAnEpisode(t *testing.T) {
	var b model.Board
	look := func(after time.Duration, oom, nosuch, evicted float64) {
		batch := live(today.Add(after))
		batch.Health = &model.Health{
			At: batch.At, Over: 2 * time.Second, Evicted: model.Measure{Known: true, V: evicted},
			Errors: []model.ErrorStat{{Name: "OOM", Rate: oom}, {Name: "NOSCRIPT", Rate: nosuch}},
		}
		b.Apply(batch)
	}
	look(0, 0, 9, 0)
	look(2*time.Second, 10, 0, 50)
	look(4*time.Second, 5, 0, 0)
	look(90*time.Second, 1, 0, 0)
	want := []model.Alert{
		{At: today.Add(2 * time.Second), What: model.Erring, Text: "OOM", N: 30, For: 2 * time.Second},
		{At: today.Add(2 * time.Second), What: model.Evicting, N: 100},
		{At: today.Add(90 * time.Second), What: model.Erring, Text: "OOM", N: 2},
	}
	if got := b.Alerts(); !slices.Equal(got, want) {
		t.Errorf("recorded is\n%+v, want\n%+v", got, want)
	}
}

func TestNodesThatComeAndGo(t *testing.T) {
	var b model.Board
	step := func(after time.Duration, away ...model.Node) {
		batch := live(today.Add(after))
		batch.Server.Away = away
		b.Apply(batch)
	}
	dead := model.Node{Addr: "10.0.0.3:6379", Keys: 7, Err: "10.0.0.3:6379 does not answer; 7 keys are stale"}
	step(0)
	step(time.Second, dead)
	step(2*time.Second, dead)
	step(3 * time.Second)
	want := []model.Alert{
		{At: today.Add(time.Second), What: model.NodeLost, N: 7, Text: dead.Err}, {At: today.Add(3 * time.Second), What: model.NodeBack, Text: dead.Addr},
	}
	if got := b.Alerts(); !slices.Equal(got, want) {
		t.Errorf("recorded is\n%+v, want\n%+v", got, want)
	}
}
