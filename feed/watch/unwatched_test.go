package watch

import (
	"fmt"
	"testing"

	"ratescope/feed/decode"
	"ratescope/model"
	"ratescope/model/naming"
)

// TestFaint: keys of which each says little are a group of candidates where several are alike, and else none.
func TestFaint(t *testing.T) {
	for _, c := range []struct {
		keys  int
		faint bool
		want  int
	}{{2, true, 0}, {3, true, 1}, {1, false, 1}} {
		var u unwatched
		var p naming.Patterns
		for i := range c.keys {
			f := decode.Found{Key: fmt.Sprint("visited:", 100+i), Name: fmt.Sprint("visited:", 100+i), Faint: c.faint}
			p.Learn(f.Name, "", 0)
			u.add(&f, "", &p, 0)
		}
		if got := u.list(&p, 0); len(got) != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
		for i := range c.keys {
			u.remove(fmt.Sprint("visited:", 100+i))
		}
		if got := u.list(&p, 0); len(got) != 0 {
			t.Errorf("%+v: once all are watched, the groups are %+v", c, got)
		}
	}
}

// TestExamplesOfCandidates: a group of candidates has the names of some of its keys, so that what tells its readings apart is seen.
func TestExamplesOfCandidates(t *testing.T) {
	var u unwatched
	var p naming.Patterns
	for i := range 12 {
		name := fmt.Sprint("units/u", 1000+i)
		p.Learn(name, "string single ", 1)
		u.put(name, &leftOut{kind: "string single "}, &p, 1)
	}
	if list := u.list(&p, 1); len(list) != 1 || list[0].Keys != 12 || len(list[0].Examples) != 8 {
		t.Errorf("%+v", list)
	}
}

// TestWatchedForAWhile: a limiter beyond those that are told by name, which is watched for a while and left out again, is counted once.
func TestWatchedForAWhile(t *testing.T) {
	var u unwatched
	var p naming.Patterns
	const all = mostNames + 10
	put := func(i int) {
		u.put(fmt.Sprint("k:", i), &leftOut{fixed: true, group: model.KeyGroup{Pattern: "k:*"}}, &p, 1)
	}
	counts := func(when string, want int) {
		t.Helper()
		if list := u.list(&p, 1); len(list) != 1 || list[0].Keys != want || u.len() != want {
			t.Errorf("%s: %d of %d keys: %+v", when, u.len(), want, list)
		}
	}
	for i := range all {
		put(i)
	}
	for range 3 {
		u.remove(fmt.Sprint("k:", all-1))
		counts("watched", all-1)
		put(all - 1)
		counts("left out", all)
	}
	u.remove("k:0")
	put(all - 2) // found again
	counts("one is watched", all-1)
}
