package firing

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// bursts and rates are the steps of + and -.
var (
	bursts = []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	rates  = []float64{0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// Adjust raises or lowers the pace of the running order or, if there is none, the size of a burst. The
// running order is stopped and the rest of it is started again. A higher pace than the one confirmed
// needs another ticket.
func (o *Orders) Adjust(up bool) tea.Cmd {
	r := o.atRate()
	if r == nil {
		o.burst = step(bursts, o.burst, up)
		return nil
	}
	left, changed := r.atNextPace(up)
	switch {
	case !changed:
		return nil
	case up && r.Key != o.keys.Selected():
		o.app.Warn("The rate is fired at " + o.name(r.Key) + ": select that to raise it.")
		return nil
	}
	replace := func(order model.Order) tea.Cmd {
		if left.Shape.Kind == model.Even {
			o.perSecond = left.Rate
		}
		r.stop()
		return o.launch(order)
	}
	if up {
		return o.fireThen(model.Order{Rate: left.Rate, N: left.N, Cost: left.Cost, Shape: left.Shape, Scratch: left.Scratch}, replace)
	}
	if t := r.Ticket; t != nil { // less is fired than was confirmed
		lower := *t
		lower.Order.Rate, lower.Order.N, lower.Order.Shape, lower.Issued = left.Rate, left.N, left.Shape, o.app.Now()
		left.Ticket = &lower
	}
	return replace(left)
}

// atNextPace returns the rest of an order at the next pace above or below: the next step of a rate, and
// twice or half the pace of a ramp or a recording. changed is false if no pace within the bounds is
// left.
func (r *runningOrder) atNextPace(up bool) (left model.Order, changed bool) {
	factor := 0.5
	if up {
		factor = 2
	}
	if k := r.Shape.Kind; k == model.Ramp || k == model.Recorded {
		left = r.Rest(r.sent, factor)
		return left, left.Fastest() <= model.MaxRate && !(k == model.Ramp && up && r.Shape.To >= model.MaxRate)
	}
	next := step(rates, r.Rate, up)
	left = r.Rest(r.sent, next/r.Rate)
	left.Rate = next
	return left, next != r.Rate
}

// step returns the next element above or below v in an ascending list.
func step[T int | float64](list []T, v T, up bool) T {
	i, _ := slices.BinarySearch(list, v)
	if up {
		i++
	} else {
		i--
	}
	return list[min(max(i, 0), len(list)-1)]
}
