package relay

import (
	"testing"

	"ratescope/limiter"
	"ratescope/model"
)

// TestWhatTheStateHasIsNotToldAgain: of batches that follow where everything stands, the arrivals of readings
// that it has are left out, and those of later ones are not.
func TestWhatTheStateHasIsNotToldAgain(t *testing.T) {
	reading := func(key string, at limiter.Instant, n int64) model.Reading {
		return model.Reading{Key: key, At: at, Arrivals: []model.Arrival{{At: at, N: n}}}
	}
	s := standing(model.Batch{At: 20, Readings: []model.Reading{{Key: "a", At: 10}, {Key: "b", At: 20}}})
	for i, c := range []struct {
		at      limiter.Instant
		reading model.Reading
		told    bool
	}{
		{15, reading("a", 10, 5), false}, {16, reading("a", 11, 2), true}, {19, reading("b", 19, 1), false},
		{20, reading("b", 20, 1), false}, {20, reading("new", 5, 1), true}, {21, reading("b", 21, 1), true},
		{3, reading("b", 3, 1), true}, // the server's clock was set back
	} {
		b := model.Batch{At: c.at, Readings: []model.Reading{c.reading}}
		s.forgets(b)
		if got := len(b.Readings[0].Arrivals) > 0; got != c.told {
			t.Errorf("batch %d, %s at %d: told %v, want %v", i, c.reading.Key, c.reading.At, got, c.told)
		}
	}
}
