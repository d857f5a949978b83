package track

import (
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

const noon = limiter.Instant(1_795_000_000_000_000)

// TestSkew: writers whose clocks are ahead: the note says how much at most, and goes with them.
func TestSkew(t *testing.T) {
	l := New("k", nil, false, nil)
	entries := func(ahead time.Duration) []limiter.Entry {
		return []limiter.Entry{{At: noon}, {At: noon.Add(ahead), Count: 1}}
	}
	for _, c := range []struct {
		entries []limiter.Entry
		want    []model.Note
	}{
		{entries(3190 * time.Millisecond), []model.Note{model.FutureScore, "scores up to 3.2 s in the future (writer's clock)"}},
		{entries(40 * time.Second), []model.Note{model.FutureScore, "scores up to 40 s in the future (writer's clock)"}},
		{entries(futureAllowed), nil},
		{entries(time.Second), []model.Note{model.FutureScore, "scores up to 1.0 s in the future (writer's clock)"}},
		{nil, nil},
	} {
		l.notes.ahead("scores", noon, c.entries)
		if got := l.notes.list(); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.entries, got, c.want)
		}
	}
}
