package track

import (
	"math"
	"slices"
	"testing"

	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

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
			finds, _, err := decode.Classify(t.Context(), client, library.Recognizer, keys, nil, decode.Clock{Now: func() limiter.Instant { return limiter.Instant(math.Round(step.At * 1000)) }})
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
