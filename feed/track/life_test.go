package track

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestMisfit holds a refusal to make sense: the type that a key has and the type that its rule
// wants are named beside each other only where they differ.
func TestMisfit(t *testing.T) {
	for _, a := range limiter.Algorithms() {
		for _, typ := range []string{"string", "list", "set", "zset", "hash", "stream"} {
			l := &Tracker{Name: "k"}
			l.misfit("k", typ, a)
			if !strings.Contains(l.look.wrong, " "+typ+" ") && !strings.Contains(l.look.wrong, " "+typ+",") {
				t.Errorf("%s of %s: %q does not say what the key holds", typ, a, l.look.wrong)
			}
			if contrast := strings.Contains(l.look.wrong, "the rule says"); contrast != (wants(a) != typ) {
				t.Errorf("%s of %s: %q", typ, a, l.look.wrong)
			}
		}
	}
}

// TestAMisfitThatChanges: a key that is no limiter is recognized again when it holds something else or is made anew, also where it had
// changed or did not exist at the first look.
func TestAMisfitThatChanges(t *testing.T) {
	for _, c := range []struct {
		types   string
		changed bool
	}{{"string string", false}, {"string none", false}, {"string zset", true}, {"zset", true}, {"none zset", true}, {"none string", true}} {
		l := &Tracker{Name: "k"}
		l.misfit("k", "string", limiter.Unknown)
		b := l.decoder.(*wrongDecoder)
		for _, typ := range strings.Fields(c.types) {
			ttl := time.Duration(-1) // as go-redis says that a key does not expire, and -2 that there is none
			if typ == "none" {
				ttl = -2
			}
			b.typ, b.ttl = redis.NewStatusResult(typ, nil), redis.NewDurationResult(ttl, nil)
			if again, err := b.take(0, l, nil); again || err != nil {
				t.Fatal(again, err)
			}
		}
		if l.Changed() != c.changed {
			t.Errorf("a string that is then %s: recognized again %v, want %v", c.types, l.Changed(), c.changed)
		}
	}
}

// leftOut are libraries that no decoder knows, on purpose.
var leftOut = []string{"ratelimit-ruby", "redis-bucket", "graphql-rate-limit", "lua-resty-redis-ratelimit", "vearne-ratelimit"}

// TestLeftOut holds that the keys of a library that no decoder knows are never known as another's.
func TestLeftOut(t *testing.T) {
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	eachFixture(t, "fixtures", func(f *fixture) {
		if !slices.Contains(leftOut, f.Library) {
			return
		}
		for i, step := range f.Steps {
			keys, _ := restore(t, t.Context(), client, step.Keys)
			finds, _, err := decode.Classify(t.Context(), client, library.Recognizer(), keys, nil, decode.Clock{Now: func() limiter.Instant { return limiter.Instant(math.Round(step.At * 1000)) }})
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range finds {
				if found.Evidence == model.Known {
					t.Errorf("%s/%s, step %d: %q is known as %s", f.Library, f.Scenario, i, found.Key, found.Library)
				}
			}
		}
	})
}
