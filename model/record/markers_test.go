package record_test

import (
	"reflect"
	"strings"
	"testing"

	"ratescope/limiter"
	"ratescope/model/record"
)

func TestNextAndPreviousPassTheMomentItself(t *testing.T) {
	list := []record.Marker{{At: 10, Text: "a"}, {At: 20, Text: "b"}, {At: 20, Text: "c"}, {At: 30, Text: "d"}}
	for _, c := range []struct {
		at             int64
		next, previous string
	}{{5, "a", ""}, {10, "b", ""}, {15, "b", "a"}, {20, "d", "a"}, {25, "d", "c"}, {30, "", "c"}, {99, "", "d"}} {
		m, _ := record.NextMarker(list, limiter.Instant(c.at))
		p, _ := record.PreviousMarker(list, limiter.Instant(c.at))
		if m.Text != c.next || p.Text != c.previous {
			t.Errorf("from %d it goes on to %q and back to %q, want %q and %q", c.at, m.Text, p.Text, c.next, c.previous)
		}
	}
}

// TestAFileOfMarkers: what is written is read, names of any bytes too; what happened by itself is not written.
func TestAFileOfMarkers(t *testing.T) {
	long := strings.Repeat("é", record.MaxMarkerText+5)
	want := []record.Marker{
		{At: 1, Kind: record.MarkerSet, Key: "rl:alice", Text: "begins \x1b[31m here\nand <there>"},
		{At: 2, Kind: record.MarkerSet, Key: "\xff\xfe"}, {At: 3, Kind: record.MarkerSet, Text: "no key"}, {At: 3, Kind: record.MarkerSet, Key: "k"},
	}
	content, err := record.EncodeMarkers(append([]record.Marker{{At: 1, Kind: record.MarkerEvent, Text: "is throttled"}}, want...))
	if err != nil || strings.ContainsRune(string(content), 0x1b) {
		t.Fatalf("%v: %q", err, content)
	}
	if list, err := record.DecodeMarkers(append([]byte("\n"), content...)); err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%v: %+v, want %+v", err, list, want)
	}
	if list, err := record.DecodeMarkers([]byte(`{"at":5,"text":"` + long + `"}`)); err != nil || list[0].Text != long[:2*record.MaxMarkerText] {
		t.Errorf("a text of %d bytes became one of %d: %v", len(long), len(list[0].Text), err)
	}
	for _, bad := range []string{"{\"at\":1}\nx\n", "{\"at\":1}\n{\"at\":0}\n", "{\"at\":1}\n[1]\n"} {
		if _, err := record.DecodeMarkers([]byte(bad)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := record.DecodeMarkers([]byte(strings.Repeat("{\"at\":1}\n", record.MostMarkers+1))); err == nil {
		t.Error("there is no end to markers")
	}
}

func FuzzDecodeMarkers(f *testing.F) {
	f.Add([]byte(`{"at":5,"key":"a","text":"b"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := record.DecodeMarkers(content)
		if err != nil {
			return
		}
		again, err := record.EncodeMarkers(list)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := record.DecodeMarkers(again); err != nil || len(back) != len(list) {
			t.Fatalf("%d markers became %d: %v", len(list), len(back), err)
		}
	})
}
