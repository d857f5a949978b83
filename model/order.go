package model

import (
	"cmp"
	"context"
	_ "embed" // of harms.txt
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/format"
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
	of := [...]*int{&t.Admitted, &t.Denied, &t.Failed, &t.Unanswered}
	*of[o]++
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

// Bounds of one Order, so that a typing error does not become an incident.
const (
	MaxRequests = 10_000 // requests
	MaxRate     = 1_000  // requests a second
)

// Check returns an error, one sentence, if an amount of s is out of bounds.
func (s Order) Check() error {
	switch {
	case s.Cost < 1:
		return fmt.Errorf("a cost of %d is out of range: give 1 or more", s.Cost)
	case s.N < 0 || s.N > MaxRequests || s.N == 0 && s.Rate == 0 && s.Shape.Kind != Recorded:
		return fmt.Errorf("%d requests are out of range: give 1 to %d", s.N, MaxRequests)
	case !(s.Rate >= 0 && s.Rate <= MaxRate):
		return fmt.Errorf("a rate of %g/s is out of range: give at most %d/s", s.Rate, MaxRate)
	case s.Shape.Kind == Recorded && (s.N != len(s.Shape.At) || s.Rate != 0):
		return errors.New("a recording says itself how many requests there are and when: leave out the number and the rate")
	case s.Shape.Kind == Recorded && s.Fastest() > MaxRate:
		return fmt.Errorf("the recording has %d requests within a second, more than the %d that are sent at most: give a calmer one",
			s.Fastest(), MaxRate)
	}
	return s.Shape.check(s.Rate)
}

// Aim returns the limiter that a request fired at r goes through: the key's own, if it is known. A key
// that does not exist becomes a sliding log unless a rule gives another algorithm. The error is one
// sentence, without the key, that says why nothing may be fired at it.
func (r *Reading) Aim() (Target, error) {
	t := r.Target
	switch {
	case r.Err != "":
		return t, errors.New(r.Err)
	case r.harm() != "": // first, because no flag helps against it
		return t, errors.New(r.harm())
	case !t.LimitKnown:
		return t, errors.New("its limit is not known: give --limit, as in --limit 100/1m")
	case t.Algorithm == limiter.Unknown && r.Type != "none":
		return t, errors.New("its algorithm is not known: give --algorithm")
	case t.Evidence == Likely || t.Inferred && !t.Ruled && t.Evidence == Told && r.Type != "none" && t.Algorithm != limiter.Unknown:
		return t, errors.New("nothing but the form of its value says that it is a limiter: say so with --algorithm and --limit, or in a " +
			"rule of the configuration")
	case t.Algorithm == limiter.Unknown:
		t.Algorithm = limiter.SlidingLog
	}
	t.Window = cmp.Or(t.Window, t.Limit.Window)
	t.Limit.Window = t.Window
	return t, nil
}

// Foreign reports whether the key is in the layout of another library.
func (t *Target) Foreign() bool { return t.Library != "" && t.Library != OwnLibrary }

// Plain reports whether a rule tells the layout of the key, and all that its program keeps is one counter or log.
func (t *Target) Plain() bool { return t.Described && t.Script != nil && t.Script.Plain != "" }

// AimChange returns the limiter of a key for a Change, as Aim does. The error is one sentence, without
// the key, that says why the change is not possible.
func (r *Reading) AimChange(c Change) (Target, error) {
	if _, ok := r.Target.RaiseOf(r.Key, c); ok {
		return r.Target, r.aimRaise(c.Units)
	}
	switch t := r.Target; {
	case t.Described && c.Kind != Free:
		return t, errors.New("a rule tells its layout, and how its program changes its keys is not known: change it through its program")
	case t.Described && !t.Plain():
		return t, errors.New("a rule tells its layout, and what its program keeps besides is not known: take the lines of redis-cli")
	}
	t, err := r.Aim()
	if err == nil && t.Foreign() && c.Kind != Free {
		return t, fmt.Errorf("it is kept by %s, whose keys can be freed and not otherwise changed: give free, take the lines of "+
			"redis-cli, or change it through that program", t.Library)
	}
	return t, err
}

// harms say, by library, what a request in another layout would do to its keys, as a clause.
//
//go:embed harms.txt
var harms string

// harm returns the harm that a request would do to a key of another program, as a clause; "" if it
// would only be counted.
func (r *Reading) harm() string {
	t := &r.Target
	switch {
	case t.Foreign() && !t.Exact:
		why := cmp.Or(format.Line(harms, t.Library), "what that library writes is not known exactly")
		return "it is kept by " + t.Library + ", another program, and " + why +
			": fire at its application with --url, or with --create at a key of your own"
	case t.Foreign() && slices.Contains(r.Notes, WindowInferred):
		return "its window is only inferred from what was seen, and a request may begin a new one: say how long it is with " +
			"--limit, or in a rule of the configuration"
	case t.Foreign():
		return ""
	case t.Described && t.Script != nil && t.Script.Plain != "" && (r.Type == "none" || r.Type == "string" && r.TTL == Forever):
		return "its key is not there, or has no expiry, and which one its program gives it is not known: " +
			"add script: {file, keys, args, admitted} to the rule, as the program calls it, or fire at the application with --url"
	case t.Described && (t.Script == nil || t.Script.Plain != "" && slices.Contains(r.Notes, Serialized)):
		return "a rule tells its layout, and what its program writes beside what is read is not known: " +
			"add script: {file, keys, args, admitted} to the rule, as the program calls it, or fire at the application with --url"
	case slices.Contains(r.Notes, GarbageScore):
		return "it has members whose scores are no times, which a request would remove: it is no log of requests"
	case t.Algorithm == limiter.GCRA && t.Layout.Unit != 0:
		return "its theoretical arrival time (TAT) is written as another program writes it, and a request from here would lock that " +
			"program out: fire through that program"
	case t.Algorithm == limiter.FixedWindow && t.Convention.Alignment == convention.FirstRequest && slices.Contains(r.Notes, NoExpiry):
		return "its counter has no expiry, and a request would give it one: set the expiry that it should have with PEXPIRE first"
	}
	return ""
}

// ParseRate parses a rate, written like a limit as COUNT/DURATION, and returns it in requests a
// second.
func ParseRate(s string) (float64, error) {
	l, err := limiter.ParseLimit(s)
	if err != nil {
		return 0, fmt.Errorf("as a rate, %w", err)
	}
	if l.Count == 0 {
		return 0, fmt.Errorf("a rate of %s fires nothing: give more than 0", s)
	}
	return float64(l.Count) / l.Window.Seconds(), nil
}
