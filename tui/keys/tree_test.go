package keys

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/session"
)

// watched are keys of which every twentieth denies.
func watched(names ...string) []*model.Watched {
	var rows []*model.Watched
	for i, name := range names {
		k := &model.Watched{Reading: model.Reading{Key: name, Target: model.Target{Algorithm: limiter.SlidingLog}}}
		k.Gauge.Remaining.Known, k.Gauge.NextKnown, k.Gauge.RateKnown = true, true, true
		k.Gauge.Utilization, k.Gauge.Rate = float64(i%20)/20, 1
		if i%20 == 19 {
			k.Gauge.Next, k.Gauge.Utilization = 1, 1
		}
		rows = append(rows, k)
	}
	return rows
}

func same(name string) string { return name }

// drawn is what the table lists, a group with its keys and how many of them deny.
func drawn(t *tree) (list []string) {
	for _, l := range t.lines {
		text := strings.Repeat("  ", l.depth)
		if l.group == nil {
			text += strings.TrimPrefix(l.key.Reading.Key, pathOf(t, l.key.Reading.Key))
		} else {
			text += fmt.Sprintf("%s (%d, %d denied)", l.group.label, l.group.keys, l.group.denied)
		}
		list = append(list, text)
	}
	return list
}

func pathOf(t *tree, key string) string {
	if g := t.of[key]; g != nil {
		return g.path
	}
	return ""
}

func TestKeysThatBeginAlikeAreAGroup(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want []string
	}{
		{"parts in common are one group", []string{"api:search:bob", "login:otp", "api:search:alice"},
			[]string{"api › search (2, 0 denied)", "  bob", "  alice", "login:otp"}},
		{"groups inside groups", []string{"api:search:bob", "api:export:1", "api:search:eve", "api:export:2", "quiet"},
			[]string{"api (4, 0 denied)", "  search (2, 0 denied)", "    bob", "    eve", "  export (2, 0 denied)", "    1", "    2", "quiet"}},
		{"what all begin with makes none", []string{"rl:a:1", "rl:a:2", "rl:b"}, []string{"a (2, 0 denied)", "  1", "  2", "rl:b"}},
		{"a key that is the beginning of another", []string{"api:", "api:x", "api:y", "z"}, []string{"api:", "api (2, 0 denied)", "  x", "  y", "z"}},
		{"other separators", []string{"a/b|c", "a/b|d", "e"}, []string{"a › b (2, 0 denied)", "  c", "  d", "e"}},
		{"no separator", []string{"a", "b", ""}, []string{"a", "b", ""}},
	} {
		var tr tree
		tr.build(watched(c.keys...), same, true)
		if got := drawn(&tr); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestDeepNamesEndInAList: names of thousands of parts make no thousands of groups.
func TestDeepNamesEndInAList(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, strings.Repeat("a:", i)+"b")
	}
	var tr tree
	tr.build(watched(names...), same, true)
	if tr.groups > deepest || len(tr.lines) != len(names)+tr.groups {
		t.Errorf("%d groups and %d lines of %d keys", tr.groups, len(tr.lines), len(names))
	}
}

// crowded are n keys in three levels.
func crowded(n int) []*model.Watched {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("service%d:tenant%d:user%d", i%7, i%100, i)
	}
	return watched(names...)
}

// TestTenThousandKeysInGroups: every key has its line when all is open, 500 that deny at once
// are counted where they are, and a row that comes first takes its groups with it.
func TestTenThousandKeysInGroups(t *testing.T) {
	rows := crowded(10_000)
	var tr tree
	tr.build(rows, same, true)
	keys, denied := 0, 0
	for _, l := range tr.lines {
		if l.key != nil {
			keys++
		} else if l.depth == 0 {
			denied += l.group.denied
			if !l.group.worst.Gauge.Throttled() {
				t.Errorf("%s shows %q, which denies nothing", l.group.path, l.group.worst.Reading.Key)
			}
		}
	}
	if keys != len(rows) || denied != 500 {
		t.Errorf("%d keys, %d of them deny; want %d and 500", keys, denied, len(rows))
	}
	tr.build(rows, same, false)
	if len(tr.lines) != 7 {
		t.Errorf("%d lines when all is folded, want 7", len(tr.lines))
	}
	last := rows[len(rows)-1]
	tr.build(append([]*model.Watched{last}, rows[:len(rows)-1]...), same, false)
	if g := tr.lines[0].group; g == nil || !strings.HasPrefix(last.Reading.Key, g.path) {
		t.Errorf("the group of the first row %q is not first", last.Reading.Key)
	}
	if i := tr.lineOf(last.Reading.Key); i != 0 {
		t.Errorf("a key of a folded group is on line %d, want that of its group, 0", i)
	}
}

// TestAGroupWaitsAsLongAsItsLongest: of several keys that deny, the one that waits longest stands for the group, and one that
// never frees before all.
func TestAGroupWaitsAsLongAsItsLongest(t *testing.T) {
	rows := watched("api:a", "api:b", "api:c", "api:d", "other")
	for i, next := range []time.Duration{2 * time.Second, 9 * time.Second, 0, 5 * time.Second} {
		rows[i].Gauge.Next, rows[i].Gauge.Utilization = next, 1+float64(i)
	}
	var tr tree
	for _, want := range []string{"api:b", "api:d"} {
		tr.build(rows, same, false)
		if got := tr.lines[0].group.shown().Reading.Key; got != want {
			t.Errorf("%s stands for the group, want %s", got, want)
		}
		rows[3].Gauge.Next = limiter.Never
	}
}

func BenchmarkTreeOf10000Keys(b *testing.B) {
	rows := crowded(10_000)
	var tr tree
	for b.Loop() {
		tr.build(rows, same, false)
	}
}

// TestTheHeadOfTheServersIsWhole, also above short names.
func TestTheHeadOfTheServersIsWhole(t *testing.T) {
	one, other := &table{s: &session.Session{}}, &table{s: &session.Session{}}
	one.s.Options.Target, other.s.Options.Target = "eu", "prod"
	one.peers = []*table{one, other}
	if got := one.serverWidth(); got < len("server") {
		t.Errorf("the column has %d cells", got)
	}
	other.peers = []*table{other}
	if got := other.serverWidth(); got != 0 {
		t.Errorf("with one server the column has %d cells", got)
	}
}
