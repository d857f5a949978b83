package chart

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestTheColumnThatHasJustBegunIsNotUnwatched looks at a key behind the tick of a second, before the
// first reading of the new column.
func TestTheColumnThatHasJustBegunIsNotUnwatched(t *testing.T) {
	const window = 10 * time.Second
	var b model.Board
	at, since := limiter.Instant(1_700_000_000_000_000), limiter.Instant(0)
	for range 19 {
		at = at.Add(100 * time.Millisecond)
		b.Apply(model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Sweep: model.Sweep{Passes: 1}, Readings: []model.Reading{{
			Key: "k", Type: "zset", At: at, Since: since, ExactKnown: true, PreviousKnown: true,
			Target:   model.Target{Algorithm: limiter.SlidingLog, Window: window, LimitKnown: true, Limit: limiter.Limit{Count: 10, Window: window}},
			State:    limiter.State{Algorithm: limiter.SlidingLog, Log: []limiter.Entry{{At: at - 1000, Count: 5}}},
			Arrivals: []model.Arrival{{At: at - 1000, N: 5}},
		}}})
		since = at
	}
	k := b.Key("k")
	var y Past
	end := at.Floor(time.Second).Add(time.Second)
	y.Update(k, end, end, time.Second, 8)
	y.Update(k, end.Add(time.Second), end.Add(time.Second), time.Second, 8)
	last, now := y.Cells[6], y.Cells[7]
	if !last.Known || !last.Arrivals {
		t.Fatalf("the column that was watched is %+v", last)
	}
	if !now.Watched || !now.Known || now.Level != last.Level {
		t.Errorf("the column that has just begun is %+v, want the level of %+v", now, last)
	}
	if now.Arrivals || now.Denied {
		t.Errorf("the column that has just begun has arrivals: %+v", now)
	}
	k.Gone = true
	y = Past{}
	if y.Update(k, end.Add(time.Second), end.Add(time.Second), time.Second, 8); y.Cells[7].Watched {
		t.Errorf("a key that has gone is watched: %+v", y.Cells[7])
	}
}

// TestWhatIsAddedIsWhatIsThere: a history that takes in only what is new shows after every reading
// what one shows that is made from the beginning.
func TestWhatIsAddedIsWhatIsThere(t *testing.T) {
	const column, width = time.Second, 12
	for seed := range uint64(40) {
		draw := rand.New(rand.NewPCG(seed, 1))
		window := []time.Duration{time.Second, 10 * time.Second, time.Minute}[seed%3]
		var b model.Board
		at, since := limiter.Instant(1_700_000_000_000_000), limiter.Instant(0)
		var y Past
		for step := range 150 {
			at = at.Add(time.Duration(50+draw.IntN(900)) * time.Millisecond)
			r := model.Reading{
				Key: "k", Type: "zset", At: at, Since: since, ExactKnown: true, PreviousKnown: true,
				Target: model.Target{Algorithm: limiter.SlidingLog, Window: window, LimitKnown: true, Limit: limiter.Limit{Count: 10, Window: window}},
				State:  limiter.State{Algorithm: limiter.SlidingLog, Log: []limiter.Entry{{At: at - 1000, Count: draw.Int64N(12)}}},
			}
			for n := draw.IntN(4); n > 0 && since > 0; n-- {
				came := since + 1 + limiter.Instant(draw.Int64N(int64(at-since)))
				r.Arrivals = append(r.Arrivals, model.Arrival{At: came, N: 1, Denied: draw.IntN(3) == 0})
			}
			slices.SortFunc(r.Arrivals, func(a, b model.Arrival) int { return cmp.Compare(a.At, b.At) })
			b.Apply(model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Sweep: model.Sweep{Passes: 1}, Readings: []model.Reading{r}})
			since = at
			if draw.IntN(3) == 0 { // not in every picture
				continue
			}
			k, newest := b.Key("k"), at.Floor(column).Add(column)
			var whole Past
			whole.Update(k, newest, at, column, width)
			if y.Update(k, newest, at, column, width); !slices.Equal(y.Cells, whole.Cells) {
				t.Fatalf("seed %d, step %d, a window of %v:\n%+v\nis shown for\n%+v", seed, step, window, y.Cells, whole.Cells)
			}
		}
	}
}
