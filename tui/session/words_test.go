package session_test

import (
	"testing"

	"ratescope/model"
	"ratescope/tui/session"
)

// TestSearchText: how far the first search is and what it may take are said while it lasts, and
// not of a server that is searched at once.
func TestSearchText(t *testing.T) {
	for _, tc := range []struct {
		sweep          model.Sweep
		searched, pace string
	}{
		{model.Sweep{Share: 0.01}, "", ""},
		{model.Sweep{Scanned: 10, Total: 30, Keys: 30, Share: 0.01}, "", ""},
		{model.Sweep{Scanned: 340_000, Total: 1_000_000, Keys: 1_000_000, Share: 0.1, Pace: model.PaceIdle}, "34% of 1.0M keys searched",
			"idle server: up to 10%"},
		{model.Sweep{Scanned: 999_999, Total: 1_000_000, Keys: 1_000_000, Share: 0.01, Pace: model.PaceBusy}, "99% of 1.0M keys searched",
			"busy server: up to 1%"},
		{model.Sweep{Scanned: 500, Total: 2_000_000, Keys: 1_000_000, Share: 0.005}, "0% of 1.0M keys searched", ""},
		{model.Sweep{Passes: 1, Scanned: 7, Total: 1_000_000, Keys: 1_000_000, Share: 0.01}, "", ""},
	} {
		if got := session.SearchedText(&tc.sweep); got != tc.searched {
			t.Errorf("%+v: %q, want %q", tc.sweep, got, tc.searched)
		}
		if got := session.LikelyText(&tc.sweep); got != "likely" {
			t.Errorf("%+v: %q of keys that were all looked at", tc.sweep, got)
		}
		if got := session.PaceText(&tc.sweep); got != tc.pace {
			t.Errorf("%+v: %q, want %q", tc.sweep, got, tc.pace)
		}
	}
	if got := session.LikelyText(&model.Sweep{Passes: 1, Skipped: 15_000, Sampled: 12_345}); got != "likely, 12.3k alike not looked at" {
		t.Errorf("of a sample it says %q", got)
	}
}

// TestTheRestOfTheSearchIsBounded: a count that is not final says how far off it may be.
func TestTheRestOfTheSearchIsBounded(t *testing.T) {
	half := model.Sweep{Scanned: 500_000, Total: 1_000_000}
	if got := session.UnseenText(&half, 0); got != "at most 6 more throttled (95%)" {
		t.Errorf("half of the keys are searched: %q", got)
	}
	if got := session.UnseenText(&model.Sweep{Passes: 1}, 5); got != "" {
		t.Errorf("after the search: %q", got)
	}
}
