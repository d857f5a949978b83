package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/redisstore"
)

// answering is a server that answers every script with one text.
type answering string

func (a answering) Process(_ context.Context, cmd redis.Cmder) error {
	if c, ok := cmd.(interface{ SetVal(string) }); ok {
		c.SetVal(string(a))
	}
	return nil
}

// FuzzAnswer lets a server answer whatever it likes: that is an error in a sentence, or a
// decision that does not contradict itself.
func FuzzAnswer(f *testing.F) {
	for i, text := range []string{"1 4000000000000000 3", "0 4000000000000000 10 9 9", "2000000000 5 1", "-1 7", "", "1 1", "1 2 3 4 5 6 7", "nan 1 2", "1 -9223372036854775808 9223372036854775807 -1 9223372036854775807"} {
		f.Add(uint8(i), text, int64(10), int64(time.Minute), int64(0), int64(1))
	}
	f.Fuzz(func(t *testing.T, kind uint8, text string, count, window, burst, n int64) {
		a := limiter.Algorithms()[int(kind)%7]
		c := limiter.Convention{Rounding: convention.Rounding(kind >> 3 % 3), Denied: convention.Denied(kind >> 5 & 1), Rule: convention.Rule(kind >> 6 & 1)}
		if kind>>7 == 1 {
			c.Block = time.Second
		}
		l, err := redisstore.New(answering(text), a, redisstore.WithConvention(c))
		if err != nil {
			t.Fatal(err)
		}
		limit := limiter.Limit{Count: count, Window: time.Duration(window), Burst: burst}
		ctx := context.Background()
		for _, ask := range []func() (limiter.Decision, error){
			func() (limiter.Decision, error) { return l.AllowN(ctx, "k", limit, n) },
			func() (limiter.Decision, error) { return l.Peek(ctx, "k", limit, n) },
			func() (limiter.Decision, error) { return l.Refund(ctx, "k", limit, n) },
			func() (limiter.Decision, error) {
				all, err := l.AllowKeys(ctx, n, limiter.OnKey("k", limit, limiter.Limit{Count: 3, Window: time.Hour})...)
				return limiter.Combine(all), err
			},
		} {
			d, err := ask()
			if err != nil && err.Error() == "" {
				t.Errorf("%q: an error without a sentence", text)
			}
			if err == nil && (d.Remaining < 0 || d.ResetAfter < 0 || d.Allowed && d.RetryAfter != 0 || d.RetryAfter < 0) {
				t.Errorf("%s, %q, %+v: %+v", a, text, limit, d)
			}
		}
	})
}
