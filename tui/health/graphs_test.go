package health

import (
	"math"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/widget"
)

// TestTheScaleOfSeveralNodes has a core for each of them.
func TestTheScaleOfSeveralNodes(t *testing.T) {
	var c widget.Canvas
	c.SetTheme(themes.BuiltIn().Default(true), false)
	v := server(&c)
	v.Health.Nodes = 6
	for _, g := range v.figures() {
		if strings.HasPrefix(g.label, "cpu") && g.top != 6 {
			t.Errorf("the graph of six nodes ends at %v cores", g.top)
		}
	}
}

// TestTheFirstRoundTripsAreNoPeak: those of a connection that is being made are left out as soon as
// there is another one.
func TestTheFirstRoundTripsAreNoPeak(t *testing.T) {
	at := limiter.Instant(1_700_000_000_000_000)
	past := []model.HealthSample{{At: at}, {At: at.Add(time.Second)}, {At: at.Add(2 * time.Second)}, {At: at.Add(3 * time.Second)}}
	values := []float64{30, 8, 2, 1}
	if got := settled(past[:1], values[:1]); got[0] != 30 {
		t.Errorf("the only round trip is %v", got)
	}
	got := settled(past, values)
	if !math.IsNaN(got[0]) || !math.IsNaN(got[1]) || !math.IsNaN(got[2]) || got[3] != 1 {
		t.Errorf("the round trips are %v", got)
	}
	settled(nil, nil)
}
