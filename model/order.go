package model

import (
	"context"
	"time"

	"ratescope/limiter"
)

// Order is an order to fire synthetic requests at one key.
type Order struct {
	ID     int64 // chosen by the caller; comes back in every Fired
	Key    string
	Target Target
	Cost   int64   // of each request; 1 or more
	N      int     // how many; 0 with a Rate means until stopped or capped
	Rate   float64 // a second; 0 means as fast as the answers come
	Shape  Shape   // how the requests are spread over time
	Change Change  // what is done to the key instead; an order with one fires no requests

	// Scratch fires at a copy of the key, which expires by itself, instead of the key.
	Scratch bool

	// Hold, when not nil, is called before each request and returns when it may be sent: it blocks
	// while the order is paused. What was due meanwhile is not made up for.
	Hold func(context.Context) error

	// Ticket is what the person who ordered was told, Named the name of the key as that person
	// typed it, and Reason why; all are for an injector that asks for them.
	Ticket *Ticket
	Named  string
	Reason string
}

// Outcome is the fate of one fired request.
type Outcome uint8

// Unanswered is its own outcome: after a timeout it is not known whether the server
// counted the request, so it is neither admitted nor denied, and never tried again.
const (
	Admitted Outcome = iota
	Denied
	Failed     // the server refused it with an error; nothing was counted
	Unanswered // no answer came in time
)

// String returns the word that the JSON output uses.
func (o Outcome) String() string {
	return [...]string{"admitted", "denied", "error", "unknown"}[o]
}

// Fired is what became of one request of an Order.
type Fired struct {
	Order    int64
	Key      string
	Cost     int64
	At       limiter.Instant // server clock where it answered, else this machine's corrected by the known offset
	Outcome  Outcome
	Decision limiter.Decision // zero unless admitted or denied
	Latency  time.Duration
	Err      string // one sentence, when Failed or Unanswered
	Audit    string // the id of its lines in the audit file

	// Of a request over HTTP: what the application answered, nil without an answer, and when it
	// was sent and answered by this machine's clock.
	Answer         *Answer
	Sent, Received time.Time
}

// Outcomes counts outcomes.
type Outcomes struct{ Admitted, Denied, Failed, Unanswered int }

// Add counts one more.
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

// Total returns how many were counted.
func (t Outcomes) Total() int { return t.Admitted + t.Denied + t.Failed + t.Unanswered }
