package heat

import (
	"slices"
	"testing"

	"ratescope/model"
)

func TestFolded(t *testing.T) {
	for _, tc := range []struct{ names, want []string }{
		{[]string{"api:a:1", "mail:2", "api:b:1", "solo"}, []string{"api: 2", " 1", " 1"}},
		{[]string{"api:a:1", "api:a:2", "api:b:1"}, []string{"api:a: 2", " 1"}},
		{[]string{"x"}, []string{" 1"}},
		{[]string{"rl:\x80aaaa:1", "rl:é", "rl:\xffaaaa:2"}, []string{" 1", " 1", " 1"}},
	} {
		var keys []*model.Watched
		for _, n := range tc.names {
			k := &model.Watched{}
			k.Reading.Key = n
			keys = append(keys, k)
		}
		var got []string
		for _, g := range folded(keys) {
			got = append(got, g.prefix+" "+string(rune('0'+len(g.keys))))
		}
		if none := bundle(nil, 3, true); len(none) > 0 {
			t.Errorf("no key is in %d rows", len(none))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q in groups: %q, want %q", tc.names, got, tc.want)
		}
	}
}
