package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/pane"
)

// screen is one of the full pictures.
type screen uint8

const (
	compare screen = iota
	inspector
	quiz
	lessonText
	screens // how many there are
)

// overlay is what is laid over the screen.
type overlay uint8

const (
	noOverlay overlay = iota
	helpOverlay
	lessonList
	termsOverlay
	goPrompt
)

// speeds of the clock.
var speeds = [...]float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50}

const normalSpeed = 3

// Lab is the teaching screen as a Bubble Tea model. Make one with New.
type Lab struct {
	pane.Paper

	o    Options
	fps  int
	tick time.Duration

	shelf      themes.Shelf
	fixedTheme bool
	w, h       int
	frame      string
	stale      bool
	mouse      bool
	remark     string // what goes on elsewhere and must not be forgotten; see Remind

	lesson   int
	run      *lab.Run
	traffic  []lab.Traffic
	recorded bool  // the trace is in the place of the traffic
	key      int32 // whose requests come, where the traffic has many keys
	seed     uint64
	playing  bool
	way      *way // on the way to a moment that is far off; nil when there is none
	speed    int
	last     time.Time // this machine's clock at the last tick
	rate     bool      // firing at a rate
	due      limiter.Instant
	burst    int
	zoom     int

	screen   screen
	focus    int // contender
	picked   int // request in the inspector; -1 follows the next one
	text     int // first line of the lesson's text on screen
	over     overlay
	row      int // selected row of the overlay
	typed    string
	hint     bool
	big      bool
	ask      *lab.Quiz
	answered answered
	progress progress
	reached  map[string]bool // lessons whose goal was reached
	toast    toast

	seekBar cell.Rect   // where it was painted
	columns []model.Bin // scratch of the lanes
}

// progress is how far the goal is, worked out once for each change of the run.
type progress struct {
	version, decided int
	now              limiter.Instant
	known            bool
	lab.Progress
}

// toast is a sentence that stays on screen for a while.
type toast struct {
	text  string
	bad   bool
	until time.Time
}

// The messages. tickMsg carries this machine's clock.
type (
	tickMsg  time.Time
	savedMsg struct {
		name string
		err  error
	}
)

// Ticks says whether msg is the lab's own clock: a program that shows the lab among
// other screens lets the clock stand by not handing it on, and starts it with Init.
func Ticks(msg tea.Msg) bool {
	_, ticks := msg.(tickMsg)
	return ticks
}

// Init asks for the terminal's background and starts the clock.
func (l *Lab) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, l.nextTick()) }

func (l *Lab) nextTick() tea.Cmd {
	return tea.Tick(l.tick, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// Update handles one message.
func (l *Lab) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		l.advance(time.Time(msg))
		return l, l.nextTick()
	case onwardMsg:
		l.stale = true
		return l, l.onward()
	case savedMsg:
		if msg.err != nil {
			l.say(true, fmt.Sprintf("Not saved: %v.", msg.err))
		} else {
			l.say(false, "Saved "+msg.name+".")
		}
	case tea.WindowSizeMsg:
		l.w, l.h = msg.Width, msg.Height
		l.Grid.Resize(l.w, l.h)
		l.stale = true
	case tea.BackgroundColorMsg:
		if !l.fixedTheme && l.Look.Dark != msg.IsDark() {
			l.dress(l.shelf.Default(msg.IsDark()))
		}
	case tea.KeyPressMsg:
		return l, l.press(msg)
	case tea.MouseClickMsg:
		return l, l.click(msg.Mouse())
	case tea.MouseMotionMsg:
		return l, l.drag(msg.Mouse())
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			return l, l.do(actUp)
		}
		return l, l.do(actDown)
	}
	return l, nil
}

// open begins a lesson.
func (l *Lab) open(i int) error {
	l.lesson = (i + len(l.o.Lessons)) % len(l.o.Lessons)
	it := &l.o.Lessons[l.lesson]
	l.traffic, l.seed, l.recorded, l.key = slices.Clone(it.Traffic), it.Seed, false, 0
	l.focus, l.picked, l.text, l.hint, l.zoom, l.speed = 0, -1, 0, false, 1, normalSpeed
	l.burst = int(min(max(it.Limit.Count, 1), 1000))
	l.ask = nil
	return l.restart(it.Setup())
}

// restart goes back to the beginning under a setup, with the same seed.
func (l *Lab) restart(s lab.Setup) error {
	tape, err := l.tape(s)
	if err != nil {
		return err
	}
	l.run = lab.NewRun(s, tape)
	l.playing, l.rate, l.picked = false, false, -1
	l.progress, l.stale = progress{}, true
	return nil
}

// tape returns the arrivals that come by themselves.
func (l *Lab) tape(s lab.Setup) (*lab.Tape, error) {
	if l.recorded && l.o.Trace != nil {
		return lab.NewTape(l.o.Trace.Source(s, l.key)), nil
	}
	return l.at().Tape(s, l.traffic, l.key, l.seed)
}

// at returns the lesson on screen.
func (l *Lab) at() *lab.Lesson { return &l.o.Lessons[l.lesson] }

// advance moves the story on by what has passed on this machine's clock.
func (l *Lab) advance(local time.Time) {
	passed := min(max(local.Sub(l.last), 0), 250*time.Millisecond)
	if l.last.IsZero() {
		passed = 0
	}
	l.last = local
	if l.toast.text != "" && local.After(l.toast.until) {
		l.toast, l.stale = toast{}, true
	}
	if !l.playing || l.way != nil {
		return
	}
	to := l.run.Now().Add(time.Duration(float64(passed) * speeds[l.speed]))
	for l.rate && l.due <= to {
		l.run.AdvanceTo(l.due)
		l.run.Fire(l.run.Setup().Cost)
		l.due = l.due.Add(l.spacing())
	}
	l.run.AdvanceTo(to)
	l.stale = true
}

// spacing is the time between two requests that are fired at a rate.
func (l *Lab) spacing() time.Duration {
	return max(l.run.Setup().Limit.Window/time.Duration(max(l.burst, 1)), time.Microsecond)
}

// goal returns how far the goal is, if the lesson has one.
func (l *Lab) goal() lab.Progress {
	g := l.at().Goal
	p := &l.progress
	if g == nil {
		return lab.Progress{}
	}
	changed := p.version != l.run.Version() || p.decided != l.run.Decided()
	if !p.known || changed || g.Kind == lab.GoalReadings && p.now != l.run.Now() {
		reached := p.Reached // what was reached stays reached until the restart
		at := p.At
		p.version, p.decided, p.now, p.known = l.run.Version(), l.run.Decided(), l.run.Now(), true
		p.Progress = g.Progress(l.run)
		if l.o.ASCII {
			p.Text = strings.NewReplacer("✓", l.Look.YesMark, "✖", l.Look.OverMark).Replace(p.Text)
		}
		if reached {
			p.Reached, p.At = true, at
		}
		if p.Reached && !reached {
			l.reached[l.at().ID] = true
		}
	}
	return p.Progress
}

// reseed restarts with another seed.
func (l *Lab) reseed() {
	l.seed = rand.New(rand.NewPCG(l.seed, 1)).Uint64() % 10_000
	if err := l.restart(l.run.Setup()); err != nil {
		l.say(true, err.Error()+".")
	}
}

func (l *Lab) say(bad bool, text string) {
	l.toast = toast{text: text, bad: bad, until: time.Now().Add(6 * time.Second)}
	l.stale = true
}
