package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// logReading is a reading of a sliding log of the last ten seconds with so many entries
// a moment ago.
func logReading(key string, at, since limiter.Instant, used, limit int64) model.Reading {
	w := 10 * time.Second
	r := model.Reading{
		Key: key, Type: "zset", At: at, Since: since, ExactKnown: true, PreviousKnown: true,
		Target: model.Target{Algorithm: limiter.SlidingLog, Window: w, LimitKnown: true, Limit: limiter.Limit{Count: limit, Window: w}},
		State:  limiter.State{Algorithm: limiter.SlidingLog},
	}
	if used > 0 {
		r.State.Log = []limiter.Entry{{At: at - 1000, Count: used}}
		r.Arrivals = []model.Arrival{{At: at - 1000, N: used}}
	}
	return r
}

func live(at limiter.Instant, readings ...model.Reading) model.Batch {
	return model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Readings: readings, Sweep: model.Sweep{Passes: 1}}
}

func down(at limiter.Instant) model.Batch {
	return model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Down, Err: "It is away."}}
}

func names(list []*model.Watched) []string {
	var out []string
	for _, k := range list {
		out = append(out, k.Reading.Key)
	}
	return out
}

func TestTimeWithoutALinkIsNotWatched(t *testing.T) {
	var b model.Board
	step := limiter.Instant(200_000)
	at := today
	since := limiter.Instant(0)
	apply := func() {
		b.Apply(live(at, logReading("a", at, since, 1, 9)))
		since, at = at, at+step
	}
	for range 20 {
		apply()
	}
	lost := at - step
	for range 10 {
		b.Apply(down(lost))
		at += step
	}
	resumed := at
	for range 20 {
		apply()
	}
	tl := b.Key("a").Timeline
	cols := make([]model.Bin, 240)
	last := tl.Column(at-step, 1)
	tl.Columns(cols, last, 1)
	for i, c := range cols {
		number := last - int64(len(cols)-1-i)
		from, to := tl.ColumnBegin(number, 1), tl.ColumnBegin(number+1, 1)
		switch {
		case to <= today: // before the first reading
		case from > lost && to <= resumed && c.Watched:
			t.Errorf("the program did not look from %d to %d, and the column does not say so", from-today, to-today)
		case (from > today && to <= lost || from > resumed && to < at-step) && !c.Watched:
			t.Errorf("the column from %d to %d is a gap", from-today, to-today)
		}
	}
}

func TestAReadingThatIsLateLeavesAGap(t *testing.T) {
	var b model.Board
	b.Apply(live(today, logReading("a", today, 0, 1, 9)))
	later := today.Add(5 * time.Second)
	b.Apply(live(later, logReading("a", later, today, 1, 9)))
	tl := b.Key("a").Timeline
	cols := make([]model.Bin, 3)
	tl.Columns(cols, tl.Column(today.Add(2*time.Second), 4), 4)
	for _, c := range cols {
		if c.Watched {
			t.Errorf("five seconds between two readings count as watched: %+v", c)
		}
	}
}

func TestAServerWhoseClockWasSetBackRules(t *testing.T) {
	var b model.Board
	b.Apply(live(today, logReading("a", today, 0, 1, 9)))
	b.Apply(live(today-300_000, logReading("a", today-300_000, 0, 1, 9)))
	if b.At != today {
		t.Errorf("a batch that is a little late moved the board back to %d", b.At-today)
	}
	before := today.Add(-time.Hour)
	for range 5 {
		b.Apply(live(before, logReading("a", before, before-200_000, 3, 9)))
		before += 200_000
	}
	if want := before - 200_000; b.At != want {
		t.Errorf("the board is at %v, the server at %v", b.At.Time(), want.Time())
	}
	one := make([]model.Bin, 1)
	tl := b.Key("a").Timeline
	if tl.Columns(one, tl.Column(b.At, 240), 240); one[0].Admitted == 0 {
		t.Error("nothing that comes after the clock was set back is on the timeline")
	}
}

func TestArrivalsFromTheFutureCountWhenTheyAreSeen(t *testing.T) {
	var b model.Board
	r := logReading("a", today, 0, 0, 9)
	r.Arrivals = []model.Arrival{{At: today.Add(1000 * time.Hour), N: 5}, {At: 1 << 62, N: 2}}
	b.Apply(live(today, r))
	at := today
	for range 700 { // longer than the timeline reaches
		at += 200_000
		b.Apply(live(at, logReading("a", at, at-200_000, 1, 9)))
	}
	tl := b.Key("a").Timeline
	cols := make([]model.Bin, 10)
	tl.Columns(cols, tl.Column(at, 240), 240)
	for i, c := range cols[:9] {
		if c.Admitted != 50 {
			t.Errorf("window %d holds %d, want 50", i, c.Admitted)
		}
	}
	if hit := b.Key("a").LastHit; hit > at {
		t.Errorf("it was last hit in the future, at %v", hit.Time())
	}
}

