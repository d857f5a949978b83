// Package feedtest runs sources in tests.
package feedtest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// Running is a source that runs, with what it emitted.
type Running struct {
	t       testing.TB
	mu      sync.Mutex
	batches []model.Batch
	latest  map[string]model.Reading
	cancel  context.CancelFunc
	done    chan error
}

// Run runs a source until the test ends, or Stop.
func Run(t testing.TB, s feed.Source) *Running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &Running{t: t, latest: map[string]model.Reading{}, cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- s.Run(ctx, func(b model.Batch) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.batches = append(r.batches, b)
			for _, x := range b.Readings {
				r.latest[x.Key] = x
			}
		})
	}()
	t.Cleanup(r.Stop)
	return r
}

// Stop ends the source, which has to end in time and without an error.
func (r *Running) Stop() {
	r.cancel()
	select {
	case err := <-r.done:
		r.done <- err
		if err != nil {
			r.t.Errorf("Run returned %v", err)
		}
	case <-time.After(servertest.Patience):
		r.t.Errorf("Run did not return within %v of its context's end", servertest.Patience)
	}
}

// All returns what was emitted so far.
func (r *Running) All() []model.Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.batches) // only appended to, so that nothing has to be copied
}

// Gone returns the keys that were said to be gone.
func (r *Running) Gone() (names []string) {
	for _, b := range r.All() {
		names = append(names, b.Gone...)
	}
	return names
}

// Health returns the latest look at the server's health, nil before the first.
func (r *Running) Health() (h *model.Health) {
	for _, b := range r.All() {
		if b.Health != nil {
			h = b.Health
		}
	}
	return h
}

// Seen returns the names of all keys that were read.
func (r *Running) Seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.latest))
}

// Count is how many batches came.
func (r *Running) Count() int { return len(r.All()) }

// Last returns the newest batch; an empty one before the first.
func (r *Running) Last() model.Batch {
	all := r.All()
	if len(all) == 0 {
		return model.Batch{}
	}
	return all[len(all)-1]
}

// Reading returns the newest reading of a key.
func (r *Running) Reading(key string) (model.Reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.latest[key]
	return x, ok
}

// Came returns how many units of requests came at a key, admitted or denied.
func (r *Running) Came(key string, denied bool) (n int64) {
	for _, b := range r.All() {
		for _, x := range b.Readings {
			for _, a := range x.Arrivals {
				if x.Key == key && a.Denied == denied {
					n += a.N
				}
			}
		}
	}
	return n
}

// EveryKey is for tests that say of all keys of their server that they are limiters: a pattern
// that is narrower than *.
var EveryKey = []string{"?*"}

// NewRedis returns a source of a server, which is closed at the end of the test.
func NewRedis(t testing.TB, o feed.Options) *feed.Redis {
	t.Helper()
	r, err := feed.NewRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Once reads everything once, and returns the readings by their keys too.
func Once(t testing.TB, o feed.Options) (model.Batch, map[string]model.Reading) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	b, err := feed.OnceWithin(ctx, NewRedis(t, o), feed.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]model.Reading{}
	for _, r := range b.Readings {
		if _, twice := m[r.Key]; twice {
			t.Errorf("two readings of %q in one batch", r.Key)
		}
		m[r.Key] = r
	}
	return b, m
}

// XAdd is an entry of a stream that counts.
func XAdd(key, count string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: key, Values: []string{"count", count}}
}

// Z is a member of a sorted set.
func Z(score float64, member any) redis.Z { return redis.Z{Score: score, Member: member} }

// Used is what the screen would say.
func Used(r model.Reading) int64 { return r.Gauge(r.At).Used.N }
