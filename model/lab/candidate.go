// Package lab is the engine of the teaching screens: one stream of arrivals decided by
// several algorithms side by side, on a clock that runs in either direction.
//
// A Run is a pure function of its Setup, its arrivals and a moment. It keeps checkpoints
// on the way and replays from the nearest one, so the state at any moment is exact and
// stepping back costs no more than stepping on. Nothing here does I/O, starts a
// goroutine or reads a clock. Nothing here is safe for concurrent use either: a Run
// belongs to the one who drives it.
package lab

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/limiter/scenario"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// Fault is a well-known mistake in how a limiter is written. A lesson shows what it does.
type Fault uint8

// The faults.
const (
	NoFault Fault = iota
	// CollidingMembers is a sorted set whose members are milliseconds: a second request in
	// the same millisecond overwrites the first one and is not counted.
	CollidingMembers
	// SecondsAsMillis takes the seconds of TIME and subtracts a window in milliseconds: the
	// window is a thousand times too long, so nothing ever leaves it.
	SecondsAsMillis
	// ClientClock lets every second request bring the clock of another machine, which is
	// Setup.Skew ahead.
	ClientClock
)

// asQueue is the variant of a leaky bucket in which what is admitted waits until what is before it has drained.
const asQueue = "queue"

var faultNames = [...]string{"", "colliding-members", "seconds-as-millis", "client-clock"}

// Candidate is one algorithm in a comparison, with what sets it apart from the
// convention of the others. It is comparable, and its zero value decides nothing.
type Candidate struct {
	Algorithm limiter.Algorithm
	Variant   string // words of variants of package scenario joined by "/", or ""
	Fault     Fault
	Script    *UserScript // decides in place of Algorithm, which is Unknown; nil is none
}

// ParseCandidate reads the name of an assembly, ALGORITHM or ALGORITHM/WORD/…, where a word is a value of a
// convention (floor, charged, …) or a fault (colliding-members, seconds-as-millis,
// client-clock).
func ParseCandidate(s string) (Candidate, error) {
	if own, ok := shapes[s]; ok {
		return Candidate{Script: &UserScript{Name: s, subject: &assembly{shape: own}, shape: own}}, nil
	}
	name, rest, _ := strings.Cut(s, "/")
	a, err := limiter.ParseAlgorithm(name)
	if err != nil {
		return Candidate{}, err
	}
	c := Candidate{Algorithm: a}
	var words []string
	for word := range strings.SplitSeq(rest, "/") {
		fault := slices.Index(faultNames[:], word)
		switch {
		case word == "":
		case fault > 0:
			c.Fault = Fault(fault)
		case scenario.SetWord(new(limiter.Convention), word), word == asQueue && a == limiter.LeakyBucket:
			words = append(words, word)
		default:
			return Candidate{}, fmt.Errorf("%q in %q is neither a convention nor a fault: "+
				"use words such as floor, charged or colliding-members", word, s)
		}
	}
	c.Variant = strings.Join(words, "/")
	if c.Fault != NoFault && describe.KindOf(a) != describe.Log && c.Fault != ClientClock {
		return Candidate{}, fmt.Errorf("%q has a fault of logs: use it with sliding-log or stream", s)
	}
	return c, nil
}

// ParseCandidates reads several candidates, see ParseCandidate.
func ParseCandidates(names []string) (list []Candidate, err error) {
	list = make([]Candidate, len(names))
	for i := 0; i < len(names) && err == nil; i++ {
		list[i], err = ParseCandidate(names[i])
	}
	return list, err
}

// String is the inverse of ParseCandidate, and names a script, which that does not read.
func (c Candidate) String() string {
	if c.Yours() {
		return "script " + c.Script.Name
	} else if c.Scripted() {
		return c.Script.Name
	}
	s := c.Algorithm.String()
	if c.Variant != "" {
		s += "/" + c.Variant
	}
	if c.Fault != NoFault {
		s += "/" + faultNames[c.Fault]
	}
	return s
}

// Title names the candidate as people do.
func (c Candidate) Title() string { return c.titled(describe.Title(c.Algorithm)) }

// Short is Title with the algorithm's short name.
func (c Candidate) Short() string { return c.titled(describe.Short(c.Algorithm)) }

func (c Candidate) titled(s string) string {
	switch {
	case c.Yours():
		return c.String()
	case c.Scripted():
		return strings.NewReplacer("-", " ", "/", ", ").Replace(c.Script.Name)
	}
	if c.Variant != "" {
		s += ", " + c.Variant
	}
	return s + [...]string{"", ", members collide", ", seconds as ms", ", client clocks"}[c.Fault]
}

// Convention returns the terms that the candidate goes by when the others go by all.
func (c Candidate) Convention(all limiter.Convention) limiter.Convention {
	for word := range strings.SplitSeq(c.Variant, "/") {
		scenario.SetWord(&all, word)
	}
	return all
}