func TestKeysThatLeftGoWhenTheirPastHas(t *testing.T) {
	var b model.Board
	at := today
	b.Apply(live(at, logReading("hot", at, 0, 1, 9), logReading("cold", at, 0, 0, 9), logReading("pinned", at, 0, 1, 9), logReading("stays", at, 0, 1, 9)))
	b.Pin("pinned")
	gone := live(at)
	gone.Gone = []string{"hot", "cold", "pinned", "never seen"}
	b.Apply(gone)
	if b.Key("hot") == nil || !b.Key("hot").Gone || b.Key("cold") != nil {
		t.Error("a key with a past on screen stays marked as gone, one without is dropped at once")
	}
	for range 21 {
		at = at.Add(time.Second)
		b.Apply(live(at, logReading("stays", at, at.Add(-time.Second), 1, 9)))
	}
	if got := names(b.Select(model.View{Sort: model.ByName})); !slices.Equal(got, []string{"pinned", "stays"}) {
		t.Errorf("two windows later %v are on the board, want the pinned one and the one that stays", got)
	}
	b.Apply(live(at, logReading("pinned", at, 0, 1, 9)))
	if b.Key("pinned").Gone {
		t.Error("a key that came back is still marked as gone")
	}
}

// TestPassingKeysDoNotGather holds that a server whose keys come and go does not fill
// the memory of who watches.
func TestPassingKeysDoNotGather(t *testing.T) {
	var b model.Board
	at, most := today, 0
	for i := range 2000 {
		batch := live(at, logReading(fmt.Sprint("user", i), at, 0, 1, 9))
		if i >= 50 {
			batch.Gone = []string{fmt.Sprint("user", i-50)} // expires one window after its last hit
		}
		b.Apply(batch)
		most = max(most, b.Len())
		at += 200_000
	}
	if most > 200 {
		t.Errorf("%d keys were on the board at once, and only 50 at once on the server", most)
	}
}

func TestAPastThatIsToldAgainCountsOnce(t *testing.T) {
	var b model.Board
	first := logReading("a", today, 0, 5, 9)
	b.Apply(live(today, first))
	again := logReading("a", today+200_000, 0, 2, 9)
	again.Arrivals = append(slices.Clone(first.Arrivals), again.Arrivals...)
	b.Apply(live(today+200_000, again))
	count := func() (n int64) {
		tl := b.Key("a").Timeline
		cols := make([]model.Bin, 10)
		tl.Columns(cols, tl.Column(b.At, 240), 240)
		for _, c := range cols {
			n += c.Admitted
		}
		return n
	}
	if got := count(); got != 7 {
		t.Errorf("%d units are on the timeline, want 7", got)
	}
	other := again
	other.At, other.Since, other.Target.Window = today+400_000, today+200_000, 30*time.Second
	b.Apply(live(today+400_000, other))
	if got := count(); got != 7 {
		t.Errorf("after the window turned out to be another, %d units are on the timeline, want 7", got)
	}
}

func TestMark(t *testing.T) {
	var b model.Board
	b.Apply(live(today, logReading("a", today, 0, 5, 9)))
	for _, f := range []model.Fired{
		{Key: "a", At: today, Outcome: model.Admitted}, {Key: "a", At: today, Outcome: model.Denied},
		{Key: "a", At: today, Outcome: model.Failed}, {Key: "a", At: today, Outcome: model.Unanswered},
		{Key: "unknown", At: today, Outcome: model.Admitted},
	} {
		b.Mark(f)
	}
	one := make([]model.Bin, 1)
	tl := b.Key("a").Timeline
	tl.Columns(one, tl.Column(today, 1), 1)
	if one[0].InjectedAdmitted != 1 || one[0].InjectedDenied != 1 {
		t.Errorf("the marks are %+v, want one of each", one[0])
	}
}

func TestFreeze(t *testing.T) {
	s := newScript(3, time.Second, 10*time.Second)
	var b model.Board
	for range 40 {
		b.Apply(s.next())
	}
	b.Refresh(b.At + 123)
	frozen := b.Freeze(b.At + 123)
	if frozen.At != b.At+123 {
		t.Errorf("it was frozen at %d, want %d", frozen.At, b.At+123)
	}
	picture := func() string {
		var sb strings.Builder
		fmt.Fprintln(&sb, frozen.At, frozen.Server, frozen.Totals().Keys, frozen.Alerts())
		for _, k := range frozen.Select(model.View{Sort: model.ByName}) {
			fmt.Fprintln(&sb, k.Reading.Key, k.Gauge, k.Reading.At, k.Pinned, k.Gone, lines(k, frozen.At))
		}
		return sb.String()
	}
	before := picture()
	for i := range 600 {
		batch := s.next()
		if i%100 == 50 {
			batch = down(s.now)
		}
		if i == 300 {
			batch.Gone = []string{"key0"}
		}
		b.Apply(batch)
		b.Refresh(s.now)
		b.Mark(model.Fired{Key: "key1", At: s.now, Outcome: model.Denied})
	}
	b.Pin("key1")
	if after := picture(); after != before {
		t.Errorf("what came later changed the frozen board from\n%.2000s\nto\n%.2000s", before, after)
	}
	frozen.Pin("key0")
	if b.Key("key0") != nil && b.Key("key0").Pinned {
		t.Error("a pin on the frozen board pinned the live one")
	}
}

