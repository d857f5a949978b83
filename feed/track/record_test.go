package track

import (
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// FuzzRecord plays readings against a record and holds it to its promises: what is told
// adds up to what came, in order, and what was handed out never changes.
func FuzzRecord(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 4, 5, 6, 7, 8, 250, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		r := &record{window: time.Second}
		script = script[:min(len(script), 400)]
		now := limiter.Instant(1_795_000_000_123_456)
		var came, reported int64
		var handed []limiter.Entry
		var copied []limiter.Entry
		for _, b := range script {
			now = now.Add(time.Duration(b) * time.Millisecond)
			switch b % 5 {
			case 0, 1:
				fresh := []limiter.Entry{{At: now, Count: 1}, {At: now, Count: int64(b % 3)}}
				came += 1 + int64(b%3)
				r.extend(fresh)
			case 2: // late
				r.extend([]limiter.Entry{{At: now.Add(-time.Duration(b) * time.Millisecond), Count: 2}})
				came += 2
			case 3: // read again, with one more
				from := now.Add(-500 * time.Millisecond)
				fresh := slices.Clone(r.entries[r.from(from):])
				fresh = append(fresh, limiter.Entry{At: max(now, from), Count: 1})
				slices.SortFunc(fresh, func(a, b limiter.Entry) int { return int(a.At - b.At) })
				came++
				r.replace(from, fresh, 1)
			case 4:
				r.trim(now)
				for _, a := range r.arrivals(false) {
					reported += a.N
				}
				if !slices.Equal(handed, copied) {
					t.Fatal("a log that was handed out has changed")
				}
				handed = r.log()
				copied = slices.Clone(handed)
			}
			if !slices.IsSortedFunc(r.entries, func(a, b limiter.Entry) int { return int(a.At - b.At) }) {
				t.Fatal("entries are out of order")
			}
		}
		var last model.Arrival
		for _, a := range r.arrivals(false) {
			reported += a.N
			if a.At < last.At {
				t.Fatal("arrivals are out of order")
			}
			last = a
		}
		if reported != came {
			t.Fatalf("%d units were told and %d came", reported, came)
		}
	})
}

// TestAnotherWindowReportsAgain changes the window while an entry is not reported yet: those that
// were reported come again, apart from it, although one bin of the new window holds them all.
func TestAnotherWindowReportsAgain(t *testing.T) {
	var r record
	r.setWindow(time.Second)
	at := limiter.InstantOf(time.Unix(1_700_000_000, 0))
	r.extend([]limiter.Entry{{At: at, Count: 2}, {At: at + 5, Count: 1}})
	r.arrivals(false)
	r.extend([]limiter.Entry{{At: at + 9, Count: 4}})
	r.setWindow(time.Minute)
	want := []model.Arrival{{At: at + 5, N: 3}, {At: at + 9, N: 4}}
	if got := r.arrivals(false); !slices.Equal(got, want) {
		t.Errorf("arrivals %v, want %v", got, want)
	}
}

// FuzzOwnMember wants what is taken for a member of this library to be a time.
func FuzzOwnMember(f *testing.F) {
	f.Add("1795000000123456-2")
	f.Add("-")
	f.Fuzz(func(t *testing.T, member string) {
		if at, ok := ownMember(member); ok && (at <= 0 || at >= 1<<53) {
			t.Errorf("ownMember(%q) = %d", member, at)
		}
	})
}

// TestAScoreOfLongAgo: a member whose score is far in the past takes no entry of the last window away.
func TestAScoreOfLongAgo(t *testing.T) {
	var r record
	r.setWindow(time.Minute)
	r.extend([]limiter.Entry{{At: noon.Add(-10 * time.Second), Count: 5}})
	var b bins
	if b.shrink(noon, -6e16, &r); r.sum(noon.Add(-time.Minute)) != 5 {
		t.Errorf("%d of 5 units are left", r.sum(noon.Add(-time.Minute)))
	}
}
