package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseOrder parses an order from words in any order: "60" is the number of requests, "5/s" their rate,
// "cost:2" the cost of each, "phase:0.9" the phase of the clock-aligned window at which the order
// begins, "scratch" fires at a copy of the key, "from:FILE" sends the requests of a recording, which
// the caller reads, and other words are a shape; see ParseShape. Without a number the order goes on
// until it is stopped; without a rate requests are sent as fast as the answers come. phase is negative
// if it is not given. The error is one sentence.
func ParseOrder(text string) (s Order, phase float64, err error) {
	s.Cost, phase = 1, -1
	words := strings.Fields(text)
	if len(words) == 0 {
		return s, phase, errors.New("there is no order: give a number, a rate or both, as in 60 5/s poisson cost:2")
	}
	for _, word := range words {
		if err := s.parse(word, &phase); err != nil {
			return s, phase, err
		}
	}
	if s.N == 0 && s.Rate == 0 && s.Shape.Kind != Recorded {
		s.N = 1
	}
	return s, phase, s.Check()
}

// parse parses one word of an order into s.
func (s *Order) parse(word string, phase *float64) (err error) {
	name, value, _ := strings.Cut(word, ":")
	switch {
	case name == "cost":
		if s.Cost, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("%q is no cost: give one as in cost:2", word)
		}
	case name == "phase":
		if *phase, err = strconv.ParseFloat(value, 64); err != nil || !(*phase >= 0 && *phase < 1) {
			return fmt.Errorf("%q is no phase: give 0, the beginning of the window, to below 1, as in phase:0.9", word)
		}
	case name == "from":
		if s.Shape = (Shape{Kind: Recorded, From: value}); value == "" {
			return fmt.Errorf("%q names no recording: give its file, as in from:FILE", word)
		}
	case word == "scratch":
		s.Scratch = true
	case strings.Contains(name, "/"):
		s.Rate, err = ParseRate(word)
	case word[0] >= '0' && word[0] <= '9' || word[0] == '-':
		if s.N, err = strconv.Atoi(word); err != nil || s.N < 1 {
			return fmt.Errorf("%q is no number of requests: give 1 to %d", word, MaxRequests)
		}
	default:
		s.Shape, err = ParseShape(word)
	}
	return err
}
