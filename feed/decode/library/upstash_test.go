package library

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// TestUpstashDenials: what analytics record as denied is counted over the last window, known once a
// whole one was watched, also across the hour with which the record begins anew.
func TestUpstashDenials(t *testing.T) {
	hour := testNow.Floor(time.Hour)
	const window = 10 * time.Second
	none := -1
	for _, steps := range [][]struct {
		at     time.Duration // since the start of the hour
		denied int           // in the record of that hour; none: there is no record
		want   model.Count
		fresh  int64
	}{
		{ // not known until a window was watched
			{time.Minute, 7, model.Count{}, 0},
			{time.Minute + 4*time.Second, 9, model.Count{N: 2}, 2},
			{time.Minute + 10*time.Second, 9, model.Count{Known: true, N: 2}, 0},
			{time.Minute + 14*time.Second, 10, model.Count{Known: true, N: 1}, 1},
		},
		{ // nothing was denied in this hour, so nothing in the last window
			{time.Minute, 0, model.Count{Known: true}, 0},
			{time.Minute + 4*time.Second, 3, model.Count{Known: true, N: 3}, 3},
		},
		{ // without analytics nothing is known
			{time.Minute, none, model.Count{}, 0},
			{time.Minute + 30*time.Second, none, model.Count{}, 0},
		},
		{ // a new hour, whose record is there with its first request
			{time.Hour - 20*time.Second, 5, model.Count{}, 0},
			{time.Hour - time.Second, 6, model.Count{Known: true, N: 1}, 1},
			{time.Hour + time.Second, none, model.Count{Known: true, N: 1}, 0},
			{time.Hour + 2*time.Second, 2, model.Count{Known: true, N: 3}, 2},
		},
	} {
		var e upstashEvents
		for _, s := range steps {
			now := hour.Add(s.at)
			asked := e.fetch(model.UpstashPrefix, `a"b`, now)
			var got []decode.Sample
			for _, f := range asked {
				want := fmt.Sprintf("%sevents:%d", model.UpstashPrefix, now.Floor(time.Hour).Millis())
				if f.Key != want || f.Scores[0] != `{"identifier":"a\"b","success":false}` {
					t.Errorf("asks for %q of %s, want %s", f.Scores, f.Key, want)
				}
				sample := decode.Sample{Key: f.Key, Type: "none"}
				if s.denied != none {
					sample = decode.Sample{Key: f.Key, Type: "zset", Scores: map[string]float64{f.Scores[0]: float64(s.denied)}}
				}
				got = append(got, sample)
			}
			if denied, fresh := e.take(now, window, got); denied != s.want || fresh != s.fresh {
				t.Errorf("%v into the hour: %+v and %d new, want %+v and %d", s.at, denied, fresh, s.want, s.fresh)
			}
		}
	}
}

// TestUpstashPrefixes: under a prefix of a program's own, which may hold colons as identifiers do, the
// dynamic limit or the events beside tell the prefix, the longest where there are several; without
// them the key is that of any program.
func TestUpstashPrefixes(t *testing.T) {
	minute := int64(testNow) / 60e6
	dynamic := func(prefix string) decode.Sample { return text(prefix+"dynamic:global", "7", model.Forever) }
	events := decode.Sample{Key: upstashEventsKey("acme:prod:api:", testNow), Type: "zset", TTL: model.Forever, Length: 1}
	for _, c := range []struct {
		base       string
		beside     []decode.Sample
		prefix, id string
	}{
		{"acme:alice", []decode.Sample{dynamic("acme:")}, "acme:", "alice"},
		{"acme:prod:2001:db8::1", []decode.Sample{dynamic("acme:prod:")}, "acme:prod:", "2001:db8::1"},
		{"acme:prod:api:alice", []decode.Sample{dynamic("acme:prod:"), events}, "acme:prod:api:", "alice"},
		{"acme:prod:{t}:9", []decode.Sample{dynamic("acme:prod:")}, "acme:prod:", "{t}:9"},
		{"acme:alice", []decode.Sample{dynamic("other:")}, "", ""},
		{"acme:alice", nil, "", ""},
		{"@upstash/ratelimit:a:b", []decode.Sample{dynamic("@upstash/ratelimit:a:")}, model.UpstashPrefix, "a:b"},
	} {
		for _, index := range []int64{minute, minute - 1} {
			end := limiter.Instant((index + 1) * 60e6)
			s := text(fmt.Sprintf("%s:%d", c.base, index), "9", end.Add(20*time.Second).Sub(testNow))
			if s.TTL <= 0 {
				continue
			}
			m := upstash(&s, decode.Context{Now: testNow})
			if m != nil && !m.Confirmed(found(m.Siblings, c.beside...)) {
				m = nil
			}
			if m == nil {
				if c.prefix != "" {
					t.Errorf("%s beside %d keys is not recognized", s.Key, len(c.beside))
				}
				continue
			}
			var keys, members []string
			for _, f := range m.Limiter.Fetch(testNow) {
				keys, members = append(keys, f.Key), append(members, f.Scores...)
			}
			id := fmt.Sprintf(`{"identifier":%q,"success":false}`, c.id)
			if m.Prefix != c.prefix || !slices.Contains(keys, c.prefix+"dynamic:global") || !slices.Contains(members, id) {
				t.Errorf("%s of the kind %q reads %q and %q; want the prefix %q and the identifier %q", s.Key, m.Prefix, keys, members, c.prefix, c.id)
			}
		}
	}
}

// TestExpressWithoutWindow: a counter without an expiry is what is left of requests that were given
// back too late; the next request begins a window.
func TestExpressWithoutWindow(t *testing.T) {
	c := (&state{Count: "0", Charged: true, Renewed: true}).reader([]string{"rl:203.0.113.7"})
	given := decode.Settings{Window: time.Minute}
	for _, value := range []string{"-1", "0", "7"} {
		d := c.Decode(testNow, []decode.Sample{text(c.Keys[0].Key, value, model.Forever)}, given)
		if d.State.Current != 0 || d.Err != "" || d.Algorithm != limiter.FixedWindow {
			t.Errorf("%s: %+v", value, d)
		}
	}
}

// TestUpstashKeepsWindowsThatAreOver: the key of a sliding window expires a second after it ceased to count. It is of its
// limiter until then, and no limiter of its own.
func TestUpstashKeepsWindowsThatAreOver(t *testing.T) {
	const window = 10 * time.Second
	start := testNow.Floor(window)
	for _, over := range []time.Duration{0, window - 1, window, 2*window - 1, 2 * window, 2*window + 900*time.Millisecond} {
		s := decode.Sample{Key: fmt.Sprintf("%sbob:%d", model.UpstashPrefix, int64(start)/window.Microseconds()), Type: "string", Text: "5",
			TTL: 2*window + time.Second - over}
		m := upstash(&s, decode.Context{Now: start.Add(over)})
		if m == nil || m.Name != model.UpstashPrefix+"bob" || m.Window != window || m.Algorithm != limiter.SlidingWindow {
			t.Errorf("%v after the window began its key is %+v", over, m)
		}
	}
}
