package decode_test

import (
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/limiter"
	"ratescope/model"
)

// TestHomemadeIsLikely finds limiters that applications write themselves by one look at their keys, and
// knows none of them as a library's.
func TestHomemadeIsLikely(t *testing.T) {
	every, toldOf := 0, 0
	defer func() {
		if every*5 < toldOf*4 {
			t.Errorf("of all %d, %d are likely at one look, want four of five", toldOf, every)
		}
	}()
	eachHomemade(t, func(t *testing.T, all []Homemade) {
		at := limiter.InstantOf(time.Date(2026, 11, 23, 22, 14, 37, 0, time.UTC))
		likely, named, told := 0, 0, 0
		for i := range all {
			h := &all[i]
			w := NewWorld(t, h, at)
			for _, who := range []string{"alice", "bob", "203.0.113.7"} {
				for range 4 {
					w.Request(t, who)
					w.Advance(300 * time.Millisecond)
				}
			}
			keys := w.Client.Keys(t.Context(), "*").Val()
			finds, _, err := decode.Classify(t.Context(), w.Client, library.Recognizer(), keys, nil, decode.Clock{Now: func() limiter.Instant { return w.Now }})
			if err != nil {
				t.Fatal(err)
			}
			found, candidate := false, false
			for _, f := range finds {
				if f.Evidence == model.Known {
					t.Errorf("%s: %q is known as %s: %v", h.Name, f.Key, f.Library, f.Why())
				}
				found, candidate = found || f.Telling, candidate || f.Candidate
			}
			if h.Rule == nil { // no rule tells it, so that it is not looked for
				continue
			}
			told++
			if found || candidate {
				named++
			}
			if found {
				likely++
			} else {
				t.Logf("%s is not found, candidate %v: %s, %+v", h.Name, candidate, h.Keys, finds[0].Why())
			}
		}
		every, toldOf = every+likely, toldOf+told
		if t.Logf("%d of %d are likely, %d are named", likely, told, named); likely*10 < told*7 || named*10 < told*9 {
			t.Errorf("of %d at one look %d are likely, want seven of ten, and %d are named with candidates, want nine of ten", told, likely, named)
		}
	})
}
