package firing

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// bursts and rates are the steps that + and - go through.
var (
	bursts = []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	rates  = []float64{0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// Adjust raises or lowers the pace of what is being fired, else the burst. A running order is stopped,
// and what is left of it started anew: more than was confirmed asks for another ticket.
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

// atNextPace returns what is left of an order at the next pace above or below: of a rate the next
// step, of a ramp and of a recording twice or half the pace. changed is false where there is none
// within the caps.
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

// step returns the neighbour of v in a rising list.
func step[T int | float64](list []T, v T, up bool) T {
	i, _ := slices.BinarySearch(list, v)
	if up {
		i++
	} else {
		i--
	}
	return list[min(max(i, 0), len(list)-1)]
}
