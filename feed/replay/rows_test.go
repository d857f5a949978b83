package replay_test

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"ratescope/feed/replay"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/tui/tuitest"
)

// whole is a reader of all of a recording.
func whole(t *testing.T, f *record.File) *record.Reader {
	t.Helper()
	r, err := f.FromState(0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRowsAreWhatWasOnTheBoard: a moment read from the nearest place in the file, and the rows of
// a key's history, have the figures of a board that saw every batch until then.
func TestRowsAreWhatWasOnTheBoard(t *testing.T) {
	t.Parallel()
	all, file := recorded(t, 90*time.Second)
	then := boards(all)
	kept := record.NewTail(record.Header{}, time.Hour, 1<<26)
	for _, b := range all {
		if err := kept.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, passed := range []time.Duration{0, 700 * time.Millisecond, 31 * time.Second, 44 * time.Second, 47 * time.Second, 90 * time.Second} {
		at := file.Begin.Add(passed)
		board := then.upTo(at)
		rows, server, err := replay.Moment(file, at, "", report.Options{})
		if err != nil || len(rows) != len(tuitest.Cast()) || server != board.Server.Target {
			t.Fatalf("after %v: %d rows of %q, %v", passed, len(rows), server, err)
		}
		for _, row := range rows {
			want := report.RowOf(&board.Key(string(row.Key.Key)).Reading, at, report.Options{})
			if text(t, row) != text(t, want) {
				t.Errorf("after %v the row is\n%swant\n%s", passed, text(t, row), text(t, want))
			}
		}
		one, _, err := replay.Moment(file, at, string(rows[1].Key.Key), report.Options{})
		if err != nil || len(one) != 1 || text(t, one[0]) != text(t, rows[1]) {
			t.Errorf("the one row of %s is %v, %v", rows[1].Key.Key, one, err)
		}
	}
	for _, p := range tuitest.Cast() {
		rows, _, err := replay.History(whole(t, file), p.Name, time.Second, report.Options{})
		if err != nil || len(rows) < 85 {
			t.Fatalf("%s: %d rows, %v", p.Name, len(rows), err)
		}
		r, err := kept.From(0)
		if err != nil {
			t.Fatal(err)
		}
		if same, _, err := replay.History(r, p.Name, time.Second, report.Options{}); err != nil || !reflect.DeepEqual(same, rows) {
			t.Errorf("%s: %d rows of what is kept in memory, which are not the %d of the file: %v", p.Name, len(same), len(rows), err)
		}
		known := 0
		for i, row := range rows {
			if row.Step != nil {
				known++
			}
			at := limiter.Instant(row.At * 1000)
			step := row.Step
			if i%15 != 0 && step != nil {
				continue // the boards take long
			}
			row.Step = nil
			want := report.RowOf(&then.upTo(at).Key(p.Name).Reading, at, report.Options{})
			if text(t, row) != text(t, want) {
				t.Fatalf("%s: the row is\n%swant\n%s", p.Name, text(t, row), text(t, want))
			}
			if away := at > file.Begin.Add(46*time.Second) && at <= file.Begin.Add(48*time.Second); away && step != nil {
				t.Errorf("%s: while the server was away %+v came", p.Name, step)
			}
		}
		if known < 75 {
			t.Errorf("%s: what came is known of %d steps of %d", p.Name, known, len(rows))
		}
	}
}

func text(t *testing.T, rows ...report.Row) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteRows(&b, report.JSONLines, "", rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHistoryCountsEveryRequestOnce: by the second in which it came, those fired from here marked,
// and nothing said of denials that are not recorded.
func TestHistoryCountsEveryRequestOnce(t *testing.T) {
	begin := limiter.InstantOf(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
	var file bytes.Buffer
	w, err := record.NewWriter(&file, false, record.Header{By: "test", At: begin})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 11 {
		at := begin.Add(time.Duration(i) * time.Second)
		r := model.Reading{
			Key: "a", Type: "zset", At: at, Since: max(begin, at.Add(-time.Second)), TTL: time.Minute,
			Target: model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 10, Window: time.Minute}, Window: time.Minute, LimitKnown: true, Evidence: model.Known},
			State:  limiter.State{Algorithm: limiter.SlidingLog, Log: []limiter.Entry{}}, Denied: model.Count{Known: i > 5},
		}
		if i > 0 {
			r.Arrivals = []model.Arrival{{At: at.Add(-500 * time.Millisecond), N: 2}, {At: at, N: 1, Denied: true}}
		}
		b := model.Batch{At: at, Local: at.Time(), Server: model.Server{Target: "test", Link: model.Live}, Readings: []model.Reading{r}}
		if i == 3 {
			b.Fired = []model.Fired{{Key: "a", At: at.Add(-600 * time.Millisecond), Outcome: model.Admitted, Cost: 1}, {Key: "b", At: at, Outcome: model.Admitted, Cost: 1}}
		}
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(context.Background(), bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	rows, server, err := replay.History(whole(t, f), "a", 2*time.Second, report.Options{})
	if err != nil || len(rows) != 6 || server != "test" {
		t.Fatalf("%d rows of %q, %v", len(rows), server, err)
	}
	for i, row := range rows {
		s := row.Step
		switch {
		case i == 0:
			if s != nil {
				t.Errorf("the first row has the step %+v", s)
			}
		case s == nil:
			t.Errorf("row %d has no step", i)
		case s.Admitted != 4 || (s.Denied != nil) != (2*i > 5) || s.Denied != nil && *s.Denied != 2 || s.Injected != map[bool]int64{true: 1}[i == 2]:
			t.Errorf("row %d has the step %+v", i, s)
		}
	}
	if _, _, err := replay.History(whole(t, f), "a", time.Microsecond, report.Options{}); err == nil {
		t.Error("ten million rows are taken")
	}
}

// TestRowsOfMomentsFarApart: two moments that no duration holds the time between are too many steps of a second, and few of a
// year.
func TestRowsOfMomentsFarApart(t *testing.T) {
	var file bytes.Buffer
	w, err := record.NewWriter(&file, false, record.Header{By: "test", At: 1})
	for _, at := range []limiter.Instant{1, 9_300_000_000_000_000} {
		if err == nil {
			err = w.Write(model.Batch{At: at, Local: at.Time(), Server: model.Server{Target: "test", Link: model.Live}})
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(context.Background(), bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = replay.History(whole(t, f), "a", time.Second, report.Options{})
	if err == nil || !strings.Contains(err.Error(), "make more than") {
		t.Errorf("steps of a second: %v", err)
	}
	if rows, _, err := replay.History(whole(t, f), "a", 365*24*time.Hour, report.Options{}); err != nil || len(rows) > 0 {
		t.Errorf("steps of a year: %d rows of a key that was not there, %v", len(rows), err)
	}
}
