package lab

import (
	"math/rand/v2"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// story is a lesson's run with its traffic and the clock that moves it.
type story struct {
	lessons []lab.Lesson
	trace   *lab.Trace // recorded traffic that can take the place of a lesson's; may be nil

	lesson   int
	run      *lab.Run
	traffic  []lab.Traffic
	recorded bool  // the trace takes the place of the traffic
	key      int32 // whose requests of the trace come
	seed     uint64

	clock      clock
	rate       rate
	burst      int             // requests of a burst, and in a window at a rate
	seek       *seek           // to a moment that is far off; nil when there is none
	due        []lab.Arrival   // fired by hand when the story comes there
	showsUntil limiter.Instant // when the solution that is shown before the lesson ends; 0 where none is
	past       *lab.Run        // the run before it was restarted; nil when there is none
}

// at returns the lesson on screen.
func (s *story) at() *lab.Lesson { return &s.lessons[s.lesson] }

// open begins a lesson.
func (s *story) open(i int) error {
	s.lesson = i
	l := s.at()
	s.traffic, s.seed, s.recorded, s.key, s.past = slices.Clone(l.Traffic), l.Seed, false, 0, nil
	s.clock.speed = normalSpeed
	s.burst = int(min(max(l.Limit.Count, 1), maxBurst))
	return s.restart(l.Setup())
}

// maxBurst is the most that is fired at once.
const maxBurst = 1000

// restart goes back to the beginning under a setup, with the same seed.
func (s *story) restart(setup lab.Setup) error {
	arrivals, err := s.workload(setup)
	if err != nil {
		return err
	}
	if s.run != nil && s.run.Decided() > 0 {
		s.past = s.run
	}
	s.run = lab.NewRun(setup, arrivals)
	s.halt()
	return nil
}

// undo takes a restart back.
func (s *story) undo() bool {
	if s.past == nil {
		return false
	}
	s.run, s.past = s.past, nil
	s.halt()
	return true
}

// reseed restarts with another seed.
func (s *story) reseed() error {
	s.seed = rand.New(rand.NewPCG(s.seed, 1)).Uint64() % 10_000
	return s.restart(s.run.Setup())
}

// halt stops the clock and the firing.
func (s *story) halt() { s.clock.playing, s.rate.on, s.seek, s.due = false, false, nil, nil }

// workload returns the arrivals that come by themselves.
func (s *story) workload(setup lab.Setup) (*lab.Workload, error) {
	if s.recorded && s.trace != nil {
		return lab.NewWorkload(s.trace.Source(setup, s.key)), nil
	}
	return s.at().Workload(setup, s.traffic, s.seed)
}

// cost is what a request fired by hand costs.
func (s *story) cost() int64 { return max(s.run.Setup().Cost, 1) }

// fire sends n requests by hand, now.
func (s *story) fire(n int) {
	for range n {
		s.run.Fire(s.cost())
	}
}

// length is how much of the story the seek bar shows.
func (s *story) length() time.Duration {
	all := max(s.at().Length(), s.run.Elapsed())
	if s.recorded {
		all = max(all, s.trace.Length())
	}
	return all
}

// again makes the traffic anew under a setup and returns to the same moment, with what
// was fired by hand.
func (s *story) again(setup lab.Setup) (tea.Cmd, error) {
	if err := setup.Validate(); err != nil {
		return nil, err
	}
	now := s.run.Now()
	var fired []lab.Arrival
	for i := range s.run.Decided() {
		if a, _ := s.run.Arrival(i); a.Fired {
			fired = append(fired, a)
		}
	}
	setup.Zero = s.run.Setup().Zero
	arrivals, err := s.workload(setup)
	if err != nil {
		return nil, err
	}
	s.run = lab.NewRun(setup, arrivals)
	return s.goOn(now, fired), nil
}

// solve restarts and plays the lesson's own solution, up to its end. Of an incident that is its
// requests to the last, under the limit that is looked for.
func (s *story) solve() error {
	setup, goal := s.at().Setup(), lab.Goal{}
	if g := s.at().Goal; g != nil {
		goal = *g
	}
	if goal.Kind == lab.GoalSmallest {
		setup.Limit.Count, setup.Limit.Burst = goal.Value, 0
	}
	if err := s.restart(setup); err != nil {
		return err
	}
	zero := s.run.Setup().Zero
	if goal.Kind == lab.GoalSmallest || goal.Kind == lab.GoalMost || goal.Kind == lab.GoalCheapest {
		s.run.SeekTo(zero.Add(s.at().Length()))
	}
	if steps := s.at().Solution(); len(steps) > 0 {
		s.due = solution(s.at(), zero)
		s.advanceTo(zero.Add(steps[len(steps)-1].At))
	}
	return nil
}

// seek is a jump on the clock of the story that is computed over several frames.
type seek struct {
	from, to limiter.Instant
	fired    []lab.Arrival // to be fired again on the way, in the order of time
}

// onwardMsg asks for the next part of a seek.
type onwardMsg struct{}

func onward() tea.Msg { return onwardMsg{} }

// seekPart is how many requests are decided about between two frames: with six
// algorithms about 50 ms.
const seekPart = 25_000

// goTo goes to a moment, and stops there.
func (s *story) goTo(t limiter.Instant) tea.Cmd {
	s.halt()
	if t <= s.run.Now() {
		s.run.SeekTo(t)
		return nil
	}
	return s.goOn(t, nil)
}

// goOn goes on to a moment and fires on the way, in parts that show how far it is.
func (s *story) goOn(to limiter.Instant, fired []lab.Arrival) tea.Cmd {
	s.seek = &seek{from: s.run.Now(), to: to, fired: fired}
	return s.seekOn()
}

// seekOn computes the next part of a seek.
func (s *story) seekOn() tea.Cmd {
	k := s.seek
	if k == nil {
		return nil
	}
	for len(k.fired) > 0 {
		if !s.run.AdvanceSome(k.fired[0].At, seekPart) {
			return onward
		}
		s.run.Fire(k.fired[0].Cost)
		k.fired = k.fired[1:]
	}
	if !s.run.AdvanceSome(k.to, seekPart) {
		return onward
	}
	s.seek = nil
	return nil
}

// done is how much of the seek is behind, 0 to 1.
func (k *seek) done(now limiter.Instant) float64 {
	if k.to <= k.from {
		return 1
	}
	return float64(now-k.from) / float64(k.to-k.from)
}
