package track

import (
	"slices"
	"strings"
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
		l.ahead("scores", noon, c.entries)
		if got := l.list(); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.entries, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		123 * time.Millisecond: "120 ms", 3249 * time.Millisecond: "3.2 s", 42 * time.Second: "42 s",
		3 * time.Minute: "3 min", 5 * time.Hour: "5 h", 58 * 24 * time.Hour: "58 days",
	} {
		if got := brief(d); got != want || strings.Contains(got, "-") {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
