package tui

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/pane"
	"ratescope/tui/scope"
)

// App is the root of the screen. It routes messages, keeps what a person has chosen,
// and composes the panes; each pane paints itself in a file of its own.
type App struct {
	pane.Paper

	o       Options
	ctx     context.Context
	stop    context.CancelFunc
	fps     int
	tick    time.Duration
	failure error // why the program ended by itself
	crash   sync.Once
	crashed atomic.Pointer[halt] // a panic: set from any goroutine

	dark       bool
	fixedTheme bool

	w, h   int
	frame  string // the last painted screen
	stale  bool   // something changed since
	areas  areas
	frozen *model.Board

	board   model.Board
	server  model.Server    // the header's figures: renewed once a second, so that they can be read
	cost    model.Cost      // of about the last ten seconds
	now     limiter.Instant // server clock at the last tick
	heard   limiter.Instant // server clock when it was last heard,
	heardAt time.Time       // and this machine's at that moment
	started bool            // a batch has come

	view   model.View
	rows   []*model.Watched
	known  int   // how many keys there were at the last sort
	second int64 // of the server's clock at the last sort

	moved      limiter.Instant // when something last arrived or changed
	throttled  bool            // a key counts down to its next admission
	unread     int             // keys that seem at ease, by a reading that is too old to say so
	dozing     bool            // the clock ticks once a second
	generation int             // of the clock; a tick of an older one is void
	selection
	top      int // first row on screen
	focus    part
	scope    scope.Scope
	expanded bool
	screen   screen
	class    classroom
	gridCols int // tiles beside each other on the grid
	gridPage int // tiles on the grid at once
	eventTop int // events scrolled past
	menu     *menu
	help     bool
	helpTop  int  // lines of the help scrolled past
	typing   bool // the filter has the keys
	mouse    bool

	burst     int
	perSecond float64
	shots     map[int64]*shot
	lastShot  int64
	keep      *inbox
	decisions []decided // newest last
	tally     model.Tally
	toast     toast
	recorder  Recorder // nil: nothing is being recorded

	columns []model.Bin // scratch of the timeline
}

// screen is one of the full pictures.
type screen uint8

const (
	dashboard screen = iota
	smallMultiples
	health
	eventLog
	classScreen
)

// toast is a sentence that stays on screen for a while.
type toast struct {
	text  string
	bad   bool
	until time.Time
}

// The messages. tickMsg carries this machine's clock.
type (
	tickMsg struct {
		at         time.Time
		generation int
	}
	batchMsg struct {
		batch model.Batch
		err   error
	}
)

// Init asks for the terminal's background and starts the clock and the feed.
func (a *App) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, a.nextTick(), a.nextBatch(), a.nextFired())
}

func (a *App) nextBatch() tea.Cmd {
	return func() tea.Msg {
		b, err := a.o.Take(a.ctx)
		return batchMsg{b, err}
	}
}

// Update handles one message. Each kind of command that waits is re-armed in exactly
// one place.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		if msg.generation != a.generation {
			return a, nil
		}
		a.advance(msg.at)
		return a, a.nextTick()
	case batchMsg:
		return a, a.receive(msg)
	case firedMsg:
		a.record(msg)
		return a, a.nextFired()
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
		a.Grid.Resize(a.w, a.h)
		a.stale = true
		return a, a.teach(msg)
	case tea.BackgroundColorMsg:
		a.dark = msg.IsDark()
		if !a.fixedTheme && a.Look.Dark != a.dark {
			a.dress(a.o.Shelf.Default(a.dark))
		}
	case recordedMsg:
		a.recorded(msg)
	case labLeft:
		a.screen, a.stale = dashboard, true
	case tea.KeyPressMsg:
		if a.screen == classScreen && msg.String() != "ctrl+c" {
			return a, a.teach(msg)
		}
		return a, a.press(msg)
	case tea.PasteMsg:
		if a.typing {
			a.filter(a.view.Filter + msg.Content)
		}
	case tea.MouseClickMsg:
		if a.screen == classScreen {
			return a, a.teach(msg)
		}
		return a, a.click(msg.Mouse())
	case tea.MouseMotionMsg:
		if a.screen == classScreen {
			return a, a.teach(msg)
		}
		a.stale = a.scope.Drag(msg.Mouse().X) || a.stale
	case tea.MouseReleaseMsg:
		a.drop()
	case tea.MouseWheelMsg:
		if a.screen == classScreen {
			return a, a.teach(msg)
		}
		return a, a.wheel(msg.Mouse())
	default:
		return a, a.teach(msg)
	}
	return a, nil
}

