package model_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// diary is a board that is fed one reading of one key at a time.
type diary struct {
	model.Board
	at limiter.Instant
}

func (d *diary) read(after time.Duration, used int64, denied int64) {
	d.at = d.at.Add(after)
	r := logReading("k", d.at, d.at.Add(-after), used, 10)
	r.Arrivals = nil
	if denied > 0 {
		r.Arrivals = []model.Arrival{{At: d.at, N: denied, Denied: true}}
	}
	d.Apply(live(d.at, r))
}

// kinds lists what was recorded since the first n alerts.
func (d *diary) kinds(n int) []model.AlertKind {
	var out []model.AlertKind
	for _, a := range d.Alerts()[n:] {
		out = append(out, a.What)
	}
	return out
}

func TestAnEpisodeOfThrottlingIsOne(t *testing.T) {
	d := diary{at: today}
	d.read(0, 1, 0)
	began := d.at.Add(time.Second)
	for i := range 50 { // at its limit a key frees a slot and loses it all the time
		d.read(time.Second, 10-int64(i%2), 2)
	}
	last := d.at.Add(-time.Second) // the last reading with nothing free
	for range 10 {
		d.read(time.Second, 3, 0)
	}
	got := d.Alerts()
	if want := []model.AlertKind{model.BecameThrottled, model.NoLongerThrottled}; !slices.Equal(d.kinds(0), want) {
		t.Fatalf("recorded is %+v", got)
	}
	if got[0].At != began || got[0].Key != "k" {
		t.Errorf("it began %v late: %+v", got[0].At.Sub(began), got[0])
	}
	if got[1].For != last.Sub(began) || got[1].N != 100 {
		t.Errorf("it lasted %v and denied %d, want %v and 100", got[1].For, got[1].N, last.Sub(began))
	}
	d.read(time.Second, 10, 1)
	if !slices.Equal(d.kinds(2), []model.AlertKind{model.BecameThrottled}) {
		t.Errorf("the next episode is %+v", d.Alerts()[2:])
	}
}

func TestPressureRisesStepByStep(t *testing.T) {
	d := diary{at: today}
	for _, used := range []int64{1, 8, 9, 10, 10} {
		d.read(time.Second, used, 0)
	}
	d.at = d.at.Add(time.Second)
	odd := logReading("k", d.at, 0, 0, 10)
	odd.Err = "is of another type"
	d.Apply(live(d.at, odd))
	if want := []model.AlertKind{model.BecameClose, model.BecameThrottled, model.BecameUnreadable}; !slices.Equal(d.kinds(0), want) {
		t.Errorf("recorded is %+v", d.Alerts())
	}
	if last := d.Alerts()[2]; last.Text != odd.Err {
		t.Errorf("why it cannot be read is %q", last.Text)
	}
}

func TestAnEpisodeEndsAlthoughTheClockWasSetBack(t *testing.T) {
	d := diary{at: today}
	d.read(0, 10, 1)
	d.read(-time.Hour, 1, 0)
	for range 10 {
		d.read(time.Second, 1, 0)
	}
	if want := []model.AlertKind{model.BecameThrottled, model.NoLongerThrottled}; !slices.Equal(d.kinds(0), want) {
		t.Fatalf("recorded is %+v", d.Alerts())
	}
	if lasted := d.Alerts()[1].For; lasted < 0 || lasted > time.Minute {
		t.Errorf("it lasted %v", lasted)
	}
}

func TestComingAndGoing(t *testing.T) {
	var b model.Board
	first := live(today, logReading("old", today, 0, 1, 10))
	first.Sweep.Passes = 0
	b.Apply(first) // found by the first pass: no news
	b.Apply(live(today + 1))
	b.Apply(live(today+2, logReading("new", today+2, 0, 1, 10)))
	gone := live(today + 3)
	gone.Gone = []string{"old", "never seen"}
	b.Apply(gone)
	b.Apply(gone)
	lost := down(today + 3)
	b.Apply(lost)
	lost.Server.Down = 4 * time.Second
	b.Apply(lost)
	b.Apply(live(today + 5))
	want := []model.Alert{
		{At: today + 2, Key: "new", What: model.Appeared}, {At: today + 3, Key: "old", What: model.Left},
		{At: today + 3, What: model.LinkLost, Text: lost.Server.Err}, {At: today + 5, What: model.LinkBack, For: 4 * time.Second},
	}
	if got := b.Alerts(); !slices.Equal(got, want) {
		t.Errorf("recorded is\n%+v, want\n%+v", got, want)
	}
}

func TestTheRecordIsBounded(t *testing.T) {
	var b model.Board
	for i := range 3000 {
		at := today.Add(time.Duration(i) * 10 * time.Second) // each by itself, and not in one wave
		b.Apply(live(at, logReading(fmt.Sprint("key", i), at, 0, 10, 10)))
	}
	got := b.Alerts()
	if n := len(got); n == 0 || n > 1000 {
		t.Errorf("%d alerts are kept", n)
	}
	if last := got[len(got)-1]; last.Key != "key2999" || last.What != model.BecameThrottled {
		t.Errorf("the newest is %+v", last)
	}
}

