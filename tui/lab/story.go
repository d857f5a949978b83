package lab

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/lab"
	"ratescope/model/safetext"
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
	s.traffic, s.seed, s.recorded, s.key = slices.Clone(l.Traffic), l.Seed, false, 0
	s.run, s.past = lab.NewRun(l.Setup(), lab.NewWorkload(nil)), nil
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
	if s.run.Decided() > 0 {
		s.past = s.run
	}
	s.run = lab.NewRun(setup, arrivals)
	s.halt()
	return nil
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
	fired := lab.MomentOf(s.run).Fired
	setup.Zero = s.run.Setup().Zero
	arrivals, err := s.workload(setup)
	if err != nil {
		return nil, err
	}
	s.run = lab.NewRun(setup, arrivals)
	s.due = append(fired, s.due...)
	return s.goOn(now), nil
}

// solve restarts and plays the lesson's own solution, up to its end. Of an incident that is its
// requests to the last, under the limit that is looked for.
func (s *story) solve() error {
	setup, goal := s.at().Setup(), cmp.Or(s.at().Goal, &lab.Goal{})
	if goal.Kind == lab.GoalSmallest || goal.Kind == lab.GoalUnder {
		setup.Limit.Count = goal.Value
	}
	if err := s.restart(setup); err != nil {
		return err
	}
	zero := s.run.Setup().Zero
	steps := s.at().Solution()
	if len(steps) == 0 {
		s.run.SeekTo(zero.Add(s.at().Length()))
		return nil
	}
	s.due = solution(s.at(), zero)
	s.advanceTo(zero.Add(steps[len(steps)-1].At), math.MaxInt)
	return nil
}

// seek is a jump on the clock of the story that is computed over several frames.
type seek struct{ from, to limiter.Instant }

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
	return s.goOn(t)
}

// goOn goes on to a moment, in parts that show how far it is.
func (s *story) goOn(to limiter.Instant) tea.Cmd {
	s.seek = &seek{from: s.run.Now(), to: to}
	return s.seekOn()
}

