package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/redisstore"
)

// TestServerClockAgreesWithGo walks through the scripts that are in use, which read the
// server's clock and are written leaner than those that are given one. Each answer says
// when it was decided, so the arithmetic in Go is asked about the same instant and has to
// say the same. Windows are short enough that real time crosses their edges, and seconds
// and minutes are among them, which have scripts of their own.
func TestServerClockAgreesWithGo(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, v := range variants() {
		if v.c.Alignment == convention.FirstRequest {
			continue // ends when its key expires, which Redis does by the millisecond
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			windows := []time.Duration{2 * time.Millisecond, 7 * time.Millisecond, 61 * time.Millisecond, time.Second, time.Minute}
			atOnce(t, 2*len(windows), func(round int) error {
				rng := rand.New(rand.NewPCG(seed, uint64(round)))
				return strollServer(client, v, rng, windows[round/2], round%2 == 1, fmt.Sprintf("s:%s:%d", v.name, round))
			})
		})
	}
}

// strollServer makes random requests of one key as fast as the server answers, and returns
// what the server and the arithmetic disagree on.
func strollServer(client redisstore.Client, v variant, rng *rand.Rand, w time.Duration, denials bool, key string) error {
	ctx := context.Background()
	opts := v.options()
	if denials {
		opts = append(opts, redisstore.WithDenials())
	}
	l, err := redisstore.New(client, v.algorithm, opts...)
	if err != nil {
		return err
	}
	limit := limiter.Limit{Count: rng.Int64N(20) + 1, Window: w}
	if v.algorithm.Bursts() {
		limit.Burst = rng.Int64N(30)
	}
	model := limiter.State{Algorithm: v.arithmetic()}
	for step := range 60 {
		n := max(rng.Int64N(6)-2, 0) // mostly 0 and 1
		if rng.IntN(2) == 0 {
			n = 1
		}
		var got limiter.Decision
		var err error
		want := limiter.Decision{}
		switch {
		case rng.IntN(15) == 0 && !v.noRefunds:
			if got, err = l.Refund(ctx, key, limit, n+1); err == nil {
				want = model.Refund(got.At, limit, v.c, n+1)
			}
		case n == 0:
			if got, err = l.Peek(ctx, key, limit, 2); err == nil {
				want = model.Peek(got.At, limit, v.c, 2)
			}
		default:
			if got, err = l.AllowN(ctx, key, limit, n); err == nil {
				want = model.Take(got.At, limit, v.c, n)
			}
		}
		if err != nil {
			return fmt.Errorf("step %d, cost %d: %w", step, n, err)
		}
		if !alike(got, want, v, false) {
			return fmt.Errorf("%s step %d, limit %+v, cost %d\nserver %+v\nmodel  %+v", key, step, limit, n, got, want)
		}
	}
	return nil
}
