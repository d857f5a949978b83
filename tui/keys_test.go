package tui_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// promised are the keys that the product's description fixes.
var promised = strings.Fields("space b r + - x up down j k enter esc tab 1 2 3 4 5 / s S p left right h l [ ] P t m y e : ? q ctrl+c")

func TestEveryPromisedKeyIsBoundOnce(t *testing.T) {
	where := map[string]string{}
	for _, b := range tui.Bindings() {
		for _, key := range b.Keys {
			if other, twice := where[key]; twice {
				t.Errorf("%q %s and also %s", key, other, b.What)
			}
			where[key] = b.What
		}
	}
	for _, key := range promised {
		if where[key] == "" {
			t.Errorf("%q does nothing", key)
		}
	}
}

func TestEveryActionCanBeReachedAndIsExplained(t *testing.T) {
	acts := map[uint8]bool{}
	for _, b := range tui.Bindings() {
		acts[b.Act] = true
		if b.Act == 0 || len(b.Keys) == 0 || b.Shown == "" || b.What == "" {
			t.Errorf("the table says nothing of %+v", b)
		}
		if !strings.Contains(tui.HelpMarkdown(), "`"+b.Keys[0]+"`") || !strings.Contains(tui.HelpMarkdown(), b.What) {
			t.Errorf("the README's table does not say what %q does", b.Keys[0])
		}
	}
	for act := 1; act <= tui.Actions(); act++ {
		if !acts[uint8(act)] {
			t.Errorf("no key leads to action %d", act)
		}
	}
	shown, used := tui.Groups()
	for group := range used {
		if !shown[group] {
			t.Errorf("the help leaves the group %q out", group)
		}
	}
}

// TestKeysArriveAsTheyAreBound holds the table to the names that Bubble Tea gives to
// keys: " " is never a key's name.
func TestKeysArriveAsTheyAreBound(t *testing.T) {
	for _, b := range tui.Bindings() {
		for _, name := range b.Keys {
			if got := tuitest.Key(name).String(); got != name {
				t.Errorf("the key bound as %q arrives as %q", name, got)
			}
		}
	}
}

func TestTheHelpShowsEveryKey(t *testing.T) {
	s := newStage(t, 140, 60, tui.Options{})
	s.run(time.Second)
	s.press("?")
	for _, b := range tui.Bindings() {
		s.see(b.Shown, b.What)
	}
}

func TestThePaletteFindsEveryAction(t *testing.T) {
	s := newStage(t, 140, 60, tui.Options{})
	s.run(time.Second)
	for _, b := range tui.Bindings() {
		if slices.Contains(b.Keys, ":") {
			continue
		}
		s.press(":")
		for _, r := range b.What {
			s.press(strings.ReplaceAll(string(r), " ", "space"))
		}
		s.see(b.What)
		s.press("esc")
	}
}
