package identify

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

func reading(key, pattern, library string, e model.Evidence, t model.Target) model.Reading {
	t.Library, t.Evidence = library, e
	return model.Reading{Key: key, Pattern: pattern, Target: t}
}

func TestGroups(t *testing.T) {
	counter := model.Target{Algorithm: limiter.FixedWindow, Window: time.Minute}
	ten := counter
	ten.Limit.Count, ten.LimitKnown, ten.LimitFrom = 10, true, model.LimitOfName
	five := ten
	five.Limit.Count = 5
	two := reading("b:1", "b:*", "limits", model.Known, ten)
	two.Members = []string{"b:1", "b:1/-1"}
	rep := Of([]model.Reading{
		reading("x:9", "x:*", "", model.Likely, counter),
		reading("a:2", "a:*", "rate-limit-redis", model.Known, counter),
		reading("a:1", "a:*", "rate-limit-redis", model.Known, counter),
		reading("c:1", "c:*", "limits", model.Known, ten),
		reading("c:2", "c:*", "limits", model.Known, five),
		two,
	}, model.Sweep{Total: 100, Skipped: 20, Sampled: 8, Beyond: []model.KeyGroup{ // those that are too many to be watched
		{Pattern: "a:*", Example: "a:9", Keys: 30, Library: "rate-limit-redis", Evidence: model.Known, Algorithm: limiter.FixedWindow},
		{Pattern: "d:*", Example: "d:1", Keys: 10, Library: "kong", Evidence: model.Known, Algorithm: limiter.FixedWindow},
	}}, func(name string) (Library, bool) {
		return Library{Version: "1.0", Silent: []string{"the limit"}}, name == "rate-limit-redis"
	})
	if rep.Unknown != 20 || rep.Sampled != 8 || rep.NotLimiters != 100-20-47 {
		t.Errorf("unknown %d and no limiters %d, want 20 and 33", rep.Unknown, rep.NotLimiters)
	}
	for i, want := range []struct {
		pattern string
		keys    int
		limit   int64
		varies  bool
		missing bool
	}{{"a:*", 32, 0, false, true}, {"d:*", 10, 0, false, true}, {"c:*", 2, 0, true, false}, {"b:*", 1, 10, false, false}, {"x:*", 1, 0, false, true}} {
		g := rep.Groups[i]
		if g.Pattern != want.pattern || g.Keys != want.keys || g.Limit.Count != want.limit || g.Varies != want.varies || g.Missing() != want.missing {
			t.Errorf("group %d is %+v, want %+v", i, g, want)
		}
	}
	if g := rep.Groups[0]; g.Example != "a:1" || g.Version != "1.0" || len(g.NotRecorded) != 1 {
		t.Errorf("the group of a known library is %+v", g)
	}
}