// motley is a board of keys in all conditions.
func motley() *model.Board {
	var b model.Board
	batch := live(today)
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 60 {
		k := logReading(fmt.Sprintf("key%02d", i), today, 0, int64(r.IntN(12)), 10)
		switch i % 6 {
		case 1:
			k.Target.LimitKnown = false
		case 2:
			k.Err = "is of another type"
		case 3:
			k.Denied = model.Count{Known: true, N: int64(r.IntN(4))}
		case 4:
			k.Target.Limit.Count = 0
		}
		batch.Readings = append(batch.Readings, k)
	}
	b.Apply(batch)
	at := today.Add(3 * time.Second)
	later := live(at, slices.Clone(batch.Readings)...)
	for i := range later.Readings {
		k := &later.Readings[i]
		k.Since, k.At, k.Arrivals = k.At, at, nil
		if k.Denied.N > 0 {
			k.Arrivals = []model.Arrival{{At: at.Add(-time.Second), N: k.Denied.N, Denied: true}}
		}
	}
	b.Apply(later)
	b.Pin("key07")
	b.Pin("key31")
	return &b
}

func TestSelectOrders(t *testing.T) {
	b := motley()
	orders := map[model.Sort]func(x, y *model.Watched) bool{ // y may stand before x only when this is false
		model.ByName:      func(x, y *model.Watched) bool { return x.Reading.Key < y.Reading.Key },
		model.ByRate:      func(x, y *model.Watched) bool { return x.Came().V > y.Came().V },
		model.ByDenied:    func(x, y *model.Watched) bool { return x.Gauge.DeniedPerSec.V > y.Gauge.DeniedPerSec.V },
		model.ByAlgorithm: func(x, y *model.Watched) bool { return x.Reading.Target.Algorithm < y.Reading.Target.Algorithm },
		model.ByUtilization: func(x, y *model.Watched) bool { // then those without a limit, then those that cannot be read
			if (x.Reading.Err == "") != (y.Reading.Err == "") {
				return x.Reading.Err == ""
			}
			return x.Gauge.Remaining.Known && (!y.Gauge.Remaining.Known || x.Gauge.Utilization > y.Gauge.Utilization)
		},
		model.ByNext: func(x, y *model.Watched) bool {
			return x.Gauge.NextKnown && (!y.Gauge.NextKnown || x.Gauge.Next > y.Gauge.Next)
		},
	}
	seen := model.Sort(0)
	for range orders {
		before := orders[seen]
		if before == nil {
			t.Fatalf("the order %v is not known here", seen)
		}
		for _, reverse := range []bool{false, true} {
			list := b.Select(model.View{Sort: seen, Reverse: reverse})
			if len(list) != 60 {
				t.Fatalf("by %v: %d keys", seen, len(list))
			}
			for i, k := range list {
				if k.Pinned != (i < 2) {
					t.Errorf("by %v: %s is pinned %v and stands at %d", seen, k.Reading.Key, k.Pinned, i)
				}
				for _, later := range list[i+1:] {
					if k.Pinned != later.Pinned {
						continue
					}
					wrong := before(later, k)
					if reverse {
						wrong = before(k, later)
					}
					tied := !before(k, later) && !before(later, k)
					if wrong || tied && seen != model.ByName && k.Reading.Key > later.Reading.Key {
						t.Fatalf("by %v, reversed %v: %s stands before %s", seen, reverse, k.Reading.Key, later.Reading.Key)
					}
				}
			}
			if again := b.Select(model.View{Sort: seen, Reverse: reverse}); !slices.Equal(names(list), names(again)) {
				t.Errorf("by %v: the order is another at the second time", seen)
			}
		}
		seen = seen.Succ()
	}
	if seen != 0 {
		t.Errorf("after the last order comes %v", seen)
	}
}

func TestTotals(t *testing.T) {
	var b model.Board
	broken := logReading("broken", today, 0, 10, 10)
	broken.Err = "is of another type"
	recorded := logReading("recorded", today, 0, 2, 10)
	recorded.Denied = model.Count{Known: true, N: 30}
	never := logReading("never", today, 0, 1, 10)
	never.Target.Convention.Block = 0
	late := logReading("late", today, 0, 10, 10)
	late.State.Log[0].At, late.Arrivals = today.Add(-4*time.Second), nil
	b.Apply(live(today, broken, recorded, logReading("full", today, 0, 10, 10), late, logReading("near", today, 0, 8, 10), never))
	got := b.Totals()
	if got.Keys != 6 || got.Throttled != 2 || got.Near != 1 || got.Broken != 1 || got.Recorded != 1 || got.DeniedKnown != 0 {
		t.Errorf("the totals are %+v", got)
	}
	if got.Worst == nil || got.Worst.Reading.Key != "full" {
		t.Errorf("the worst key is %+v, want the one that waits longest", got.Worst)
	}
	if got.Denied != 0 || got.Admitted != 2+10+10+8+1-31+3.1 { // 31 units in ten seconds are 3.1 a second
		t.Errorf("%g denied and %g admitted a second, want none that is known yet and 3.1", got.Denied, got.Admitted)
	}
}
