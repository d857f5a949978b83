package state

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/model/safetext"
	"ratescope/tui/shell"
)

// MarkerOptions says what markers there are.
type MarkerOptions struct {
	Set []record.Marker // that a person set before, sorted
	// Keep keeps all that are set; nil: they are forgotten at the end. It is called by one
	// goroutine at a time.
	Keep func([]record.Marker) error
	// Happened finds out what happened in all of the recording, sorted; nil: that is not known.
	Happened func(context.Context) ([]record.Marker, error)
}

// Markers are the markers of a replay. Make them with NewMarkers. Not safe for concurrent use: everything
// but its commands runs on Bubble Tea's goroutine.
type Markers struct {
	app       *shell.App
	boards    *Boards
	selection *Selection
	name      func(key string) string
	o         MarkerOptions

	Set       []record.Marker // that a person set, sorted; not to be changed
	happened  []record.Marker // sorted
	searched  bool            // happened is known
	searching bool
	after     func() tea.Cmd // what to do when it is
	keeping   bool           // Keep is running
	changed   bool           // since it began
	wanted    string         // the key to select when the replay has gone to where it is; "" none
}

// NewMarkers returns the markers of what boards show. name returns a key as the terminal may show it.
func NewMarkers(app *shell.App, boards *Boards, selection *Selection, name func(key string) string, o MarkerOptions) *Markers {
	m := &Markers{app: app, boards: boards, selection: selection, name: name, o: o, Set: o.Set}
	boards.Time.Mark(m.Set)
	return m
}

// Actions returns what a person can do with markers on every screen.
func (m *Markers) Actions() shell.Actions {
	none := func() string {
		return collect.If(!m.boards.Replayed(), "Only a replay has markers; F records to a file.", "")
	}
	jump := func(name, key, what string, on, all bool) shell.Action {
		return shell.Bind("time", name, key, what, func() tea.Cmd { return m.jump(on, all) }).When(none)
	}
	return shell.Actions{
		shell.Bind("time", "mark", "*", "marks this moment, or takes the mark away", m.ask).When(none),
		jump("next event", ")", "goes to the next event or marker", true, true),
		jump("last event", "(", "goes to the event or marker before", false, true),
		jump("next marker", "}", "goes to the next marker", true, false),
		jump("last marker", "{", "goes to the marker before", false, false),
	}
}

// found takes in what happened in the recording, and goes to where a person wanted to.
func (m *Markers) found(list []record.Marker, err error) tea.Cmd {
	m.searching = false
	if err != nil {
		return m.app.Warn(safetext.Sentence(err.Error()))
	}
	m.happened, m.searched = list, true
	m.app.Redraw()
	return m.after()
}

// Arrive selects the key of the marker that the replay has gone to. It is called when the board was
// made anew.
func (m *Markers) Arrive() {
	key := m.wanted
	if key == "" {
		return
	}
	there := m.boards.Board().Key(key) != nil
	if there {
		m.selection.Pick(key)
	}
	if there || !m.boards.Playback().Past {
		m.wanted = ""
	}
}

// ask lets a person mark the moment under the cursor, or the one on screen.
func (m *Markers) ask() {
	at, key := m.boards.Time.Moment(m.boards.At()), m.selection.Selected
	text, there := "", -1
	if i := m.at(at, key); i >= 0 {
		there, text = i, m.Set[i].Text
		at, key = m.Set[i].At, m.Set[i].Key
	}
	hint := collect.If(there >= 0, "enter keeps the text · without one the marker is taken away", "a text, or none · enter marks it")
	m.app.Open(m.app.NewPrompt("mark "+format.ClockMillis(at)+" ", text, hint, nil, func(text string, kept bool) tea.Cmd {
		if !kept {
			return nil
		}
		return m.put(record.Marker{At: at, Kind: record.MarkerSet, Key: key, Text: record.CutText(text)})
	}, nil))
}

