package demo

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// company starts a server with a client and the cast.
func company(t *testing.T) (*miniredis.Miniredis, *redis.Client, []*actor) {
	t.Helper()
	m := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return m, client, hire(client)
}

// play puts the past on the server through the real limiters, on a clock that is moved for it.
func play(t *testing.T, m *miniredis.Miniredis, actors []*actor, now limiter.Instant) {
	t.Helper()
	type charge struct {
		*actor
		lab.Arrival
	}
	var charges []charge
	for _, a := range actors {
		_, list := a.live(now)
		for _, one := range list {
			charges = append(charges, charge{a, one})
		}
	}
	slices.SortStableFunc(charges, func(a, b charge) int { return int(a.At - b.At) })
	m.SetTime(charges[0].At.Time())
	m.ClockTTL(true)
	for _, c := range charges {
		m.SetTime(c.At.Time())
		d, err := c.limiter.AllowN(context.Background(), c.key, c.limit, c.Cost)
		if err != nil || !d.Allowed {
			t.Fatalf("%s: %+v, %v", c.key, d, err)
		}
	}
	m.SetTime(now.Time())
}

// TestSeedIsWhatTheLimitersWrite compares the prepared server, key by key, with one on which
// the limiters decided about every request.
func TestSeedIsWhatTheLimitersWrite(t *testing.T) {
	for _, minute := range []int{0, 17, 41} {
		now := limiter.InstantOf(time.Date(2026, 11, 20, 12, minute, 7, 123_456_000, time.UTC))
		played, _, actors := company(t)
		play(t, played, actors, now)
		seeded, client, actors := company(t)
		seeded.SetTime(now.Time())
		if _, err := prepare(context.Background(), seeded, client, actors, now); err != nil {
			t.Fatal(err)
		}
		if got, want := seeded.Dump(), played.Dump(); got != want {
			t.Errorf("at minute %d the prepared server holds\n%s\nwant\n%s", minute, got, want)
		}
		for _, key := range played.Keys() {
			if got, want := seeded.TTL(key), played.TTL(key); (got-want).Abs() > 3*time.Millisecond || got == 0 {
				t.Errorf("%s lives for %v, want %v", key, got, want)
			}
		}
		if len(played.Keys()) < 12 {
			t.Errorf("only %d keys are compared", len(played.Keys()))
		}
	}
}
