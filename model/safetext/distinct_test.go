package safetext_test

import (
	"slices"
	"testing"

	"ratescope/model/safetext"
)

func TestDistinctNamesStayTellable(t *testing.T) {
	for _, c := range []struct {
		names []string
		cells int
		want  []string
	}{
		{[]string{"rl:a", "rl:b"}, 10, []string{"rl:a", "rl:b"}},
		{[]string{"rl:tenant-001:orders:v2", "rl:tenant-002:orders:v2"}, 15, []string{"…001:orders:v2", "…002:orders:v2"}},
		{[]string{"rl:orders:v2:tenant-001", "rl:orders:v2:tenant-002"}, 15, []string{"rl:orde…ant-001", "rl:orde…ant-002"}},
		{[]string{"rl:日本:001:orders:all", "rl:日本:002:orders:all", "x"}, 12, []string{"…001:o…s:all", "…002:o…s:all", "x"}},
		{[]string{"one-name-that-is-long", "one-name-that-is-long"}, 9, []string{"one-…long", "one-…long"}},
		{[]string{"a-long-name-with-x-in-it", "b-long-name-with-x-in-it"}, 3, []string{"a…t", "b…t"}},
		{nil, 5, []string{}},
	} {
		var unknown safetext.Families
		got := unknown.Distinct(c.names, c.cells, "…")
		if !slices.Equal(got, c.want) {
			t.Errorf("%q in %d cells: %q, want %q", c.names, c.cells, got, c.want)
		}
		for _, name := range got {
			if safetext.Width(name) > c.cells {
				t.Errorf("%q takes more than %d cells", name, c.cells)
			}
		}
	}
}

func TestSharedWordsComparesBytes(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"rl:\x80aaaa:1", "rl:\xffaaaa:2", 3},
		{"rl:\uFFFD", "rl:\xff", 3},
		{"rl:é1", "rl:é2", 3},
		{"rl:\xff", "rl:\xff", 4},
	} {
		if got := safetext.SharedWords(c.a, c.b); got != c.want || safetext.SharedWords(c.b, c.a) != c.want {
			t.Errorf("%q and %q share %d bytes, want %d", c.a, c.b, got, c.want)
		}
	}
}