// seekOn computes the next part of a seek.
func (s *story) seekOn() tea.Cmd {
	if s.seek != nil && !s.advanceTo(s.seek.to, seekPart) {
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

// speeds of the clock.
var speeds = [...]float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50}

const normalSpeed, showSpeed = 3, 5

// clock moves a story by this machine's time.
type clock struct {
	playing bool
	speed   int           // index of speeds
	last    time.Time     // this machine's clock at the last tick; zero before the first
	rest    time.Duration // passed, and not a millisecond of the story yet
}

// longestTick bounds how far a story goes in one tick, however long that took.
const longestTick = 250 * time.Millisecond

// passed returns how much time of the story has passed since the last tick: whole
// milliseconds, so that the times on screen can be read.
func (c *clock) passed(now time.Time) time.Duration {
	real := collect.If(c.last.IsZero(), 0, min(max(now.Sub(c.last), 0), longestTick))
	c.last = now
	if !c.playing {
		return 0
	}
	d := time.Duration(float64(real)*speeds[c.speed]) + c.rest
	c.rest = d % time.Millisecond
	return d - c.rest
}

// play starts or stops the clock.
func (c *clock) play(on bool) { c.playing, c.last, c.rest = on, time.Time{}, 0 }

// faster changes the speed by so many steps.
func (c *clock) faster(by int) { c.speed = min(max(c.speed+by, 0), len(speeds)-1) }

// rate fires a burst spread over every window.
type rate struct {
	on  bool
	due limiter.Instant // when the next request is fired
}

// advance moves the story on by what has passed on this machine's clock.
func (s *story) advance(now time.Time) {
	passed := s.clock.passed(now)
	if passed == 0 || s.seek != nil {
		return
	}
	to := s.run.Now().Add(passed)
	for s.rate.on && s.rate.due <= to {
		s.run.AdvanceTo(s.rate.due)
		s.fire(1)
		s.rate.due = s.rate.due.Add(s.spacing())
	}
	s.advanceTo(to, math.MaxInt)
}

// advanceTo moves the story on and fires what is due on the way. Between two of those it decides about so many requests at
// most, and reports whether it got there. Without a seek what arrives at the moment where the story stands is still to come.
func (s *story) advanceTo(to limiter.Instant, most int) bool {
	reach := func(t limiter.Instant) bool { return s.seek == nil && t <= s.run.Now() || s.run.AdvanceSome(t, most) }
	for len(s.due) > 0 && s.due[0].At <= to {
		if !reach(s.due[0].At) {
			return false
		}
		s.run.Fire(s.due[0].Cost)
		s.due = s.due[1:]
	}
	return reach(to)
}

// solution returns what a lesson's own solution fires in a story that begins at zero.
func solution(l *lab.Lesson, zero limiter.Instant) (list []lab.Arrival) {
	for _, step := range l.Solution() {
		if step.Cost > 0 {
			list = append(list, slices.Repeat([]lab.Arrival{{At: zero.Add(step.At), Cost: step.Cost}}, step.Repeat)...)
		}
	}
	return list
}

// spacing is the time between two requests that are fired at a rate.
func (s *story) spacing() time.Duration {
	return max(s.run.Setup().Limit.Window/time.Duration(max(s.burst, 1)), time.Microsecond)
}

// toggleRate starts or stops firing at a rate.
func (s *story) toggleRate() {
	s.rate.on = !s.rate.on
	s.rate.due = s.run.Now().Add(s.spacing())
	if s.rate.on && !s.clock.playing {
		s.clock.play(true)
	}
}

// stream is traffic that can be put in the place of a lesson's.
type stream struct {
	name     string
	list     []lab.Traffic
	recorded bool // the trace
}

// streams lists them for the limit of the moment.
func (s *story) streams() []stream {
	limit := s.run.Setup().Limit
	ms := float64(limit.Window) / float64(time.Millisecond)
	n := float64(max(limit.Count, 1))
	perSecond := min(n/limit.Window.Seconds(), 10_000)
	one := func(name string, t lab.Traffic) stream { return stream{name: name, list: []lab.Traffic{t}} }
	storm := lab.Traffic{Model: lab.Retry, Clients: int(min(3*n, 300)), PerSecond: perSecond / n, RetryMS: 1 + ms/20}
	calm := storm
	calm.Backoff = true
	list := []stream{
		{name: "none"},
		one("poisson, 1.2 × the limit", lab.Traffic{Model: lab.Poisson, PerSecond: 1.2 * perSecond}),
		one("steady, 1.2 × the limit", lab.Traffic{Model: lab.Steady, EveryMS: ms / n / 1.2}),
		one("on and off", lab.Traffic{Model: lab.OnOff, PerSecond: 3 * perSecond, OnMS: 1 + ms*0.4, OffMS: ms * 0.8}),
		one("cron bursts", lab.Traffic{Model: lab.Cron, EveryMS: ms / 2, PhaseMS: ms / 4, Burst: int(min(n*0.7+1, 10_000)),
			SpreadMS: ms / 20}),
		one("end-of-window adversary", lab.Traffic{Model: lab.Adversary, SpreadMS: ms / 100}),
		one("retry storm", storm),
		one("retries with backoff", calm),
	}
	if own := s.at().Traffic; len(own) > 0 {
		list = append(list, stream{name: "the lesson's", list: own})
	}
	if s.trace != nil {
		list = append(list, stream{name: "recorded", recorded: true})
	}
	return list
}

// on is the number of the stream that comes by itself now, in a list; -1 for one that was
// made for another limit.
func (s *story) on(list []stream) int {
	return slices.IndexFunc(list, func(t stream) bool {
		return t.recorded == s.recorded && (s.recorded || slices.Equal(t.list, s.traffic))
	})
}

// trafficName says what comes by itself.
func (s *story) trafficName() string {
	list := s.streams()
	if i := s.on(list); i >= 0 {
		return list[i].name
	}
	return string(s.traffic[0].Model)
}

// keyCount returns how many keys the traffic is spread over; 1 where it is not recorded.
func (s *story) keyCount() int {
	if s.recorded {
		return len(s.trace.Keys)
	}
	return 1
}

// keyName says whose requests come.
func keyName(s *story) string {
	n := s.keyCount()
	if s.key == lab.AllKeys {
		return fmt.Sprintf("all %d as one", n)
	}
	return fmt.Sprintf("%d of %d %s", s.key+1, n, safetext.Clip(safetext.Clean(s.trace.Keys[s.key].Name), 18, safetext.Ellipsis))
}

// OpenMsg opens recorded requests as lessons: those of the incident go before all others.
type OpenMsg struct{ Trace *lab.Trace }

// study makes lessons of recorded requests and begins the first of them. Those of an incident
// before go.
func (s *Screen) study(t *lab.Trace) error {
	lessons, err := lab.Incident(t)
	if err != nil {
		return err
	}
	old := slices.DeleteFunc(slices.Clone(s.lessons), func(l lab.Lesson) bool { return strings.HasPrefix(l.ID, lab.IncidentID) })
	s.lessons, s.trace = append(lessons, old...), t
	s.results.Reached = collect.Only(s.results.Reached, func(id string) bool { return !strings.HasPrefix(id, lab.IncidentID) })
	s.begin(0)
	s.app.Say("These are the requests of the key. E keeps the lesson as a file that ratescope lab opens.")
	return nil
}
