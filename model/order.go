package model

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// Order is an order to fire synthetic requests at one key.
type Order struct {
	ID     int64 // chosen by the caller; copied to every Fired
	Key    string
	Target Target
	Cost   int64   // of each request; 1 or more
	N      int     // number of requests; 0 with a Rate is until the order is stopped or MaxRequests are sent
	Rate   float64 // requests a second; 0 is as fast as the answers come
	Shape  Shape   // how the requests are spread over time
	Change Change  // a change to the key; an order with a change fires no requests

	// Scratch fires at a copy of the key, which expires by itself, instead of the key.
	Scratch bool

	// Hold, if not nil, is called before each request and blocks while the order is paused. The
	// requests of that time are not sent later.
	Hold func(context.Context) error

	// Ticket holds the consequences that the user was shown, Named the name of the key as the user
	// typed it, and Reason the user's reason, for an injector that requires them.
	Ticket *Ticket
	Named  string
	Reason string
}

// Outcome is the outcome of one fired request.
type Outcome uint8

// Unanswered is an outcome of its own: after a timeout it is not known whether the server counted the
// request, so that it is neither admitted nor denied, and is not sent again.
const (
	Admitted Outcome = iota
	Denied
	Failed     // the server refused it with an error; nothing was counted
	Unanswered // no answer came in time
)

// String returns the word in the JSON output.
func (o Outcome) String() string {
	return [...]string{"admitted", "denied", "error", "unknown"}[o]
}

// Fired is the result of one request of an Order.
type Fired struct {
	Order    int64            `json:"order,omitempty"`
	Key      string           `json:"-"`
	Cost     int64            `json:"cost"`
	At       limiter.Instant  `json:"at"` // by the server's clock; without an answer, by this machine's clock corrected by the known offset
	Outcome  Outcome          `json:"outcome,omitempty"`
	Decision limiter.Decision `json:"-"` // zero unless admitted or denied
	Latency  time.Duration    `json:"latency,omitempty"`
	Err      string           `json:"-"`               // one sentence, when Failed or Unanswered
	Audit    string           `json:"audit,omitempty"` // the id of its lines in the audit file

	// Of a request over HTTP: the application's answer, nil if there was none, and the times at which
	// the request was sent and answered, by this machine's clock. Of a request by the program's own script
	// that was decided: an Answer that says nothing, because such a script only admits or denies.
	Answer         *Answer   `json:"-"`
	Sent, Received time.Time `json:"-"`
}

// Outcomes counts requests by outcome.
type Outcomes struct{ Admitted, Denied, Failed, Unanswered int }

// Add counts one more request.
func (t *Outcomes) Add(o Outcome) {
	switch o {
	case Admitted:
		t.Admitted++
	case Denied:
		t.Denied++
	case Failed:
		t.Failed++
	default:
		t.Unanswered++
	}
}

// Total returns the number of requests counted.
func (t Outcomes) Total() int { return t.Admitted + t.Denied + t.Failed + t.Unanswered }

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
