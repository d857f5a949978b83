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
		if !readGin()(&d, now, got, decode.Settings{}) || d.Window != time.Hour {
			t.Fatalf("of a first request %d ms after the stamp the window is %v", ms, d.Window)
		}
	}
}

// TestGinOfALateRequest: a request that reached the server 300 ms after its stamp, in the second after it, leaves a window that is
// known already as it is, and tells none by itself.
func TestGinOfALateRequest(t *testing.T) {
	now := limiter.Instant(1_700_000_001_200_000)
	got := []decode.Sample{{Type: "string", Text: "2", TTL: 2 * time.Hour}, {Type: "string", Text: "1700000000", TTL: 2 * time.Hour}}
	read := readGin()
	var d decode.Decoded
	if read(&d, now, got, decode.Settings{}) {
		t.Errorf("a stamp two hours and a second before the expiry tells a window of %v", d.Window)
	}
	if !read(&d, now.Add(-500*time.Millisecond), got, decode.Settings{}) || !read(&d, now, got, decode.Settings{}) || d.Window != time.Hour {
		t.Errorf("a window that was known is %v", d.Window)
	}
}
