package redisstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// TestNewRefuses passes what no store can be made of: each is an error and no panic, now or
// at the first decision.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	var none *redis.Client
	for name, made := range map[string]func() (*redisstore.Store, error){
		"no client":    func() (*redisstore.Store, error) { return redisstore.New(nil, limiter.GCRA) },
		"a nil client": func() (*redisstore.Store, error) { return redisstore.New(none, limiter.GCRA) },
		"no algorithm": func() (*redisstore.Store, error) { return redisstore.New(client, limiter.Unknown) },
		"a nil option": func() (*redisstore.Store, error) { return redisstore.New(client, limiter.GCRA, nil) },
		"minus one": func() (*redisstore.Store, error) {
			return redisstore.New(client, limiter.GCRA, redisstore.WithBatches(-1))
		},
		"the zero value": func() (*redisstore.Store, error) { return new(redisstore.Store), nil },
	} {
		s, err := made()
		if err == nil {
			_, err = s.AllowN(context.Background(), "k", yearly, 1)
			if all := s.Reset(context.Background(), "k", yearly); all == nil {
				t.Errorf("%s: a reset is done", name)
			}
			if _, all := s.AllowKeys(context.Background(), 1, limiter.OnKey("k", pair...)...); all == nil {
				t.Errorf("%s: several limits are decided about", name)
			}
		}
		if !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("%s: %v, want a bad request", name, err)
		}
	}
}
