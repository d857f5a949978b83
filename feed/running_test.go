package feed_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/internal/servertest"
	"ratescope/model"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// running is a source that runs, with what it emitted.
type running struct {
	t       testing.TB
	mu      sync.Mutex
	batches []model.Batch
	latest  map[string]model.Reading
	arrived map[string]map[bool]int64 // key → denied → units
	gone    []string
	cancel  context.CancelFunc
	done    chan error
}

func runSource(t testing.TB, s feed.Source) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, latest: map[string]model.Reading{}, arrived: map[string]map[bool]int64{}, cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- s.Run(ctx, func(b model.Batch) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.batches = append(r.batches, b)
			for _, x := range b.Readings {
				r.latest[x.Key] = x
				if r.arrived[x.Key] == nil {
					r.arrived[x.Key] = map[bool]int64{}
				}
				for _, a := range x.Arrivals {
					r.arrived[x.Key][a.Denied] += a.N
				}
			}
			r.gone = append(r.gone, b.Gone...)
		})
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
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

// all returns what was emitted so far.
func (r *running) all() []model.Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.batches)
}

// seen returns the names of all keys that were read.
func (r *running) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.latest))
}

// count is how many batches came.
func (r *running) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.batches)
}

func (r *running) last() model.Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.batches) == 0 {
		return model.Batch{}
	}
	return r.batches[len(r.batches)-1]
}

func (r *running) reading(key string) (model.Reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.latest[key]
	return x, ok
}

func (r *running) came(key string, denied bool) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived[key][denied]
}

// everyKey is for tests that say of all keys of their server that they are limiters: a pattern
// that is narrower than *.
var everyKey = []string{"?*"}

func newRedis(t testing.TB, o feed.Options) *feed.Redis {
	t.Helper()
	r, err := feed.NewRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func once(t testing.TB, o feed.Options) (model.Batch, map[string]model.Reading) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	b, err := feed.Once(ctx, newRedis(t, o))
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

func xadd(key, count string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: key, Values: []string{"count", count}}
}

func zed(score float64, member any) redis.Z { return redis.Z{Score: score, Member: member} }
