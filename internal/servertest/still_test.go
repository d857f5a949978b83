package servertest

import (
	"testing"
	"time"
)

// TestStoodStill: an answer that did not come blames the machine only after so long that it may have stood
// still, and nothing else that went wrong does.
func TestStoodStill(t *testing.T) {
	for _, tc := range []struct {
		took time.Duration
		says string
		want bool
	}{
		{2 * Standstill, "redis://a does not answer: it is frozen", true},
		{2 * Standstill, "firing stopped after a request whose outcome is unknown: no answer came: i/o timeout", true},
		{Standstill, "redis://a does not answer: it is frozen", false},
		{2 * Standstill, "nothing listens at redis://a", false},
		{time.Hour, "", false},
	} {
		if got := StoodStill(tc.took, tc.says); got != tc.want {
			t.Errorf("after %v, %q: the machine stood still: %v", tc.took, tc.says, got)
		}
	}
}

// TestAnew: an attempt that was upset is made again, and one that was not is the last.
func TestAnew(t *testing.T) {
	attempts := 0
	Anew(t, func() (upset bool) {
		attempts++
		return attempts < 3
	})
	if attempts != 3 {
		t.Errorf("%d attempts were made, want 3", attempts)
	}
}
