package record_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/model/record"
)

// TestAKeyIsDescribedAsItWasThen: what a file has kept of one frame is not said of another, where the
// key was described otherwise, and nothing is shared with what was handed out.
func TestAKeyIsDescribedAsItWasThen(t *testing.T) {
	var out bytes.Buffer
	w, err := record.NewWriter(&out, true, record.Header{By: "test", At: crowdBegin})
	if err != nil {
		t.Fatal(err)
	}
	c := newCrowd(30, 100, false)
	for n := 0; n < 450; n++ {
		b := c.next()
		for i := range b.Readings {
			r := &b.Readings[i]
			r.Notes = []model.Note{`a "note" with {braces]\`}
			if n >= 250 {
				r.Notes, r.Target.Limit.Count = nil, 7
			}
		}
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	open := func() *record.File {
		f, err := record.Open(context.Background(), bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	state := func(f *record.File, passed time.Duration) model.Batch {
		r, err := f.FromState(f.FrameBefore(f.Begin.Add(passed)))
		if err != nil {
			t.Fatal(err)
		}
		board, err := r.BoardAt(f.Begin.Add(passed), 0)
		if err != nil || board.Len() != 30 {
			t.Fatalf("%d keys: %v", board.Len(), err)
		}
		b := board.Batch()
		slices.SortFunc(b.Readings, func(x, y model.Reading) int { return strings.Compare(x.Key, y.Key) })
		return b
	}
	one := open()
	for _, passed := range []time.Duration{10 * time.Second, 80 * time.Second, 35 * time.Second, 80 * time.Second, 10 * time.Second} {
		got, want := state(one, passed), state(open(), passed)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("after %v a file that was read before says something else", passed)
		}
		if early := passed < 50*time.Second; (len(got.Readings[3].Notes) == 1) != early || (got.Readings[3].Target.Limit.Count == 7) == early {
			t.Errorf("after %v the key is %+v", passed, got.Readings[3].Target)
		}
	}
}