func TestKeysThatComeTogetherAreOneAlert(t *testing.T) {
	var b model.Board
	b.Apply(live(today))
	b.Apply(down(today + 1))
	b.Apply(live(today.Add(2 * time.Second)))
	for batch := range 10 { // a sweep that finds 1243 keys, in pieces
		at := today.Add(time.Duration(3+batch) * time.Second / 2)
		var found []model.Reading
		for i := range 125 - 7*min(batch, 1)*max(batch-8, 0) {
			found = append(found, logReading(fmt.Sprintf("key%d:%d", batch, i), at, 0, 1, 10))
		}
		b.Apply(live(at, found...))
	}
	got := b.Alerts()
	if len(got) != 3 || got[0].What != model.LinkLost || got[1].What != model.LinkBack {
		t.Fatalf("recorded is %+v", got)
	}
	if sum := got[2]; sum.What != model.Appeared || sum.Key != "" || sum.N != 1243 {
		t.Errorf("the keys that appeared are %+v", sum)
	}
	all := make([]string, 0, 1250)
	for _, k := range b.Select(model.View{}) {
		all = append(all, k.Reading.Key)
	}
	gone := live(today.Add(20 * time.Second))
	gone.Gone = all
	b.Apply(gone)
	if got := b.Alerts(); len(got) != 4 || got[3].What != model.Left || got[3].N != int64(len(all)) {
		t.Errorf("after %d keys left recorded is %+v", len(all), got)
	}
}

func TestKeysThatComeAndGoPushNothingPressingOut(t *testing.T) {
	var b model.Board
	b.Apply(live(today))
	b.Apply(down(today + 1))
	b.Apply(live(today + 2))
	for i := range 3000 { // one a minute: each is news
		at := today.Add(time.Duration(i+1) * time.Minute)
		b.Apply(live(at, logReading(fmt.Sprint("key", i), at, 0, 0, 10)))
	}
	got := b.Alerts()
	if len(got) > 1000 || got[0].What != model.LinkLost || got[1].What != model.LinkBack {
		t.Errorf("of %d alerts the oldest are %+v", len(got), got[:2])
	}
	if last := got[len(got)-1]; last.What != model.Appeared || last.Key != "key2999" {
		t.Errorf("the newest is %+v", last)
	}
}

func TestAdmittedInATimeThatWasWatched(t *testing.T) {
	tl := model.NewTimeline(24 * time.Second) // a bin is 100 ms
	at := today.Floor(24 * time.Second)
	step := 200 * time.Millisecond
	for i := range 300 {
		tl.Arrive(model.Arrival{At: at.Add(150 * time.Millisecond), N: 2})
		tl.Arrive(model.Arrival{At: at.Add(150 * time.Millisecond), N: 1, Denied: true})
		since := at
		if i == 100 {
			since = 0 // there was no look before
		}
		at = at.Add(step)
		tl.Watch(since, at, model.Count{})
	}
	for _, tc := range []struct {
		since, until time.Duration // before the last reading
		n            int64
		watched      bool
	}{{24 * time.Second, 0, 240, true}, {time.Second, 0, 10, true}, {50 * time.Second, 0, 500, false}, {42 * time.Second, 38 * time.Second, 40, false}, {70 * time.Second, 50 * time.Second, 100, false}} {
		n, watched := tl.Admitted(at.Add(-tc.since), at.Add(-tc.until))
		if n != tc.n || watched != tc.watched {
			t.Errorf("from %v to %v ago %d were admitted, watched %v; want %d, %v", tc.since, tc.until, n, watched, tc.n, tc.watched)
		}
	}
}

// TestAnEpisodeDoesNotCountAClockThatIsSet: a key is at its limit for ten seconds, in the middle of which the server's clock is
// set, or this machine's; it was throttled for ten seconds.
func TestAnEpisodeDoesNotCountAClockThatIsSet(t *testing.T) {
	for _, set := range []struct{ server, local time.Duration }{{}, {server: 5 * time.Minute}, {server: -5 * time.Minute}, {local: time.Hour}, {local: -time.Hour}} {
		var board model.Board
		begun := time.Unix(1_700_000_000, 0)
		for second := range 30 {
			server, local, used := begun.Add(time.Duration(second)*time.Second), begun.Add(time.Duration(second)*time.Second), int64(1)
			if second >= 10 && second <= 20 {
				used = 10
			}
			if second >= 15 {
				server, local = server.Add(set.server), local.Add(set.local)
			}
			at := limiter.InstantOf(server)
			r := logReading("k", at, at.Add(-time.Second), used, 10)
			r.Arrivals = nil
			b := live(at, r)
			b.Local, b.Server.Offset = local, server.Sub(local)
			board.Apply(b)
		}
		over := board.Alerts()[len(board.Alerts())-1]
		if over.What != model.NoLongerThrottled || over.For != 10*time.Second {
			t.Errorf("server set by %v, this machine by %v: %v after %v, want 10s", set.server, set.local, over.What, over.For)
		}
	}
}

// TestThrottledWhenFirstRead: a key that was throttled when it was first read is free again after at least so long.
func TestThrottledWhenFirstRead(t *testing.T) {
	for _, first := range []bool{true, false} {
		var board model.Board
		for second := range 30 {
			at, used, since := today.Add(time.Duration(second)*time.Second), int64(1), today.Add(time.Duration(second-1)*time.Second)
			if second < 10 && (first || second > 0) {
				used = 10
			}
			if second == 0 {
				since = 0
			}
			r := logReading("k", at, since, used, 10)
			r.Arrivals = nil
			board.Apply(live(at, r))
		}
		all := board.Alerts()
		if over := all[len(all)-1]; over.What != model.NoLongerThrottled || over.Since != first || all[0].Since != first {
			t.Errorf("throttled when first read: %v, and told %+v", first, all)
		}
	}
}
