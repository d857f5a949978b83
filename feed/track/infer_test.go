package track

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/feed/track/infer"
	"ratescope/limiter"
	"ratescope/model"
)

// TestInfer takes over window and limit of likely limiters once they are sure, marks them, and
// leaves alone what a rule says; keys that never count are unlikely.
func TestInfer(t *testing.T) {
	const window, limit = time.Minute, 20
	const start limiter.Instant = 1_795_300_020_000_000
	var e infer.Engine
	likely := func(name, pattern string, r *config.Rule) *Tracker {
		l := New(name, r, false, nil)
		l.Attach(decode.Found{Key: name, Type: "string", Name: name, Kind: decode.Single, Sure: true, Evidence: model.Likely})
		l.inferred, l.pattern = &e, pattern
		return l
	}
	var keys []*Tracker
	for i := range 5 {
		keys = append(keys, likely(fmt.Sprint("x:", i), "x:*", nil))
	}
	ruled := likely("x:5", "x:*", &config.Rule{Match: "*", Limit: limiter.Limit{Count: 7, Window: time.Second}, LimitKnown: true, Window: time.Second})
	flag := likely("f:1", "f:*", nil)
	var readings []model.Reading
	for since := time.Duration(0); since < 10*time.Minute; since += time.Second {
		at := start.Add(since)
		readings = readings[:0]
		for i, l := range append(slices.Clone(keys), ruled, flag) {
			into := since % window
			l.typ, l.ttl, l.kind = "string", window-into, decode.Single
			l.target.Algorithm = limiter.FixedWindow
			r := model.Reading{Key: l.Name, At: at}
			if r.State.Current = min(limit, 1+int64(into.Seconds())*int64(i+1)/2); l == flag {
				r.State.Current = 1
			}
			l.finish(at, &r)
			readings = append(readings, r)
		}
	}
	for i, r := range readings {
		switch l := r.Target; {
		case i < 5 && (l.Window != window || l.Limit.Count != limit || l.LimitFrom != model.LimitInferred || !slices.Contains(r.Notes, model.LimitGuessed) || !slices.Contains(r.Notes, model.WindowInferred)):
			t.Errorf("%s: %+v %v %v", r.Key, l, r.Notes, r.Unsettled)
		case i == 5 && (l.Window != time.Second || l.Limit.Count != 7):
			t.Errorf("the rule gives way: %+v", l)
		}
	}
	if keys[0].Unlikely() || !flag.Unlikely() {
		t.Errorf("a limiter is unlikely: %v, a switch is: %v", keys[0].Unlikely(), flag.Unlikely())
	}
}
