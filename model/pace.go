package model

import (
	"math"
	"time"
)

// Rest returns the remaining order after a number of requests were sent, at factor times its pace. It
// begins at once. A ramp goes on from its present rate, and a recording from its present position;
// requests at random instants get new instants. No rate is above MaxRate.
func (s Order) Rest(sent int, factor float64) Order {
	if s.N > 0 {
		s.N = max(s.N-sent, 1)
	}
	capped := func(rate float64) float64 { return min(rate*factor, MaxRate) }
	switch shape := &s.Shape; shape.Kind {
	case Ramp:
		at := shape.at(s.Rate, sent)
		s.Rate, shape.To = capped(shape.rateAt(s.Rate, at.Seconds())), capped(shape.To)
		if shape.Over -= at; shape.Over <= 0 {
			s.Rate, s.Shape = shape.To, Shape{}
		}
	case Recorded:
		all := shape.At[min(sent, max(len(shape.At)-1, 0)):]
		shape.At = make([]time.Duration, len(all))
		for i, at := range all {
			shape.At[i] = time.Duration(math.Round(float64(at-all[0]) / factor))
		}
		s.N = len(all)
	default:
		s.Rate = capped(s.Rate)
		shape.Seed++
	}
	s.Shape.Wait = 0
	return s
}

// at returns the time from the first request of a shape to the one with a number; the first one is 0.
func (s *Shape) at(rate float64, request int) (at time.Duration) {
	next := s.times(rate)
	for range request + 1 {
		at, _ = next()
	}
	return at
}

// Fastest returns the greatest number of requests of an order that are due within one second.
func (s *Order) Fastest() (most int) {
	var within []time.Duration
	for at := range s.Due() {
		within = append(within, at)
		for at-within[0] >= time.Second {
			within = within[1:]
		}
		most = max(most, len(within))
	}
	return most
}
