package firing_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/firing"
	"ratescope/tui/tuitest"
)

// noChanger changes nothing.
type noChanger struct{}

func (noChanger) Change(context.Context, model.Order) (model.Changed, error) {
	return model.Changed{}, nil
}

// TestOnlyPossibleChangesAreOffered: a library that looks for no block is offered none, armed or not, and a
// key whose program says nothing of it is not changed at all.
func TestOnlyPossibleChangesAreOffered(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	limit := limiter.Limit{Count: 5, Window: time.Minute}
	for name, c := range map[string]struct {
		target model.Target
		kind   string
		armed  bool
		want   []string // nil: a sentence says why nothing can be changed
	}{
		"our own":                    {model.Target{Algorithm: limiter.SlidingLog}, "zset", true, []string{"give 20 more", "free now", "block for", "unblock"}},
		"our own, not armed":         {model.Target{Algorithm: limiter.SlidingLog}, "zset", false, []string{"give 20 more", "free now", "block for", "unblock"}},
		"of a library":               {model.Target{Algorithm: limiter.GCRA, Library: "redis-rate", Evidence: model.Known, Exact: true}, "string", true, []string{"free now"}},
		"of a library, not armed":    {model.Target{Algorithm: limiter.GCRA, Library: "redis-rate", Evidence: model.Known, Exact: true}, "string", false, []string{"free now"}},
		"of one that is not written": {model.Target{Algorithm: limiter.SlidingLog, Library: "redisson", Evidence: model.Known}, "zset", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			app, k := newApp(t), &keys{}
			c.target.Limit, c.target.LimitKnown, c.target.Window = limit, true, limit.Window
			k.board.Apply(model.Batch{At: limiter.InstantOf(now), Readings: []model.Reading{{
				Key: "api", Type: c.kind, At: limiter.InstantOf(now), State: limiter.State{Algorithm: c.target.Algorithm}, Target: c.target,
			}}})
			injector := &injector{feed: tuitest.NewFeed(now)}
			o := firing.New(app, k.look(), firing.Options{Injector: injector, Arming: armed{not: !c.armed}, Change: noChanger{}.Change,
				Name: func(key string) string { return key }})
			o.OpenChanges()
			if app.Over == nil {
				if c.want != nil {
					t.Error("nothing is offered")
				}
				return
			}
			text := painted(app.Over, 100, 40)
			for _, word := range []string{"give 20 more", "free now", "block for", "unblock"} {
				wanted := slices.Contains(c.want, word)
				if strings.Contains(text, word) != wanted {
					t.Errorf("%q is offered: %v, want %v\n%s", word, !wanted, wanted, text)
				}
			}
		})
	}
}
