package model

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// ShapeKind is the kind of a Shape.
type ShapeKind uint8

const (
	Even     ShapeKind = iota // at Order.Rate; if that is 0, as fast as the answers come
	Ramp                      // from Order.Rate to To within Over, and at To from then on
	Poisson                   // at random instants, at Order.Rate on average
	OnOff                     // at Order.Rate for On, then no requests for Off, repeatedly
	Recorded                  // at the instants At
)

// Shape is the distribution of the requests of an order over time. The zero value is Even.
type Shape struct {
	Kind    ShapeKind
	To      float64       // of a Ramp: requests a second
	Over    time.Duration // of a Ramp: its length
	On, Off time.Duration // of OnOff
	Seed    uint64        // of Poisson: the same seed gives the same instants
	At      []time.Duration
	From    string        // of Recorded: the file of the recording
	Wait    time.Duration // from the order to the first request; see Lead
}

// Lead returns the time from now to the next instant with a phase of the clock-aligned window, from 0, the
// window's beginning, to below 1.
func Lead(now limiter.Instant, window time.Duration, phase float64) time.Duration {
	at := now.Floor(window).Add(time.Duration(phase * float64(window)))
	if at < now {
		at = at.Add(window)
	}
	return at.Sub(now)
}

// Due yields the times from the order to its requests, MaxRequests at most. Requests that are sent as
// fast as the answers come are all due at the beginning.
func (s *Order) Due() iter.Seq[time.Duration] {
	n := min(cmp.Or(s.N, MaxRequests), MaxRequests)
	return func(yield func(time.Duration) bool) {
		next := s.Shape.times(s.Rate)
		for range n {
			at, more := next()
			if !more || !yield(s.Shape.Wait+at) {
				return
			}
		}
	}
}

// Lasts returns the time from the order to its last request. An order without an end has MaxRequests
// requests.
func (s *Order) Lasts() (over time.Duration) {
	if s.Rate == 0 && s.Shape.Kind == Even {
		return s.Shape.Wait
	}
	for over = range s.Due() {
	}
	return over
}

// times returns a function that returns the times of a shape one by one; false is the end.
func (s *Shape) times(rate float64) func() (time.Duration, bool) {
	at, i := 0.0, -1 // seconds, and the number of the request
	source := rand.New(rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15))
	span := func() time.Duration { return time.Duration(math.Round(at * float64(time.Second))) }
	return func() (time.Duration, bool) {
		i++
		switch s.Kind {
		case Recorded:
			if i >= len(s.At) {
				return 0, false
			}
			return s.At[i], true
		case Poisson:
			at += source.ExpFloat64() / rate
			return span(), true
		case Ramp:
			if i > 0 {
				at += 1 / s.rateAt(rate, at)
			}
			return span(), true
		case OnOff:
			per := max(math.Floor(s.On.Seconds()*rate+1e-9), 1) // requests of one period
			period := math.Floor(float64(i) / per)
			at = period*(s.On+s.Off).Seconds() + (float64(i)-period*per)/rate
			return span(), true
		}
		if rate > 0 {
			at = float64(i) / rate
		}
		return span(), true
	}
}

// rateAt returns the rate of a ramp, at seconds after its beginning.
func (s *Shape) rateAt(rate, at float64) float64 {
	over := s.Over.Seconds()
	if at >= over {
		return s.To
	}
	return rate + (s.To-rate)*at/over
}

// ParseShape parses a shape: "" or "even", "poisson", "poisson:7" with a seed, "ramp:50/s:30s" with the
// final rate and the time until it is reached, or "on-off:2s:8s" with the lengths of the two phases. The
// rate itself belongs to the order.
func ParseShape(text string) (s Shape, err error) {
	kind, rest, _ := strings.Cut(text, ":")
	first, second, _ := strings.Cut(rest, ":")
	switch kind {
	case "", "even":
		if rest != "" {
			err = errors.New("even takes nothing more")
		}
	case "poisson":
		if s.Kind = Poisson; rest != "" {
			s.Seed, err = strconv.ParseUint(rest, 10, 64)
		}
	case "ramp":
		s.Kind = Ramp
		if s.To, err = ParseRate(first); err == nil {
			s.Over, err = time.ParseDuration(second)
		}
	case "on-off":
		s.Kind = OnOff
		if s.On, err = time.ParseDuration(first); err == nil {
			s.Off, err = time.ParseDuration(second)
		}
	default:
		err = errors.New("there is no such shape")
	}
	if err != nil {
		return s, fmt.Errorf("%q is no shape (%w): give even, poisson, poisson:SEED, ramp:50/s:30s or on-off:2s:8s", text, err)
	}
	return s, nil
}

// String returns the shape in the form that ParseShape parses.
func (s *Shape) String() string {
	switch s.Kind {
	case Ramp:
		return fmt.Sprintf("ramp:%g/s:%v", s.To, s.Over)
	case Poisson:
		return fmt.Sprintf("poisson:%d", s.Seed)
	case OnOff:
		return fmt.Sprintf("on-off:%v:%v", s.On, s.Off)
	case Recorded:
		return fmt.Sprintf("recorded:%d", len(s.At))
	}
	return "even"
}

// check returns an error, one sentence, if the shape is not possible at a rate.
func (s *Shape) check(rate float64) error {
	switch {
	case (s.Kind == Ramp || s.Kind == Poisson || s.Kind == OnOff) && rate <= 0:
		return fmt.Errorf("the shape %s needs a rate: give one, as in 5/s", s)
	case s.Kind == Ramp && (!(s.To > 0 && s.To <= MaxRate) || s.Over <= 0 || s.Over > time.Hour):
		return fmt.Errorf("the ramp %s is out of range: give at most %d/s and a time up to 1h", s, MaxRate)
	case s.Kind == OnOff && (s.On <= 0 || s.Off < 0 || s.On > time.Hour || s.Off > time.Hour):
		return fmt.Errorf("the shape %s is out of range: give times up to 1h, on for more than 0", s)
	}
	return nil
}

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
		next, at := shape.times(s.Rate), time.Duration(0) // at is when the next request is due
		for range sent + 1 {
			at, _ = next()
		}
		s.Rate, shape.To = capped(shape.rateAt(s.Rate, at.Seconds())), capped(shape.To)
		if shape.Over -= at; shape.Over <= 0 {
			s.Rate, s.Shape = shape.To, Shape{}
		}
	case Recorded:
		all := shape.At[min(sent, max(len(shape.At)-1, 0)):]
		shape.At = collect.Map(all, func(at time.Duration) time.Duration {
			return time.Duration(math.Round(float64(at-all[0]) / factor))
		})
		s.N = len(all)
	default:
		s.Rate = capped(s.Rate)
		shape.Seed++
	}
	s.Shape.Wait = 0
	return s
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
