package redisstore

import (
	"testing"
	"time"

	"ratescope/limiter"
)

// TestKnownKeys: a name is looked at again after 63 decisions, by one of those that come at
// the same time, and at once after something foreign was found.
func TestKnownKeys(t *testing.T) {
	t.Parallel()
	k := newKnownKeys()
	if k.trust("a", nil) {
		t.Fatal("a name that was never seen is known")
	}
	k.learn("a", nil)
	careful := 0
	for range 640 {
		if !k.trust("a", nil) {
			careful++ // and its answer is not there before the next decision
		}
	}
	if careful != 10 {
		t.Errorf("%d of 640 decisions looked again, want 10", careful)
	}
	k.learn("a", nil)
	k.forget("a", nil)
	if k.trust("a", nil) {
		t.Error("a name with a foreign value is known")
	}
	several := []limiter.Limit{{Count: 1, Window: time.Second}, {Count: 2, Window: time.Minute}}
	k.learn("a", several)
	if k.trust("a", nil) || k.trust("a", several[:1]) || !k.trust("a", several) {
		t.Error("limits that have keys of their own share what is known")
	}
	var none *knownKeys
	none.learn("a", nil)
	none.forget("a", nil)
	if !none.trust("a", nil) {
		t.Error("where every key is known, one is not")
	}
}