// at returns the place of the marker that stands at an instant, that of the key first; -1 there is
// none.
func (m *Markers) at(at limiter.Instant, key string) int {
	if i := record.FindMarker(m.Set, at, key); i >= 0 {
		return i
	}
	return slices.IndexFunc(m.Set, func(s record.Marker) bool { return s.At == at })
}

// put sets a marker. Where one stands it gets the text, or is taken away without any.
func (m *Markers) put(n record.Marker) tea.Cmd {
	list := slices.Clone(m.Set) // Keep may be reading the other
	switch i := record.FindMarker(list, n.At, n.Key); {
	case i >= 0 && n.Text == "":
		list = slices.Delete(list, i, i+1)
		m.app.Say("The marker at " + format.ClockMillis(n.At) + " is taken away.")
	case i >= 0:
		list[i] = n
		m.app.Say("Marked: " + m.words(&n))
	case len(list) >= record.MostMarkers:
		return m.app.Warn("A recording has at most " + format.Thousands(record.MostMarkers) +
			" markers: take one away first, with * on it.")
	default:
		list = append(list, n)
		record.SortMarkers(list)
		m.app.Say("Marked: " + m.words(&n))
	}
	m.Set = list
	m.boards.Time.Mark(list)
	m.app.Redraw()
	return m.keep()
}

// keep returns the command that keeps the markers.
func (m *Markers) keep() tea.Cmd {
	if m.o.Keep == nil {
		return nil
	}
	if m.changed = m.keeping; m.keeping {
		return nil
	}
	m.keeping = true
	list := m.Set
	return func() tea.Msg {
		err := m.o.Keep(list)
		return shell.Then(func() tea.Cmd {
			if m.keeping = false; err != nil {
				return m.app.Warn("The marker is not kept: " + safetext.Sentence(err.Error()))
			} else if m.changed {
				return m.keep()
			}
			return nil
		})
	}
}

// jump goes to the marker after the moment on screen, or to the one before it; with all also to
// what happened, which is looked for the first time.
func (m *Markers) jump(on, all bool) tea.Cmd {
	if all && !m.searched && m.o.Happened != nil {
		m.after = func() tea.Cmd { return m.jump(on, all) }
		m.app.Say("Looking through the recording for what happened…")
		if m.searching {
			return nil
		}
		m.searching = true
		ctx := m.app.Context()
		return func() tea.Msg {
			list, err := m.o.Happened(ctx)
			return shell.Then(func() tea.Cmd { return m.found(list, err) })
		}
	}
	list := m.Set
	if all {
		list = slices.Concat(m.Set, m.happened)
		record.SortMarkers(list)
	}
	find := collect.If(on, record.NextMarker, record.PreviousMarker)
	to, found := find(list, m.boards.At())
	if !found {
		return m.app.Say(nothing(on, all))
	}
	m.Go(to)
	return nil
}

// nothing says that there is no marker to go to.
func nothing(on, all bool) string {
	what, where := "No marker is set", "before this moment; * sets one."
	if all {
		what, where = "Nothing happened", "before this moment."
	}
	if on {
		where = "after" + where[len("before"):]
	}
	return what + " " + where
}

// Go moves the replay to a marker, selects its key and lets the clock stand there.
func (m *Markers) Go(to record.Marker) {
	m.boards.Time.Reset()
	m.boards.Drive(func(p Player) { p.Seek(to.Moment()) })
	if !m.boards.Playback().Paused {
		m.boards.Pause()
	}
	m.wanted = to.Key
	m.app.Say(m.words(&to) + " · p goes on")
	m.app.Redraw()
}

// words returns a marker in a line.
func (m *Markers) words(of *record.Marker) string {
	text := format.ClockMillis(of.At)
	if of.Key != "" {
		text += " " + m.name(of.Key)
	}
	if of.Text != "" {
		text += " " + safetext.Sentence(of.Text)
	}
	return text
}
