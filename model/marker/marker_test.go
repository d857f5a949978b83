package marker_test

import (
	"reflect"
	"strings"
	"testing"

	"ratescope/limiter"
	"ratescope/model/marker"
)

func TestNextAndPreviousPassTheMomentItself(t *testing.T) {
	list := []marker.Marker{{At: 10, Text: "a"}, {At: 20, Text: "b"}, {At: 20, Text: "c"}, {At: 30, Text: "d"}}
	for _, c := range []struct {
		at             int64
		next, previous string
	}{{5, "a", ""}, {10, "b", ""}, {15, "b", "a"}, {20, "d", "a"}, {25, "d", "c"}, {30, "", "c"}, {99, "", "d"}} {
		m, _ := marker.Next(list, limiter.Instant(c.at))
		p, _ := marker.Previous(list, limiter.Instant(c.at))
		if m.Text != c.next || p.Text != c.previous {
			t.Errorf("from %d it goes on to %q and back to %q, want %q and %q", c.at, m.Text, p.Text, c.next, c.previous)
		}
	}
}

// TestFile: what is written is read, names of any bytes too; what happened by itself is not written.
func TestFile(t *testing.T) {
	long := strings.Repeat("é", marker.MaxText+5)
	want := []marker.Marker{
		{At: 1, Kind: marker.Set, Key: "rl:alice", Text: "begins \x1b[31m here\nand <there>"},
		{At: 2, Kind: marker.Set, Key: "\xff\xfe"}, {At: 3, Kind: marker.Set, Text: "no key"}, {At: 3, Kind: marker.Set, Key: "k"},
	}
	content, err := marker.Encode(append([]marker.Marker{{At: 1, Kind: marker.Event, Text: "is throttled"}}, want...))
	if err != nil || strings.ContainsRune(string(content), 0x1b) {
		t.Fatalf("%v: %q", err, content)
	}
	if list, err := marker.Decode(append([]byte("\n"), content...)); err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%v: %+v, want %+v", err, list, want)
	}
	if list, err := marker.Decode([]byte(`{"at":5,"text":"` + long + `"}`)); err != nil || list[0].Text != long[:2*marker.MaxText] {
		t.Errorf("a text of %d bytes became one of %d: %v", len(long), len(list[0].Text), err)
	}
	for _, bad := range []string{"{\"at\":1}\nx\n", "{\"at\":1}\n{\"at\":0}\n", "{\"at\":1}\n[1]\n"} {
		if _, err := marker.Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := marker.Decode([]byte(strings.Repeat("{\"at\":1}\n", marker.Most+1))); err == nil {
		t.Error("there is no end to markers")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"at":5,"key":"a","text":"b"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := marker.Decode(content)
		if err != nil {
			return
		}
		again, err := marker.Encode(list)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := marker.Decode(again); err != nil || len(back) != len(list) {
			t.Fatalf("%d markers became %d: %v", len(list), len(back), err)
		}
	})
}
