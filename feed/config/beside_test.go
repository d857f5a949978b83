package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// TestBeside: a key beside counters denies where it stands beside those that have counted most and beside no others, and says when
// a window ends where it holds a time to come. Anything else says nothing.
func TestBeside(t *testing.T) {
	now := limiter.InstantOf(time.Unix(1_795_300_000, 0))
	for _, tc := range []struct {
		name   string
		counts []int
		ttl    time.Duration
		beside map[string]string // by their names
		lasts  bool              // what stands beside has no expiry
		want   string
	}{
		{"block", []int{5, 5, 1, 2}, time.Minute, map[string]string{"auth:lockout:a": "1", "auth:lockout:b": "x"}, false, "auth:lockout:{who}"},
		{"one block", []int{5, 1, 2}, time.Minute, map[string]string{"auth:attempts:ban:a": "1"}, false, "auth:attempts:ban:{who}"},
		{"behind", []int{5, 1, 2}, time.Minute, map[string]string{"blocked:auth:attempts:a": "1"}, false, "blocked:auth:attempts:{who}"},
		{"beside one that has counted little", []int{5, 1, 2}, time.Minute, map[string]string{"auth:lock:b": "1"}, false, ""},
		{"beside all", []int{5, 6, 7}, time.Minute, map[string]string{"auth:lock:a": "1", "auth:lock:b": "1", "auth:lock:c": "1"}, false, ""},
		{"it lasts", []int{5, 1, 2}, time.Minute, map[string]string{"auth:lockout:a": "1"}, true, ""},
		{"too few", []int{5, 1}, time.Minute, map[string]string{"auth:lockout:a": "1"}, false, ""},
		{"end", []int{5, 1}, 0, map[string]string{"auth:reset:a": "1795300020", "auth:reset:b": "1795299990"}, true, "key auth:reset:{who} s"},
		{"end in ms", []int{5}, 0, map[string]string{"auth:attempts:end:a": "1795300020000"}, true, "key auth:attempts:end:{who} ms"},
		{"begin", []int{5}, 0, map[string]string{"auth:ts:a": "1795299990"}, true, ""},
		{"no time", []int{5}, 0, map[string]string{"auth:window:a": "60"}, true, ""},
	} {
		var keys []decode.Sample
		for i, n := range tc.counts {
			text := fmt.Sprint(n)
			keys = append(keys, decode.Sample{Key: "auth:attempts:" + string(rune('a'+i)), Type: "string", Text: text, Length: int64(len(text)), TTL: tc.ttl})
		}
		list, err := Beside(Suggest(&keys[0], "auth:attempts:*", now), Entry{Name: "auth:attempts:{who}"}, keys, nil, now,
			func(names []string) (out []decode.Sample, err error) {
				for _, name := range names {
					s := decode.Sample{Key: name, Type: "none"}
					if text, there := tc.beside[name]; there {
						s.Type, s.Text, s.Length, s.TTL = "string", text, int64(len(text)), time.Minute
						if tc.lasts {
							s.TTL = -1
						}
					}
					out = append(out, s)
				}
				return out, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, g := range list {
			if got = g.Entry.Block + strings.TrimPrefix(g.Entry.Ends, "expiry"); got != "" {
				break
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q: %+v", tc.name, got, tc.want, list)
		}
	}
}

// TestBesideTokens finds the key that holds when the tokens of another were there.
func TestBesideTokens(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 26, 2, 40, 0, 0, time.UTC))
	keys := []decode.Sample{{Key: "rate:tokens:7", Type: "string", Text: "4.5", TTL: time.Minute}, {Key: "rate:tokens:8", Type: "string", Text: "9", TTL: time.Minute}}
	list, err := Beside(nil, Entry{Name: "rate:tokens:{who}"}, keys, nil, now, func(names []string) (all []decode.Sample, _ error) {
		for _, name := range names {
			s := decode.Sample{Key: name, Type: "none"}
			if name == "rate:ts:7" || name == "rate:ts:8" {
				s.Type, s.Text, s.TTL = "string", strconv.FormatInt(int64(now)/1e3-1500, 10), time.Minute
			}
			all = append(all, s)
		}
		return all, nil
	})
	want := Entry{Name: "rate:tokens:{who}", Read: "bucket", Amount: "value", At: "key rate:ts:{who}", Unit: "ms"}
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0].Entry, want) {
		t.Errorf("%+v, %v; want %+v", list, err, want)
	}
}
