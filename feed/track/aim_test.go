package track

import (
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// TestAim: a rule that names the keys is above what they say, a rule for all keys below it, and a guess below both.
func TestAim(t *testing.T) {
	ten := limiter.Limit{Count: 10, Window: time.Second}
	says := decode.Settings{Algorithm: limiter.FixedWindow, Window: time.Minute, Limit: limiter.Limit{Count: 5}, LimitFrom: model.LimitOfKey}
	for _, c := range []struct {
		rule   *config.Rule
		says   decode.Settings
		window time.Duration
		limit  int64
	}{
		{nil, says, time.Minute, 5},
		{&config.Rule{Match: "api:*", Limit: ten, LimitKnown: true}, says, time.Second, 10},
		{&config.Rule{Match: "*", Limit: ten, LimitKnown: true}, says, time.Minute, 5},
		{&config.Rule{Match: "*", Limit: ten, LimitKnown: true}, decode.Settings{Algorithm: limiter.FixedWindow}, time.Second, 10},
		{nil, decode.Settings{Algorithm: limiter.FixedWindow}, time.Hour, 0},
	} {
		a := aim{rule: c.rule}
		a.settle(limiter.Unknown, layout.Layout{}, 0)
		a.adopt(c.says, "", &notes{})
		if a.target.Window == 0 {
			a.guess(time.Hour)
		}
		if a.target.Window != c.window || a.target.Limit.Count != c.limit || a.target.Limit.Window != c.window {
			t.Errorf("%+v beside %+v: %+v in %v, want %d in %v", c.rule, c.says, a.target.Limit, a.target.Window, c.limit, c.window)
		}
	}
}
