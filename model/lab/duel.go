package lab

import (
	"time"

	"ratescope/limiter"
	"ratescope/model/bench"
)

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
	Setup  Setup       // its one candidate is attacked
	Solved bool        // the solver has searched
	Solver bench.Worst // what it found
	Failed error       // why it found nothing out; nil where it did
	Best   Broken      // the shortest traffic of the person's; the zero Broken while there is none
	First  bool        // the person broke it before the solver answered

	ends time.Time // zero before the first Tick
	left time.Duration
}

// Broken is what traffic brought about: the most that was admitted in a true window, and by how many requests in all.
type Broken struct {
	Most     int64
	Requests int
}

// NewDuel begins a duel about candidate i of a setup, before the solver has searched.
func NewDuel(s Setup, i int) *Duel {
	s.Candidates = []Candidate{s.Candidates[i]}
	return &Duel{Setup: s, left: DuelTime}
}

// Solve lets the solver search at the candidate of a setup. It takes up to some seconds, and may run beside what draws.
func Solve(s Setup) (bench.Worst, error) {
	most := int64(solverRequests)
	if s.Candidates[0].Scripted() {
		most = solverScriptRequests
	}
	return bench.Attack(&duelSubject{setup: s}, s.Limit, s.Zero, most)
}

// Tick moves the clock of the duel.
func (d *Duel) Tick(now time.Time) {
	if d.ends.IsZero() {
		d.ends = now.Add(d.left)
	}
	d.left = max(d.ends.Sub(now), 0)
}

// Left returns how long it is until the solver answers; 0 where it has.
func (d *Duel) Left() time.Duration { return d.left }

// GiveUp lets the solver answer now.
func (d *Duel) GiveUp() { d.left, d.ends = 0, time.Unix(0, 0) }

// Answered reports whether the solver's answer is there and due.
func (d *Duel) Answered() bool { return d.left == 0 && d.Solved && d.Failed == nil }

// Holds reports whether the solver found no traffic that breaks the limiter. That there is none is not known then.
func (d *Duel) Holds() bool { return d.Solver.Admitted <= d.Setup.Limit.Count }

// See takes what a run of the limiter, as candidate i, has come to. It reports whether that breaks it by fewer requests than
// before.
func (d *Duel) See(r *Run, i int) bool {
	b := Broken{Most: r.Counts(i).Largest, Requests: r.Decided()}
	if b.Most <= d.Setup.Limit.Count || d.Best.Requests > 0 && b.Requests >= d.Best.Requests {
		return false
	}
	d.First = d.First || d.left > 0
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

// DuelLesson returns the lesson in which nothing comes by itself.
func DuelLesson(s Setup) (Lesson, error) {
	f := newScenarioFile("attack-and-defend", limiter.SlidingLog, s.Limit, s.Convention)
	f.Title = "attack and defend"
	f.Text = []string{"Nothing comes by itself here: what the limiters get is what you fire."}
	f.Steps = append(f.Steps, fileStep{T: 0, N: 1, Repeat: 1})
	f.Traffic.Into = besides(limiter.SlidingLog, 3)
	list, err := f.lessons()
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
