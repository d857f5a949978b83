package lab

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model/bench"
	"ratescope/model/collect"
)

// Score is how well one algorithm was predicted.
type Score struct {
	Asked, Right           int // admitted or denied
	SlotsAsked, SlotsRight int // and when the next slot frees, asked of denied requests
}

// Plus returns both scores together.
func (s Score) Plus(o Score) Score {
	return Score{s.Asked + o.Asked, s.Right + o.Right, s.SlotsAsked + o.SlotsAsked, s.SlotsRight + o.SlotsRight}
}

// Question is a request that is about to be decided.
type Question struct {
	Candidate int
	Moment    Moment          // holds the answer
	Slots     []time.Duration // when might a slot free: one is right; only for a denied request
	Slot      int             // which
}

// Quiz stops a stream of requests before a decision and asks what will come of it. Make
// one with NewQuiz.
type Quiz struct {
	Run      *Run
	Question Question
	setup    Setup
	traffic  func() (*Workload, error)
	random   *rand.Rand
	turn     int
}

// NewQuiz returns a quiz about the candidates of a setup under traffic, which returns its
// workload from the beginning at every call; without traffic it makes up some that is neither
// always admitted nor always denied. Traffic that ends begins again. The same seed asks
// the same questions.
func NewQuiz(s Setup, traffic func() (*Workload, error), seed uint64) (*Quiz, error) {
	s.Limit.Count = cmp.Or(s.Limit.Count, 5)
	if traffic == nil {
		traffic = func() (*Workload, error) {
			src, err := Mix(fair(s.Limit), s, seed)
			return NewWorkload(src), err
		}
	}
	q := &Quiz{setup: s, traffic: traffic, random: rand.New(rand.NewPCG(seed, 77))}
	if err := q.begin(); err != nil {
		return nil, err
	}
	if _, comes := q.Run.Upcoming(); !comes {
		return nil, errors.New("no request comes")
	}
	q.Run.SeekTo(s.Zero.Add(s.Limit.Window))
	q.Next()
	return q, nil
}

// fair is traffic of which much is admitted under a limit and much is denied.
func fair(l limiter.Limit) []Traffic {
	perSecond, ms := float64(l.Count)/l.Window.Seconds(), float64(l.Window.Microseconds())/1e3
	return []Traffic{
		{Model: Poisson, PerSecond: min(max(perSecond*0.7, 1e-6), maxPerSecond)},
		{Model: OnOff, PerSecond: min(max(perSecond*3, 1e-6), maxPerSecond), OnMS: 1 + ms*0.4, OffMS: ms * 1.1},
	}
}

// begin goes to the beginning of the traffic.
func (q *Quiz) begin() error {
	workload, err := q.traffic()
	if err == nil {
		q.Run = NewRun(q.setup, workload)
	}
	return err
}

// lookAhead is how many requests may pass while the quiz looks for one worth asking about.
const lookAhead = 400

// Next goes on to the next question. Half of them are about denied requests, as far as
// there are any, and the algorithms take turns.
func (q *Quiz) Next() {
	c := q.turn % len(q.setup.Candidates)
	q.turn++
	denied := q.random.IntN(2) == 0
	for range 1 + q.random.IntN(3) {
		q.Run.Step()
	}
	for range lookAhead {
		m, ok := q.upcoming(c)
		if !ok || m.Decision.Allowed != denied {
			break
		}
		q.Run.Step()
	}
	m, ok := q.upcoming(c)
	if !ok && q.begin() == nil { // the traffic is over
		m, _ = q.upcoming(c)
	}
	q.Run.now = max(q.Run.now, m.Arrival.At) // the request comes now
	q.Question = Question{Candidate: c, Moment: m}
	if !m.Decision.Allowed && m.Decision.RetryAfter != limiter.Never && m.script == nil { // a script does not tell when
		q.slots(m.Decision.RetryAfter)
	}
}

// upcoming steps to the next request that is sent to candidate c and returns it, if there
// is one.
func (q *Quiz) upcoming(c int) (Moment, bool) {
	for {
		a, ok := q.Run.Upcoming()
		if !ok {
			return q.Run.Ask(c, 1), false
		}
		if a.sentTo(c) {
			return q.Run.Inspect(c, q.Run.Decided())
		}
		q.Run.Step()
	}
}

