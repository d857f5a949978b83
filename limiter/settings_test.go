package limiter_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
)

// TestSettingsPage holds the table of changed limits to what a Memory makes of them.
func TestSettingsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	changed := []limiter.Limit{{Count: 50, Window: time.Minute}, {Count: 200, Window: time.Minute}, {Count: 100, Window: 30 * time.Second}}
	for _, a := range limiter.Algorithms() {
		m := newMemory(t, a, limiter.WithClock(func() limiter.Instant { return far }))
		if _, err := m.AllowN(context.Background(), "k", limiter.Limit{Count: 100, Window: time.Minute}, 60); err != nil {
			t.Fatal(err)
		}
		row := "| " + a.String() + " |"
		for _, to := range changed {
			d, err := m.Peek(context.Background(), "k", to, 0)
			if err != nil {
				t.Fatal(err)
			}
			row += fmt.Sprintf(" %d, %d |", d.Used, d.Remaining)
		}
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/settings.md lacks the row\n%s", row)
		}
	}
}
