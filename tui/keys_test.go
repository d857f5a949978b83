package tui_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// promised are the keys that the product's description fixes.
var promised = strings.Fields("space b r + - x up down j k enter esc tab 1 2 3 4 5 6 / s S p left right h l [ ] P t m y e : ? q ctrl+c")

func TestEveryPromisedKeyIsBound(t *testing.T) {
	where := map[string]bool{}
	s := tuitest.NewStage(t, 140, 60, tui.Options{})
	for _, b := range s.App.All() {
		for _, key := range b.Keys() {
			where[key] = true
		}
	}
	for _, key := range promised {
		if !where[key] {
			t.Errorf("%q does nothing", key)
		}
	}
}

// TestAKeyMeansOneThing: on every screen a key belongs to one action; esc alone is shared,
// between the step back of the screen and the shell's.
func TestAKeyMeansOneThing(t *testing.T) {
	s := tuitest.NewStage(t, 140, 60, tui.Options{})
	s.Run(time.Second)
	for _, p := range pictures {
		s.Press(p.key)
		where := map[string]string{}
		for _, b := range s.App.All() {
			for _, key := range b.Keys() {
				if other, twice := where[key]; twice && key != "esc" {
					t.Errorf("on %s %q %s and also %s", p.name, key, other, b.What())
				}
				where[key] = b.What()
			}
		}
	}
}

func TestEveryActionIsExplained(t *testing.T) {
	s := tuitest.NewStage(t, 140, 60, tui.Options{})
	s.Run(time.Second)
	for _, p := range pictures {
		s.Press(p.key)
		for _, b := range s.App.All() {
			if b.Name == "" || b.Do == nil || b.Help().Key == "" || b.What() == "" || b.Group == "" {
				t.Errorf("the table of %s says too little of %+v", p.name, b)
			}
		}
	}
}

// TestKeysArriveAsTheyAreBound holds the table to the names that Bubble Tea gives to keys:
// " " is never a key's name.
func TestKeysArriveAsTheyAreBound(t *testing.T) {
	s := tuitest.NewStage(t, 140, 60, tui.Options{})
	for _, b := range s.App.All() {
		for _, name := range b.Keys() {
			if got := tuitest.Key(name).String(); got != name {
				t.Errorf("the key bound as %q arrives as %q", name, got)
			}
		}
	}
}

func TestTheHelpShowsEveryKey(t *testing.T) {
	s := tuitest.NewStage(t, 140, 84, tui.Options{Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}})
	s.Run(time.Second)
	s.Press("?", "?")
	for _, b := range s.App.All() {
		s.See(b.Help().Key, b.What())
	}
}

func TestTheHelpSaysOnceWhyKeysDoNothing(t *testing.T) {
	s := tuitest.NewStage(t, 80, 84, tui.Options{})
	s.Run(time.Second)
	s.Press("?", "?")
	for _, b := range s.App.All() {
		if b.Group == "fire" && b.Reason() != "" {
			s.See(b.What())
		}
	}
	if text := s.Text(); strings.Count(text, "Only a replay has markers") != 1 || strings.Contains(text, "(Only") {
		t.Errorf("the help does not say once why the keys of markers do nothing:\n%s", text)
	}
}

// TestTheHelpBeginsWithFewKeys: at most 25 under four headings, and all of them one key further.
func TestTheHelpBeginsWithFewKeys(t *testing.T) {
	for screen, rest := range map[string]string{"1": "reverses the order", "2": "reverses the order", "3": "restarts, another seed",
		"5": "reverses the order", "6": "reverses the order"} {
		s := tuitest.NewStage(t, 80, 60, tui.Options{Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}})
		s.Run(time.Second)
		s.Press(screen)
		aims, n := map[shell.Aim]bool{}, 1 // the screens, as one
		for _, b := range s.App.All() {
			if b.Aim != "" {
				n++
				aims[b.Aim] = true
			}
		}
		if n > 25 || len(aims) != 4 {
			t.Errorf("screen %s begins with %d keys for %v", screen, n, aims)
		}
		s.Press("?")
		s.See("look", "find", "time", "act", "1-6", "? lists all keys")
		if text := s.Text(); strings.Contains(text, rest) {
			t.Errorf("the first page of screen %s has too much:\n%s", screen, text)
		}
		s.Press("?")
		s.See(rest)
	}
}

// TestTheHelpOfTheLabHasItsSigns, which mean something else than those of the dashboard.
func TestTheHelpOfTheLabHasItsSigns(t *testing.T) {
	s := tuitest.NewStage(t, 140, 60, tui.Options{})
	s.Run(time.Second)
	s.Press("3", "?")
	s.See("beyond its true window: wrong")
	if text := s.Text(); strings.Contains(text, "near: 80 %") {
		t.Errorf("the lab's help has the dashboard's signs:\n%s", text)
	}
	s.Press("esc", "1", "?")
	s.See("near: 80 %")
}

func TestThePaletteFindsEveryAction(t *testing.T) {
	t.Parallel()
	s := tuitest.NewStage(t, 140, 60, tui.Options{Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}})
	s.Run(time.Second)
	for _, b := range s.App.All() {
		if slices.Contains(b.Keys(), ":") {
			continue
		}
		s.Press(":")
		for _, r := range b.Name {
			s.Press(strings.ReplaceAll(string(r), " ", "space"))
		}
		what := b.What()
		if reason := b.Reason(); reason != "" {
			what = reason
		}
		s.See(b.Name, what[:min(len(what), 20)])
		s.Press("esc")
	}
}

// sameThing are actions of the dashboard and of the lab that do the same to what each shows.
var sameThing = map[string]string{
	"pause": "play", "earlier": "step back", "later": "step", "next pane": "next view",
	"first key": "restart",  // home: the beginning
	"csv":       "scenario", // E: what e saves, in another form
}

// TestALetterMeansTheSameInTheLab holds the keys of the dashboard to those of the lab.
func TestALetterMeansTheSameInTheLab(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(time.Second)
	dashboard := map[string]map[string]bool{}
	for _, act := range s.App.All() {
		for _, key := range act.Keys() {
			if dashboard[key] == nil {
				dashboard[key] = map[string]bool{}
			}
			dashboard[key][act.Name] = true
			dashboard[key][sameThing[act.Name]] = true
		}
	}
	s.Press("3")
	for _, act := range s.App.All() {
		for _, key := range act.Keys() {
			if there := dashboard[key]; there != nil && !there[act.Name] {
				t.Errorf("%s is %q in the lab and %v on the dashboard", key, act.Name, there)
			}
		}
	}
}

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
	t.Parallel()
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

// TestWhatConcernsAllKeysIsOnEveryScreen: the picture can be paused and what was seen be saved from wherever a person looks.
func TestWhatConcernsAllKeysIsOnEveryScreen(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(time.Second)
	for _, screen := range []string{"1", "2", "4", "5", "6"} {
		s.Press(screen)
		for _, name := range []string{"pause", "record", "export", "capsule", "earlier", "later"} {
			if s.App.All().Named(name) == nil && (name != "earlier" && name != "later" || screen == "4") {
				t.Errorf("screen %s has no %q", screen, name)
			}
		}
	}
}
