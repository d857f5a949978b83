package redisstore

import (
	"context"
	"hash/maphash"
	"testing"
	"time"

	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// TestKnownKeys: a name is looked at again after 63 decisions, by one of those that come at
// the same time, and at once after something foreign was found.
func TestKnownKeys(t *testing.T) {
	t.Parallel()
	k := &knownKeys{seed: maphash.MakeSeed()}
	if k.trust(subject{key: "a"}) {
		t.Fatal("a name that was never seen is known")
	}
	k.learn(subject{key: "a"})
	careful := 0
	for range 640 {
		if !k.trust(subject{key: "a"}) {
			careful++ // and its answer is not there before the next decision
		}
	}
	if careful != 10 {
		t.Errorf("%d of 640 decisions looked again, want 10", careful)
	}
	k.learn(subject{key: "a"})
	k.forget(subject{key: "a"})
	if k.trust(subject{key: "a"}) {
		t.Error("a name with a foreign value is known")
	}
	half := subject{key: "a", states: []string{"{a}:1000ms"}}
	several := subject{key: "a", states: []string{"{a}:1000ms", "{a}:60000ms"}}
	k.learn(several)
	if k.trust(subject{key: "a"}) || k.trust(half) || !k.trust(several) {
		t.Error("limits that have keys of their own share what is known")
	}
	var none *knownKeys
	none.learn(subject{key: "a"})
	none.forget(subject{key: "a"})
	if !none.trust(subject{key: "a"}) {
		t.Error("where every key is known, one is not")
	}
}

// TestAllocations: a decision that no other waits beside takes 3 allocations of the store's, for a fixed window 4, and
// those of go-redis.
func TestAllocations(t *testing.T) {
	client := servertest.Client(t)
	for a, most := range map[limiter.Algorithm]float64{limiter.GCRA: 8, limiter.FixedWindow: 9} { // one more than they take
		s, err := New(client, a)
		if err != nil {
			t.Fatal(err)
		}
		ask := func() {
			if _, err := s.AllowN(context.Background(), "k", limiter.Limit{Count: 1_000_000, Window: time.Minute}, 1); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(1000, ask); n > most {
			t.Errorf("%s: %v allocations, want at most %v", a, n, most)
		}
	}
}