// Bursts reports whether the candidate has a burst and a rate in place of a window, and so
// neither a rule nor a charge for what it denies.
func (c Candidate) Bursts() bool { return c.Algorithm.Bursts() }

// Queues reports whether what the candidate admits waits for its turn.
func (c Candidate) Queues() bool { return c.Variant == asQueue }

// Room is how much the candidate admits at once when nothing was charged: its burst, or
// the limit.
func (c Candidate) Room(l limiter.Limit) int64 {
	return collect.If(c.Bursts() && l.Burst > 0, l.Burst, l.Count)
}

// MaxCandidates is how many algorithms stand side by side.
const MaxCandidates = 6

// Setup is what a run is about: the candidates, their one budget, and the terms.
type Setup struct {
	Candidates []Candidate // 1 to MaxCandidates
	Limit      limiter.Limit
	Convention limiter.Convention
	Cost       int64           // of a request fired by hand; 0 means 1
	Zero       limiter.Instant // when the story begins, aligned to the window
	Skew       time.Duration   // how far the second clock of ClientClock is ahead
	Within     time.Duration   // how far from its instant a request may have come; above 0 no verdict is called wrong
}

// Validate says in one sentence what is wrong with the setup, or returns nil.
func (s Setup) Validate() error {
	if n := len(s.Candidates); n < 1 || n > MaxCandidates {
		return fmt.Errorf("%d algorithms cannot be compared: choose 1 to %d", n, MaxCandidates)
	}
	for i, c := range s.Candidates {
		if c.Algorithm == limiter.Unknown && !c.Scripted() {
			return fmt.Errorf("candidate %d is no algorithm: name one", i+1)
		}
		if slices.Contains(s.Candidates[:i], c) {
			return fmt.Errorf("%s is compared with itself: name it once", c)
		}
	}
	if s.Cost < 0 || s.Cost > limiter.MaxCount {
		return fmt.Errorf("a cost of %d is out of range: give 1 or more", s.Cost)
	}
	return s.Limit.Validate()
}

// cost is what a request fired by hand costs.
func (s *Setup) cost() int64 { return max(s.Cost, 1) }

// Clone returns a copy that shares nothing with s.
func (s Setup) Clone() Setup {
	s.Candidates = slices.Clone(s.Candidates)
	return s
}

// Subject is a limiter of the user's own. It is for one goroutine.
type Subject interface {
	// Reset forgets every request; those that follow belong to a story that begins at zero, and are decided under l.
	Reset(l limiter.Limit, zero limiter.Instant) error
	// Admit decides about a request of a cost, and returns the commands that it ran. After an error no request is sent
	// until Reset.
	Admit(at limiter.Instant, cost int64) (admitted bool, ran []Command, err error)
}

// UserScript is a Subject as a candidate. Its state is unknown, so that what it answered is kept by the requests that went
// before: going back sends nothing again. Make one with NewUserScript. It is safe for concurrent use.
type UserScript struct {
	Name    string
	shape   *shape // of an assembly; nil of a script of the user's
	mu      sync.Mutex
	subject Subject
	first   *scripted // of the runs under one limit
	at      *scripted // the last request that subject has decided; nil is not known
	kept    int       // requests after first
}

// mostScripted bounds the requests that are kept, which hold their commands.
const mostScripted = 50_000

// scripted is what became of one request at a script. One without `before` stands before all requests.
type scripted struct {
	before   *scripted
	limit    limiter.Limit
	zero     limiter.Instant
	sent     Arrival
	number   int // from 1, of the requests that were sent
	admitted bool
	ran      []Command
	err      error // the script failed, and gets no more requests
	shape    *shape
	next     []*scripted
}

// NewUserScript returns a script of a name.
func NewUserScript(name string, s Subject) *UserScript {
	return &UserScript{Name: safetext.Clean(name), subject: s}
}

// start returns the place before all requests of a story under a limit.
func (s *UserScript) start(l limiter.Limit, zero limiter.Instant) *scripted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil || s.first.limit != l || s.first.zero != zero || s.kept >= mostScripted {
		s.first, s.at, s.kept = &scripted{limit: l, zero: zero, shape: s.shape}, nil, 0
	}
	return s.first
}

