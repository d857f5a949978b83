package model_test

import (
	"slices"
	"testing"
	"time"

	"ratescope/model"
)

// TestRest: what is left of an order goes on from where it stands, at its new pace.
func TestRest(t *testing.T) {
	sec := func(list ...float64) (out []time.Duration) {
		for _, s := range list {
			out = append(out, time.Duration(s*float64(time.Second)))
		}
		return out
	}
	recorded := model.Order{Cost: 2, N: 4, Shape: model.Shape{Kind: model.Recorded, At: sec(0, 1, 3, 7)}}
	ramp := model.Order{N: 100, Rate: 1, Shape: model.Shape{Kind: model.Ramp, To: 5, Over: 4 * time.Second, Wait: time.Minute}}
	for name, c := range map[string]struct {
		order model.Order
		sent  int
		pace  float64
		want  []time.Duration // the first ones that are due
		n     int
		rate  float64
	}{
		"rate":               {model.Order{N: 10, Rate: 4}, 6, 0.5, sec(0, 0.5, 1, 1.5), 4, 2},
		"without an end":     {model.Order{Rate: 4}, 6, 2, sec(0, 0.125), 0, 8},
		"on-off":             {model.Order{N: 10, Rate: 1, Shape: model.Shape{Kind: model.OnOff, On: time.Second, Off: time.Second}}, 3, 2, sec(0, 0.5, 2), 7, 2},
		"recording, faster":  {recorded, 1, 2, sec(0, 1, 3), 3, 0},
		"recording, slower":  {recorded, 2, 0.5, sec(0, 8), 2, 0},
		"recording, over":    {recorded, 9, 2, sec(0), 1, 0},
		"ramp":               {ramp, 1, 1, sec(0, 0.5), 99, 2},
		"ramp, faster":       {ramp, 1, 2, sec(0, 0.25), 99, 4},
		"ramp at its height": {ramp, 40, 0.5, sec(0, 0.4, 0.8), 60, 2.5},
		"the cap":            {model.Order{N: 2, Rate: 900}, 0, 2, sec(0, 0.001), 2, model.MaxRate},
	} {
		before := slices.Clone(c.order.Shape.At)
		left := c.order.Rest(c.sent, c.pace)
		var due []time.Duration
		for at := range left.Due() {
			if due = append(due, at); len(due) == len(c.want) {
				break
			}
		}
		if !slices.Equal(due, c.want) || left.N != c.n || left.Rate != c.rate || left.Cost != c.order.Cost {
			t.Errorf("%s: due at %v of %d at %g/s, want %v of %d at %g/s", name, due, left.N, left.Rate, c.want, c.n, c.rate)
		}
		if !slices.Equal(before, c.order.Shape.At) {
			t.Errorf("%s: the recording itself was changed", name)
		}
	}
	if n := recorded.Fastest(); n != 1 {
		t.Errorf("%d within a second, want 1", n)
	}
	if left := recorded.Rest(0, 4); left.Fastest() != 3 {
		t.Errorf("%d within a second at four times the pace, want 3", left.Fastest())
	}
}
