package track

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

const noon = limiter.Instant(1_795_000_000_000_000)

// TestSkew: writers whose clocks are ahead by a known time, read at every refresh: the note
// says how much, at most and as a rule, and goes with them.
func TestSkew(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	l := New("k", nil, false, nil)
	var entries []limiter.Entry
	at := noon
	for i := range 60 {
		var fresh []model.Arrival
		for range 10 { // written in the 200 ms before the reading
			d := 3200*time.Millisecond - time.Duration(r.IntN(20))*time.Millisecond
			fresh = append(fresh, model.Arrival{At: at.Add(d), N: 1})
		}
		if i == 50 {
			fresh = append(fresh, model.Arrival{At: at.Add(40 * time.Second), N: 1}) // one other clock
		}
		for _, a := range fresh {
			entries = append(entries, limiter.Entry{At: a.At, Count: 1})
		}
		slices.SortFunc(entries, func(a, b limiter.Entry) int { return int(a.At - b.At) })
		l.ahead("scores", at, entries, fresh, i == 0)
		notes := l.list()
		switch {
		case !slices.Contains(notes, model.FutureScore):
			t.Fatalf("reading %d: %v", i, notes)
		case i < 50 && !slices.Contains(notes, "scores up to 3.2 s in the future (writer's clock)"):
			t.Fatalf("reading %d: %v", i, notes)
		case i == 50 && !slices.Contains(notes, "scores up to 40 s in the future, 3.2 s as a rule (writer's clock)"):
			t.Fatalf("reading %d: %v", i, notes)
		case len(notes) != 2:
			t.Fatalf("reading %d: %v", i, notes)
		}
		at = at.Add(200 * time.Millisecond)
	}
	if l.ahead("scores", at.Add(time.Hour), entries, nil, false); len(l.list()) != 0 {
		t.Errorf("an hour later: %v", l.list())
	}
	l.ahead("ids", noon, []limiter.Entry{{At: noon.Add(futureAllowed)}}, nil, true)
	if len(l.list()) != 0 {
		t.Errorf("within what is allowed: %v", l.list())
	}
	if len(l.skew.recent) > skewsKept {
		t.Errorf("%d are remembered", len(l.skew.recent))
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
