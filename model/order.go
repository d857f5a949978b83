package model

import (
	"context"
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