// slots makes three times to choose from, of which one is right.
func (q *Quiz) slots(right time.Duration) {
	w := q.setup.Limit.Window
	list := []time.Duration{right}
	for _, d := range []time.Duration{w - right, right / 2, right + w/4, w, 2 * right} {
		far := !slices.ContainsFunc(list, func(o time.Duration) bool { return d-o < w/20 && o-d < w/20 })
		if d > 0 && far && len(list) < 3 {
			list = append(list, d)
		}
	}
	slices.Sort(list)
	q.Question.Slots, q.Question.Slot = list, slices.Index(list, right)
}

// Suspect is a limiter that a black box may hold.
type Suspect struct {
	Name      string
	candidate Candidate
}

// Suspects returns the limiters that a black box may hold: they differ in algorithm, edge,
// rounding, and in whether a denied request is charged.
func Suspects() []Suspect {
	return []Suspect{
		{"fixed window", Candidate{Algorithm: limiter.FixedWindow}},
		{"sliding log", Candidate{Algorithm: limiter.SlidingLog}},
		{"sliding log, closed edge", Candidate{Algorithm: limiter.SlidingLog, Variant: "closed"}},
		{"sliding log, denied charged", Candidate{Algorithm: limiter.SlidingLog, Variant: "charged"}},
		{"sliding window counter, rounded down", Candidate{Algorithm: limiter.SlidingWindow, Variant: "floor"}},
		{"sliding window counter, exact", Candidate{Algorithm: limiter.SlidingWindow, Variant: "exact"}},
		{"GCRA", Candidate{Algorithm: limiter.GCRA}},
	}
}

// boxLimit is what every box allows, and boxGrid into how many steps its window is divided: a
// request can be fired at each of them.
var boxLimit = limiter.Limit{Count: 3, Window: 10 * time.Second}

const boxGrid = 20

// BoxWaits are the steps that a person may wait before a request, in twentieths of the window.
var BoxWaits = []int{0, 1, 5, 10, 20, 40}

// Box is a limiter that a person has to name by firing at it. Make one with NewBox. Not safe for
// concurrent use.
type Box struct {
	Suspects []Suspect
	Hidden   int  // the number of the suspect in the box
	Run      *Run // all suspects get what is fired, from when the box was handed over
}

// NewBox hides one of the suspects, the same for the same seed.
func NewBox(seed uint64) *Box {
	b := &Box{Suspects: Suspects()}
	b.Hidden = rand.New(rand.NewPCG(seed, 16)).IntN(len(b.Suspects))
	b.Run = NewRun(Setup{Limit: boxLimit, Zero: storyBegins.Floor(boxLimit.Window).Add(b.Length(3)),
		Candidates: collect.Map(b.Suspects, func(s Suspect) Candidate { return s.candidate })}, NewWorkload(nil))
	return b
}

// Edge returns how long it is to the next tick of the clock at which a fixed window would begin.
func (b *Box) Edge() time.Duration {
	return b.Run.now.Floor(boxLimit.Window).Add(boxLimit.Window).Sub(b.Run.now)
}

// Length returns how long so many twentieths of the window are.
func (b *Box) Length(steps int) time.Duration {
	return time.Duration(steps) * boxLimit.Window / boxGrid
}

// Wait lets so many twentieths of the window pass.
func (b *Box) Wait(steps int) { b.Run.AdvanceTo(b.Run.now.Add(b.Length(steps))) }

// Fire sends one request and returns whether it was admitted.
func (b *Box) Fire() bool {
	_, v := b.Run.Arrival(b.Run.Fire(1))
	return v.Allowed(b.Hidden)
}

// Fits reports whether a suspect would have answered all requests so far as the box did.
func (b *Box) Fits(suspect int) bool {
	return !slices.ContainsFunc(b.Run.verdicts, func(v Verdicts) bool { return v.Allowed(suspect) != v.Allowed(b.Hidden) })
}

// DuelTime is how long a person has before the solver answers.
const DuelTime = 90 * time.Second

// Requests that the solver sends at most: a script answers some thousand a second.
const (
	solverRequests       = 60_000
	solverScriptRequests = 4_000
)

// Duel is the game attack and defend: a limiter is to admit more than its limit in one true window, and the solver does so
// too when its time is up. It has no clock of its own and is not safe for concurrent use.
type Duel struct {
	Setup  Setup         // its one candidate is attacked
	Solved bool          // the solver has searched
	Solver bench.Worst   // what it found
	Failed error         // why it found nothing out; nil where it did
	Best   Broken        // the shortest traffic of the person's; the zero Broken while there is none
	First  bool          // the person broke it before the solver answered
	Left   time.Duration // until the solver answers; 0 where it has

	ends time.Time // zero before the first Tick
}

