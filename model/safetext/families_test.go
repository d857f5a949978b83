package safetext_test

import (
	"fmt"
	"testing"

	"ratescope/model/safetext"
)

// limits are names as the library limits makes them.
var limits = []string{
	"LIMITS:LIMITER/10.0.0.7/login/10/1/minute",
	"LIMITS:LIMITER/10.0.0.11/api/100/1/minute",
	"LIMITS:LIMITER/alice/upload/20/1/minute",
}

func TestFamiliesKeepWhatIsAKeysOwn(t *testing.T) {
	tenants := []string{"rl:tenant-001:orders:v2", "rl:tenant-002:orders:v2"}
	for _, c := range []struct {
		learned []string
		name    string
		cells   int
		want    string
	}{
		{limits, limits[0], 41, limits[0]},
		{limits, limits[0], 40, "…LIMITER/10.0.0.7/login/10/1/minute"},
		{limits, limits[0], 28, "…10.0.0.7/login/10/1/minute"},
		{limits, limits[0], 21, "…10.0.0.7/login/10/1…"},
		{limits, limits[0], 20, "…10.0.0.7/login/10…"},
		{limits, limits[2], 21, "…alice/upload/20/1…"},
		{limits, limits[0], 16, "…10.0.0.7/login…"},
		{limits, limits[1], 15, "…10.0.0.11/api…"},
		{limits, limits[0], 15, "…10.0.0…gin/10…"},
		{limits, limits[0], 9, "LIMI…nute"},
		{limits[:1], limits[0], 21, "LIMITS:LIM…0/1/minute"}, // alone it has no family
		{nil, limits[0], 21, "LIMITS:LIM…0/1/minute"},
		{limits, "LIMITS:a-name-of-another-form", 16, "LIMITS:…her-form"},
		{limits, "other:name-that-is-long", 12, "other…s-long"},
		{tenants, tenants[0], 15, "…001:orders:v2"},
		{tenants, tenants[0], 12, "…001:orders…"},
		{[]string{"rl:日本:001", "rl:日本:002"}, "rl:日本:001", 9, "…日本:001"},
		{[]string{"rl:***ute", "rl:***ute"}, "rl:***ute", 7, "rl:…ute"}, // masked names may be the same
		{[]string{"rl:a", "rl:a:b:c"}, "rl:a:b:c", 7, "…a:b:c"},
		{limits, limits[0], 1, "…"},
		{limits, limits[0], 0, ""},
	} {
		var f safetext.Families
		for _, name := range c.learned {
			f.Learn(name)
		}
		if got := f.Shorten(c.name, c.cells, "…"); got != c.want {
			t.Errorf("%q in %d cells: %q, want %q", c.name, c.cells, got, c.want)
		}
	}
}

func TestFamiliesSayWhenTheirNamesChange(t *testing.T) {
	var f safetext.Families
	f.Learn(limits[0])
	if f.Changes() != 0 {
		t.Error("one name changed how names are shortened")
	}
	f.Learn(limits[1])
	before := f.Changes()
	if before == 0 {
		t.Error("a second name of a family did not count as a change")
	}
	f.Learn(limits[0])
	f.Learn(limits[1])
	f.Learn("LIMITS:LIMITER/10.0.0.12/api/100/1/minute")
	if f.Changes() != before {
		t.Error("names that have the same in common as those before counted as a change")
	}
	if f.Learn("LIMITS:LIMITER/bob/upload/20/1/hour"); f.Changes() == before {
		t.Error("a name that ends otherwise did not count as a change")
	}
}

func FuzzFamilies(f *testing.F) {
	f.Add(limits[0], limits[1], limits[2], 21)
	f.Add("a", "a:", ":a", 2)
	f.Fuzz(func(t *testing.T, a, b, c string, cells int) {
		cells = max(min(cells, 200), 0)
		var names safetext.Families
		for _, name := range []string{a, b} {
			names.Learn(safetext.Clean(name))
		}
		for _, name := range []string{a, b, c} {
			if got := names.Shorten(safetext.Clean(name), cells, safetext.Ellipsis); safetext.Width(got) > cells {
				t.Errorf("%q takes more than %d cells", got, cells)
			}
		}
	})
}

// TestFamiliesAreBounded: names that begin with ever other words are not all remembered.
func TestFamiliesAreBounded(t *testing.T) {
	var f safetext.Families
	for i := range 5000 {
		f.Learn(fmt.Sprintf("word%d:x", i))
	}
	for _, name := range limits {
		f.Learn(name)
	}
	if got, want := f.Shorten(limits[0], 21, "…"), safetext.Shorten(limits[0], 21, "…"); got != want {
		t.Errorf("after 5,000 other families a name is cut to %q, want %q as without a family", got, want)
	}
}
