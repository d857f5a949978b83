package tui_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// ordinary are words that a person types who looks for something, and the action that is
// meant; "" where there is none.
var ordinary = map[string]string{
	"help": "help", "keys": "", "grid": "grid", "lab": "lab", "health": "health", "events": "events", "event": "events",
	"dashboard": "dashboard", "dash": "dashboard", "theme": "theme", "themes": "", "mouse": "mouse", "quit": "quit", "stop": "stop",
	"pause": "pause", "zoom": "zoom out", "sort": "sort", "filter": "filter", "pin": "pin", "copy": "copy", "export": "export",
	"record": "record", "expand": "expand", "reverse": "reverse", "back": "back", "redis": "health", "api": "", "login": "",
	"key": "key menu",
	"gr":  "grid", "re": "reverse", "red": "", "json": "export", "file": "", "row": "copy", "clipboard": "", "time": "", "scroll": "",
	"colour": "",
	"exit":   "", "search": "filter", "throttled": "filter", "watch": "watch another", "connect": "watch another",
	"server": "watch another",
	"why":    "look ahead", "past": "go to", "history": "capsule", "csv": "csv", "timeline": "timeline", "explain": "look ahead",
	"next": "next pane",
}

// TestThePaletteDoesWhatIsMeant types the first two to four letters of every action and
// ordinary words, and presses enter: what is hit begins with what was typed, or is the
// action that the word means, and nothing is ever fired.
func TestThePaletteDoesWhatIsMeant(t *testing.T) {
	injector := &feedInjector{}
	s := tuitest.NewStage(t, 80, 24, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector},
		Saving: state.FileOptions{
			Capsule: func(*model.Board) (string, error) { return "the last ten minutes", nil }}}})
	injector.feed = s.Feed
	s.Run(time.Second)
	first := func() string {
		if hits := hits(s); len(hits) > 0 {
			return hits[0].Name
		}
		return ""
	}
	// hits returns what enter would do, by how many letters were typed.
	hits := func(typed string) (names []string) {
		s.Press(":")
		names = append(names, first())
		for _, r := range typed {
			s.Press(strings.ReplaceAll(string(r), " ", "space"))
			names = append(names, first())
		}
		s.Press("esc")
		return names
	}
	actions := s.App.All()
	if act := actions.Named(hits("")[0]); act == nil || act.Writes {
		t.Errorf("with nothing typed enter does %v, which writes", act)
	}
	for _, act := range actions {
		if act.Name == "palette" {
			continue
		}
		names := hits(act.Name)
		for n := 2; n <= min(4, len(act.Name)); n++ {
			typed, got := act.Name[:n], names[n]
			if found := actions.Named(got); found == nil || !strings.HasPrefix(got, strings.TrimSpace(typed)) && !act.Writes {
				t.Errorf(":%s hits %q", typed, got)
			}
		}
		if got := names[len(act.Name)]; got != act.Name {
			t.Errorf(":%s hits %q", act.Name, got)
		}
	}
	for word, want := range ordinary {
		if got := hits(word)[len(word)]; want != "" && got != want {
			t.Errorf(":%s hits %q, want %q", word, got, want)
		}
	}
	var started sync.WaitGroup // what the words start
	words := []string{"gr", "api", "stop", "key", "re", "lab", "events", "help", "fi", "fir", "bu", "burs", "rat", "ra", "fire one"}
	for word := range ordinary {
		words = append(words, word)
	}
	for _, word := range words {
		if word == "quit" {
			continue
		}
		s.Press(":")
		for _, r := range word {
			s.Press(strings.ReplaceAll(string(r), " ", "space"))
		}
		if _, cmd := s.App.Update(tuitest.Key("enter")); cmd != nil {
			started.Go(func() { cmd() })
		}
		s.Press("esc", "esc", "esc", "1")
	}
	started.Wait()
	if orders := injector.Orders(); len(orders) != 0 {
		t.Errorf("words fired %+v", orders)
	}
}

// TestAWritingActionAsks: its whole name and enter lay a question over the screen; a second
// enter fires.
func TestAWritingActionAsks(t *testing.T) {
	injector := &feedInjector{}
	told(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, func(x *terminal, _ *tuitest.Feed,
		_ *feedInjector) {
		x.Press(":", "b", "u", "r", "enter")
		x.See("burst")
		if len(injector.Orders()) != 0 {
			t.Fatal("a part of its name fired")
		}
		x.Press("enter")
		x.See("It writes to Redis.")
		if len(injector.Orders()) != 0 {
			t.Fatal("its name fired without a question")
		}
		x.Press("esc")
		x.Gone("It writes to Redis.")
		x.Press(":", "b", "u", "r", "s", "t", "enter", "enter")
		x.Wait(time.Second)
		if n := len(injector.Orders()); n != 1 {
			t.Errorf("%d orders after the answer, want 1", n)
		}
	})
}

// TestThePaletteBeginsWithWhatIsUsed: what was chosen last stands first, and is still not what writes.
func TestThePaletteBeginsWithWhatIsUsed(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}})
	s.Run(time.Second)
	for _, name := range []string{"copy", "reverse", "burst"} {
		s.Press(":")
		s.Press(strings.Split(name, "")...)
		s.Press("enter", "esc")
	}
	s.Press(":")
	if hits := hits(s); hits[0].Name != "reverse" || hits[1].Name != "copy" {
		t.Errorf("the palette begins with %q and %q", hits[0].Name, hits[1].Name)
	}
}