// Broken is what traffic brought about: the most that was admitted in a true window, and by how many requests in all.
type Broken struct {
	Most     int64
	Requests int
}

// NewDuel begins a duel about candidate i of a setup, before the solver has searched.
func NewDuel(s Setup, i int) *Duel {
	s.Candidates = []Candidate{s.Candidates[i]}
	return &Duel{Setup: s, Left: DuelTime}
}

// Solve lets the solver search at the candidate of a setup. It takes up to some seconds, and may run beside what draws.
func Solve(s Setup) (bench.Worst, error) {
	most := collect.If(s.Candidates[0].Scripted(), solverScriptRequests, int64(solverRequests))
	return bench.Attack(&duelSubject{setup: s}, s.Limit, s.Zero, most)
}

// Tick moves the clock of the duel.
func (d *Duel) Tick(now time.Time) {
	if d.ends.IsZero() {
		d.ends = now.Add(d.Left)
	}
	d.Left = max(d.ends.Sub(now), 0)
}

// GiveUp lets the solver answer now.
func (d *Duel) GiveUp() { d.Left, d.ends = 0, time.Unix(0, 0) }

// Holds reports whether the solver found no traffic that breaks the limiter. That there is none is not known then.
func (d *Duel) Holds() bool { return d.Solver.Admitted <= d.Setup.Limit.Count }

// See takes what a run of the limiter, as candidate i, has come to. It reports whether that breaks it by fewer requests than
// before.
func (d *Duel) See(r *Run, i int) bool {
	b := Broken{Most: r.Counts(i).Largest, Requests: r.Decided()}
	if b.Most <= d.Setup.Limit.Count || d.Best.Requests > 0 && b.Requests >= d.Best.Requests {
		return false
	}
	d.First = d.First || d.Left > 0
	d.Best = b
	return true
}

// Reply returns the solver's traffic as a moment that shows it at all candidates of a setup.
func (d *Duel) Reply(l Lesson, s Setup, i int) Shared {
	m := Shared{Lesson: l, Setup: s, View: "compare", Selected: i, Now: s.Zero}
	for _, step := range d.Solver.Steps {
		m.Now = s.Zero.Add(step.At)
		for range step.N {
			m.Fired = append(m.Fired, Arrival{At: m.Now, Cost: max(step.Cost, 1), Fired: true})
		}
	}
	return m
}

// DuelID is the name of the lesson of the game attack and defend.
const DuelID = "attack-and-defend"

// DuelLesson returns the lesson in which nothing comes by itself.
func DuelLesson(s Setup) (Lesson, error) {
	f := scenario.NewFile(DuelID, limiter.SlidingLog, s.Limit, s.Convention)
	f.Title = "attack and defend"
	f.Text = []string{"Nothing comes by itself here: what the limiters get is what you fire."}
	f.Add(0, 1, "")
	f.Traffic = coming{Into: besides(limiter.SlidingLog, 3)}
	list, err := lessonsOf(f)
	if err != nil {
		return Lesson{}, err
	}
	list[0].Into, list[0].Given = s.Candidates, 0
	return list[0], nil
}

// Judge plays traffic of an attacker against a defence, and returns both as one moment and what that comes to. Nothing
// but the requests is taken from the attacker.
func Judge(defence, attack Shared) (Shared, Broken) {
	m := defence
	m.Fired, m.Now, m.Left, m.Traffic = attack.Fired, attack.Now, nil, nil
	r := NewRun(m.Setup, NewWorkload(Given(nil)))
	m.Play(r)
	return m, Broken{Most: r.Counts(m.Selected).Largest, Requests: r.Decided()}
}

// duelSubject is a candidate under attack.
type duelSubject struct {
	setup Setup
	run   *Run
}

// Reset implements bench.Subject.
func (d *duelSubject) Reset() error {
	d.run = NewRun(d.setup, NewWorkload(Given(nil)))
	return nil
}

// Admit implements bench.Subject.
func (d *duelSubject) Admit(at limiter.Instant, cost int64) bench.Answer {
	d.run.AdvanceTo(at)
	_, v := d.run.Arrival(d.run.Fire(cost))
	return bench.Answer{Admitted: v.Allowed(0), Err: d.run.Failed(0)}
}