// receive applies a batch and waits for the next one.
func (a *App) receive(msg batchMsg) tea.Cmd {
	if msg.err != nil {
		if a.ctx.Err() == nil && !errors.Is(msg.err, context.Canceled) {
			a.failure = msg.err
		}
		return tea.Quit
	}
	moves, elsewhere := a.moves(&msg.batch), msg.batch.Anew != nil
	turn := !a.started || a.board.Server.Link != msg.batch.Server.Link || a.board.Server.Err != msg.batch.Server.Err
	if a.recorder != nil {
		a.recorder.Put(msg.batch)
	}
	a.board.Apply(msg.batch)
	a.account(a.board.Cost, elsewhere)
	if elsewhere || !a.started || a.server.Link != a.board.Server.Link {
		a.server = a.board.Server
	}
	a.started = true
	if p := a.o.Player; p != nil {
		a.now = p.Now(time.Now())
	} else if a.board.Server.Link == model.Live {
		a.heard, a.heardAt = a.board.At, a.board.Local
		a.now = max(a.now, a.heard)
		if a.now.Sub(a.heard) > time.Second {
			a.now = a.heard // the server's clock was set back; it rules
		}
	}
	if moves {
		a.moved = a.now
	}
	moves = moves && !a.o.Still // else the next second is soon enough
	if a.frozen == nil && (elsewhere || a.board.Len() != a.known) {
		a.known, moves = a.board.Len(), true
		a.resort()
	}
	if a.frozen == nil && (turn || elsewhere || moves && a.dozing) { // else the clock's next picture shows it
		a.stale = true
	}
	if moves {
		return tea.Batch(a.nextBatch(), a.wake())
	}
	return a.nextBatch()
}

// account adds up what the watching costs; what is older than some seconds weighs less and
// less, so that the figure holds still.
func (a *App) account(c model.Cost, anew bool) {
	const memory = 10 * time.Second
	if anew {
		a.cost = model.Cost{}
	}
	if a.cost.Over > memory {
		a.cost = model.Cost{Commands: a.cost.Commands / 2, Server: a.cost.Server / 2, Over: a.cost.Over / 2}
	}
	a.cost.Add(c)
}

// moves says whether a batch brings more than the passing of time.
func (a *App) moves(b *model.Batch) bool {
	if b.Anew != nil || b.Server.Link != a.board.Server.Link || b.Server.Err != a.board.Server.Err || b.Sweep.Passes == 0 || len(b.Gone) > 0 {
		return true
	}
	for i := range b.Readings {
		if len(b.Readings[i].Arrivals) > 0 {
			return true
		}
	}
	return false
}

// shown is the board on screen: the live one, or the one that was frozen by pausing.
func (a *App) shown() *model.Board {
	if a.frozen != nil {
		return a.frozen
	}
	return &a.board
}

// shownNow is the instant on screen.
func (a *App) shownNow() limiter.Instant {
	if a.frozen != nil {
		return a.frozen.At
	}
	return a.now
}

// staleAfter is how old a reading may be before it counts as the past.
const staleAfter = 5 * time.Second

// outdated says how old the key's reading is when that is too old to be shown as now.
func (a *App) outdated(k *model.Watched) (age time.Duration, yes bool) {
	age = a.shownNow().Sub(k.Reading.At)
	return age, age > staleAfter || a.shown().Server.Link == model.Down
}

// stalled counts the keys whose reading is too old to call them at ease.
func (a *App) stalled() int {
	if a.shown().Server.Link == model.Down {
		return a.board.AtEase(math.MaxInt64)
	}
	return a.board.AtEase(a.shownNow().Add(-staleAfter))
}

func (a *App) say(bad bool, text string) {
	a.toast = toast{text: text, bad: bad, until: time.Now().Add(6 * time.Second)}
	a.stale = true
}

func (a *App) dress(t *themes.Theme) {
	a.Dress(t, a.o.ASCII)
	a.stale = true
}
