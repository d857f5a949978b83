package state_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

var start = time.Unix(1_700_000_000, 0)

// watched returns boards with ten seconds of a feed in them, the feed, and this machine's clock.
func watched(t *testing.T) (*state.Boards, *tuitest.Feed, time.Time) {
	t.Helper()
	feed, b := tuitest.NewFeed(start), state.NewBoards(nil, false)
	at := start
	for range 50 {
		at = at.Add(tuitest.Refresh)
		b.Apply(feed.Advance(at))
		b.Tick(at)
	}
	return b, feed, at
}

func TestAPauseKeepsThePictureAndCollects(t *testing.T) {
	b, feed, at := watched(t)
	if !b.Pause() || !b.Paused() {
		t.Fatal("the picture moves on after a pause")
	}
	when := b.At()
	for range 10 {
		at = at.Add(tuitest.Refresh)
		b.Apply(feed.Advance(at))
		if changed, _ := b.Tick(at); changed {
			t.Error("a tick changed the picture of a pause")
		}
	}
	if b.At() != when || b.Board().At != when {
		t.Errorf("paused at %v, and %v is shown", when, b.At())
	}
	if got := b.Live().At.Sub(when); got != 10*tuitest.Refresh {
		t.Errorf("the live board went on by %v, not %v", got, 10*tuitest.Refresh)
	}
	b.Scroll(true, nil)
	if b.Pause(); b.Paused() || b.At() != b.LiveAt() || b.Moment().At != 0 {
		t.Error("after the pause another instant than the live one is shown")
	}
}

// TestAPauseDoesNotDateWhatIsSaved: what is saved during a pause is the present.
func TestAPauseDoesNotDateWhatIsSaved(t *testing.T) {
	b := state.NewBoards(nil, false)
	apply := func(at time.Time, tat time.Duration) {
		limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
		r := model.Reading{Key: "k", Type: "string", At: limiter.InstantOf(at), State: limiter.State{Algorithm: limiter.GCRA},
			Target: model.Target{Algorithm: limiter.GCRA, Limit: limit, LimitKnown: true, Window: limit.Window}}
		r.State.TAT = r.At.Add(tat)
		b.Apply(model.Batch{At: r.At, Local: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
		b.Tick(at)
	}
	apply(start, 0)
	b.Pause()
	apply(start.Add(time.Minute), time.Second)
	if n := b.Freeze().Totals().Throttled; n != 0 {
		t.Errorf("%d keys are throttled in what is saved, want none", n)
	}
}

func TestTheClockGoesOnAndObeysTheServer(t *testing.T) {
	b, feed, at := watched(t)
	was := b.LiveAt()
	b.Tick(at.Add(3 * time.Second)) // no batch came
	if got := b.LiveAt().Sub(was); got != 3*time.Second {
		t.Errorf("without a batch the server's clock went on by %v, not 3 s", got)
	}
	back := feed.Advance(at.Add(tuitest.Refresh))
	back.At, back.Local = back.At.Add(-time.Minute), at.Add(3*time.Second)
	b.Apply(back)
	if b.LiveAt() != back.At {
		t.Errorf("the server's clock was set back to %v, and %v is shown", back.At, b.LiveAt())
	}
}

func TestABatchSaysWhatItChanged(t *testing.T) {
	feed, b := tuitest.NewFeed(start), state.NewBoards(nil, false)
	first := feed.Advance(start)
	if c := b.Apply(first); !c.Turn || b.Board().Len() != len(feed.People) {
		t.Errorf("the first batch is %+v", c)
	}
	calm := model.Batch{At: first.At, Local: first.Local, Server: first.Server, Sweep: first.Sweep}
	if c := b.Apply(calm); c != (state.Change{}) {
		t.Errorf("a batch of nothing is %+v", c)
	}
	feed.Break(start, "connection refused")
	if c := b.Apply(feed.Advance(start.Add(time.Second))); !c.Turn || !c.Moves {
		t.Errorf("the end of the link is %+v", c)
	}
	if b.Server.Link != model.Down {
		t.Error("the header's figures do not say that the link is down")
	}
}

func TestFiguresStandWhileTheServerIsAway(t *testing.T) {
	b, feed, at := watched(t)
	heard := b.At()
	feed.Break(at, "connection refused")
	var gauges []model.Gauge
	for i := range 20 {
		at = at.Add(tuitest.Refresh)
		b.Apply(feed.Advance(at))
		b.Tick(at)
		if i == 10 { // in a pause they stand, too
			b.Pause()
		}
		k := b.Board().Key(feed.People[0].Name)
		if gauges = append(gauges, k.Gauge); gauges[0] != k.Gauge {
			t.Fatalf("%v after the server went away the figures are %+v, and were %+v", at.Sub(start), k.Gauge, gauges[0])
		}
	}
	if got := b.FiguresAt(); got != heard {
		t.Errorf("the figures are said to be of %v, and the server was heard last at %v", got, heard)
	}
}
