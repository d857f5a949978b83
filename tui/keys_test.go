package tui_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
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
	for _, screen := range []string{"1", "2", "5", "6"} {
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
		if text := s.Text(); strings.Contains(text, "reverses the order") {
			t.Errorf("the first page of screen %s has too much:\n%s", screen, text)
		}
		s.Press("?")
		s.See("reverses the order")
	}
}

func TestThePaletteFindsEveryAction(t *testing.T) {
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
