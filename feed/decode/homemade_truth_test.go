package decode_test

import (
	"testing"
	"time"

	"ratescope/limiter"
)

// TestHomemadeLimiters holds the limiters to what they promise, so that their answers can be the truth
// about their keys: within a window they admit the limit, and then deny until time has passed.
func TestHomemadeLimiters(t *testing.T) {
	at := limiter.InstantOf(time.Date(2026, 11, 15, 12, 30, 27, 0, time.UTC))
	names, families := map[string]bool{}, map[string]bool{}
	lists := [...][]byte{homemadeText, publicText, thirdText, fourthText, fifthText, seventhText, eighthText, ninthText, tenthText}
	var all []Homemade
	for _, list := range lists {
		all = append(all, homemadeLimiters(t, list)...)
	}
	for _, h := range all {
		if names[h.Name] {
			t.Errorf("%s: there are two of that name", h.Name)
		}
		names[h.Name], families[h.Family] = true, true
		w := NewWorld(t, &h, at)
		admitted := int64(0)
		for range w.limit.Count + 3 {
			if w.Request(t, "alice") {
				admitted++
			}
		}
		if most := w.limit.Count; admitted != most && h.Name != "leaky bucket with a rest" {
			t.Errorf("%s: %d of %d admitted", h.Name, admitted, most)
		}
		if is := w.Truth(t, "alice", at, 0); is.Remaining != 0 || is.Next <= 0 {
			t.Errorf("%s: after its limit it says %+v", h.Name, is)
		}
		if is := w.Truth(t, "bob", at, 0); is.Remaining < w.limit.Count-2 || is.Next != 0 {
			t.Errorf("%s: about a stranger it says %+v", h.Name, is)
		}
		if len(w.server.Keys()) == 0 {
			t.Errorf("%s: it keeps nothing", h.Name)
		}
	}
	if len(names) < 100 || len(families) < 20 {
		t.Errorf("%d limiters of %d families", len(names), len(families))
	}
}
