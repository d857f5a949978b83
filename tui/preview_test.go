package tui_test

import (
	"context"
	"os"
	"testing"
	"time"

	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestPreview runs the dashboard on the tests' own feed when RATESCOPE_PREVIEW is set.
func TestPreview(t *testing.T) {
	if os.Getenv("RATESCOPE_PREVIEW") == "" {
		t.SkipNow()
	}
	f := tuitest.NewFeed(time.Now())
	if err := tui.Run(context.Background(), tui.Options{Take: f.Take}); err != nil {
		t.Fatal(err)
	}
}