// decide returns what becomes of a request after others.
func (s *UserScript) decide(after *scripted, a Arrival) *scripted {
	if after.err != nil || a.Cost == 0 {
		return after
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range after.next {
		if known.sent.At == a.At && known.sent.Cost == a.Cost {
			return known
		}
	}
	n := &scripted{before: after, limit: after.limit, zero: after.zero, shape: after.shape, sent: a, number: after.number + 1}
	if s.kept++; s.kept > mostScripted {
		n.err = fmt.Errorf("%d requests are the most that are sent to it: begin the lesson again", mostScripted)
	} else if n.err = s.lead(after); n.err == nil {
		n.admitted, n.ran, n.err = s.subject.Admit(a.At, a.Cost)
	}
	after.next = append(after.next, n)
	if s.at = n; n.err != nil {
		s.at, n.admitted = nil, false
	}
	return n
}

// lead brings the subject to where a request has been decided.
func (s *UserScript) lead(to *scripted) error {
	if s.at == to {
		return nil
	}
	var sent []Arrival
	for at := to; at.before != nil; at = at.before {
		sent = append(sent, at.sent)
	}
	s.at = nil
	err := s.subject.Reset(to.limit, to.zero)
	for i := len(sent) - 1; i >= 0 && err == nil; i-- {
		_, _, err = s.subject.Admit(sent[i].At, sent[i].Cost)
	}
	if err == nil {
		s.at = to
	}
	return err
}

// decision returns what is known of a decision: nothing but the verdict.
func (n *scripted) decision() limiter.Decision {
	return limiter.Decision{Allowed: n.admitted, At: n.sent.At, Limit: n.limit, Cost: n.sent.Cost}
}

// Failed returns why candidate i gets no more requests; nil where it does.
func (r *Run) Failed(i int) error {
	if n := r.runners[i].script; n != nil && n.err != nil {
		return fmt.Errorf("failed at request %d: %s", n.number, safetext.Sentence(n.err.Error()))
	}
	return nil
}

// explain writes down what a script ran, for its reasons are its own.
func (n *scripted) explain(s *Setup) Working {
	w := Working{Rule: "a script of your own: it shows what it ran, and not why"}
	if n.shape != nil {
		w.Rule = n.shape.rule
	}
	w.Numbers = []string{fmt.Sprintf("request %d at %s", n.number, s.clock(n.sent.At))}
	switch {
	case n.err != nil:
		w.Verdict = "failed: " + safetext.Sentence(n.err.Error()) + "; no more requests are sent to it"
		return w
	case n.before == nil:
		w.Numbers, w.Verdict = []string{"no request yet"}, "unknown before a request is sent to it"
		return w
	}
	if n.shape == nil {
		w.Numbers[0] += fmt.Sprintf(": %s, %d wrote", format.Plural(len(n.ran), "command"), len(collect.Only(n.ran, Command.Writes)))
	}
	w.Verdict = collect.If(n.admitted, "admitted", "denied")
	return w
}

// lines writes what a script read and wrote.
func (n *scripted) lines() []string {
	var lines []string
	for _, c := range n.ran {
		text := "read   "
		switch {
		case n.shape != nil:
			text = ""
		case c.Writes():
			text = "wrote  "
		}
		lines = append(lines, text+safetext.Clean(c.String()))
	}
	if len(lines) == 0 && n.shape == nil {
		return []string{"# no command"}
	}
	return lines
}

// Yours reports whether the candidate is a script of the user's, which no file names.
func (c Candidate) Yours() bool { return c.Script != nil && c.Script.shape == nil }

// Scripted reports whether the candidate is a script or an assembly, of which nothing is known but its answers.
func (c Candidate) Scripted() bool { return c.Script != nil }

// Algorithms returns the setup without the user's scripts, and false where no candidate is left.
func (s Setup) Algorithms() (Setup, bool) {
	s.Candidates = slices.DeleteFunc(slices.Clone(s.Candidates), Candidate.Yours)
	return s, len(s.Candidates) > 0
}

// With returns the lesson with a script as the last lane, in place of one where there is no room.
func (l Lesson) With(s *UserScript) Lesson {
	l.Into = append(slices.Clone(l.Into[:min(len(l.Into), MaxCandidates-1)]), Candidate{Script: s})
	return l
}

// ScriptLesson returns the lesson that shows a script beside the algorithms: bursts, pauses, and the limit on both
// sides of an edge of the clock.
func ScriptLesson(s *UserScript, limit limiter.Limit) (Lesson, error) {
	ms := float64(limit.Window.Microseconds()) / 1e3
	f := scenario.NewFile("script", limiter.SlidingLog, limit, limiter.Convention{})
	f.Convention = nil // that of any lesson
	f.Title = strings.ToValidUTF8(s.Name, "?") + " beside the algorithms"
	f.Text = []string{"Your script gets the same requests as the algorithms, on an embedded Redis under the story's clock.",
		"Its verdicts are its own. Wrong is what the true window of what it had admitted itself would have decided otherwise."}
	for _, at := range []float64{2.99, 3.01} {
		f.Steps = append(f.Steps, scenario.FileStep{T: new(at * ms), Repeat: new(int(max(limit.Count, 1)))})
	}
	streams := fair(limit)
	slices.Reverse(streams) // the bursts come first
	f.Traffic = coming{Into: besides(limiter.SlidingLog, 3), Streams: streams}
	list, err := lessonsOf(f)
	if err != nil {
		return Lesson{}, fmt.Errorf("%s in %s cannot be a lesson: %w",
			format.Plural(int(limit.Count), "request"), format.Length(limit.Window), err)
	}
	list[0].Into = append([]Candidate{{Script: s}}, list[0].Into...)
	return list[0], nil
}
