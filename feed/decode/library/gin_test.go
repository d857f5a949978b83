package library

import (
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// TestGinAtAnyMillisecond: the stamp is a whole second, so that the expiry lies up to a second later than two
// windows from it, and the window is read at whatever part of a second the first request came.
func TestGinAtAnyMillisecond(t *testing.T) {
	const second = 1_700_000_000
	for ms := range 1000 {
		now := limiter.Instant(second*1_000_000 + ms*1000)
		got := []decode.Sample{{Type: "string", Text: "1", TTL: 2 * time.Hour}, {Type: "string", Text: "1700000000", TTL: 2 * time.Hour}}
		var d decode.Decoded
		if !readGin(&d, now, got, decode.Settings{}) || d.Window != time.Hour {
			t.Fatalf("of a first request %d ms after the stamp the window is %v", ms, d.Window)
		}
	}
}
