package redisstore

import "testing"

// TestKnownKeys: a name is looked at again after 63 decisions, by one of those that come at
// the same time, and at once after something foreign was found.
func TestKnownKeys(t *testing.T) {
	t.Parallel()
	k := newKnownKeys()
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
