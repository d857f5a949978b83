package track

import (
	"context"
	"math"
	"slices"
	"testing"

	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// neverKnown are libraries without a decoder, on purpose: they stand for all others without one.
var neverKnown = []string{"graphql-rate-limit", "redis-bucket"}

// mistaken are fixtures whose keys are, value and expiry included, what another library writes.
var mistaken = map[string][]string{
	"ratescope":  {"counter-sliding-window"}, // a stream without running totals
	"redis-cell": {"throttled"},              // the same time in nanoseconds under the same expiry
}

// TestNoStranger: no key of any fixture is taken for another library's, and none of a library that no
// decoder knows, or of a program that limits nothing, is known.
func TestNoStranger(t *testing.T) {
	client := servertest.Start(t).Client()
	defer client.Close()
	ctx := context.Background()
	looked := 0
	for _, folder := range [...]string{"fixtures", "unrelated"} {
		eachFixture(t, folder, func(f *fixture) {
			never := folder == "unrelated" || slices.Contains(neverKnown, f.Library)
			allowed := slices.Concat(f.names(), mistaken[f.Library])
			for i, step := range f.Steps {
				restored := &restored{keys: step.Keys, now: limiter.Instant(math.Round(step.At * 1000))}
				keys := restored.renew(t, ctx, client)
				var finds []decode.Found
				undisturbed(t, ctx, client, restored, func(at limiter.Instant) {
					var err error
					clock := decode.Clock{Now: func() limiter.Instant { return at }}
					finds, _, err = decode.Classify(ctx, client, library.Recognizer, keys, nil, clock)
					if err != nil {
						t.Fatal(err)
					}
				})
				for _, found := range finds {
					looked++
					if found.Evidence == model.Known && (never || !slices.Contains(allowed, found.Library)) {
						t.Errorf("%s/%s, step %d: %q is taken for a key of %s", f.Library, f.Scenario, i, found.Key, found.Library)
					}
				}
			}
		})
	}
	if looked < 500 {
		t.Errorf("only %d keys were looked at", looked)
	}
}
