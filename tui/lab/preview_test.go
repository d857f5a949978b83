package lab_test

import (
	"context"
	"os"
	"testing"

	"ratescope/tui/lab"
)

// TestPreview runs the lab in this terminal when RATESCOPE_PREVIEW is set.
func TestPreview(t *testing.T) {
	if os.Getenv("RATESCOPE_PREVIEW") == "" {
		t.SkipNow()
	}
	o := lab.Options{Save: func(string, []byte) error { return nil }}
	if err := lab.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
}
