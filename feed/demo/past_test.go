package demo

import (
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// TestThePastIsOnTheServer holds what the limiters find at the end of the past to what the timelines have of it.
func TestThePastIsOnTheServer(t *testing.T) {
	for _, minute := range []int{0, 17, 41} {
		now := limiter.InstantOf(time.Date(2026, 11, 20, 12, minute, 7, 123_456_000, time.UTC))
		m := miniredis.RunT(t)
		client := redis.NewClient(&redis.Options{Addr: m.Addr(), Protocol: 2, DisableIdentity: true})
		t.Cleanup(func() { _ = client.Close() })
		actors := hire(client)
		pasts, err := prepare(t.Context(), m, actors, now)
		if err != nil || len(pasts) != len(cast()) || len(m.Keys()) < 12 {
			t.Fatalf("%d of %d pasts, %d keys, %v", len(pasts), len(cast()), len(m.Keys()), err)
		}
		for _, a := range actors {
			admitted := int64(0)
			for _, r := range pasts[a.key].Arrivals {
				if !r.Denied && r.At > now.Add(-a.limit.Window) {
					admitted += r.N
				}
			}
			held := int64(0)
			switch a.algorithm {
			case limiter.SlidingLog:
				for _, score := range must(m.SortedSet(a.key)) {
					if limiter.Instant(score) > now.Add(-a.limit.Window) {
						held++
					}
				}
			case limiter.StreamCounter:
				for _, e := range must(m.Stream(a.key)) {
					if at, _ := layout.StreamInstant(e.ID); at > now.Add(-a.limit.Window) {
						held += must(strconv.ParseInt(e.Values[1], 10, 64))
					}
				}
			default: // of these not all that was admitted counts, or more
				held = admitted
			}
			if held != admitted {
				t.Errorf("minute %d, %s: the server counts %d, and its timeline %d", minute, a.key, held, admitted)
			}
		}
		for _, key := range m.Keys() {
			if m.TTL(key) <= 0 {
				t.Errorf("minute %d: %s has no expiry", minute, key)
			}
		}
	}
}

// must returns a value of the server; the zero value stands for none.
func must[T any](v T, _ error) T { return v }
