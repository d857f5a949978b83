package library

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

func fiberLimiter(s *decode.Sample, c decode.Context) *decode.Match {
	h, ok := readFiber(s.Text)
	if !ok || s.TTL <= 0 || s.Expiry(c.Now).Sub(h.ends) < -2*form.WholeSecond || h.ends.Sub(c.Now) > limiter.MaxWindow {
		return nil
	}
	f := &fiber{}
	r := &form.Reader{Keys: form.Texts(s.Key), Charged: true, Holds: "state of Fiber's limiter", Read: f.read,
		Settings: decode.Settings{Convention: limiter.Convention{Alignment: convention.FirstRequest}, Tick: time.Second}}
	return &decode.Match{Settings: decode.Settings{Algorithm: limiter.FixedWindow}, Limiter: r,
		Why: []string{"msgpack of currHits, prevHits and exp", "exp is a second before the expiry, or its very second"}}
}

// fiberHits is what Fiber keeps of one key.
type fiberHits struct {
	current, previous int64
	ends              limiter.Instant
}

// readFiber reads the msgpack of a key's hits.
func readFiber(text string) (h fiberHits, ok bool) {
	var second int64
	rest := text
	for _, field := range []struct {
		name string
		to   *int64
	}{{"\x83\xa8currHits", &h.current}, {"\xa8prevHits", &h.previous}, {"\xa3exp", &second}} {
		if rest, ok = strings.CutPrefix(rest, field.name); !ok {
			return h, false
		}
		if *field.to, rest, ok = msgpackInt(rest); !ok {
			return h, false
		}
	}
	h.ends = limiter.Instant(second) * 1e6
	return h, rest == "" && second < 1e11
}

// msgpackInt reads a whole number of 0 or more off the front of text.
func msgpackInt(text string) (n int64, rest string, ok bool) {
	if text == "" {
		return 0, "", false
	}
	if text[0] < 0x80 {
		return int64(text[0]), text[1:], true
	}
	size := map[byte]int{0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8, 0xd1: 2, 0xd2: 4, 0xd3: 8}[text[0]]
	if size == 0 || len(text) < 1+size {
		return 0, "", false
	}
	var b [8]byte
	copy(b[8-size:], text[1:1+size])
	v := binary.BigEndian.Uint64(b[:])
	return int64(v), text[1+size:], v < 1<<53
}

// fiber is one limiter. It remembers which kind of window the expiry spoke for.
type fiber struct {
	algorithm limiter.Algorithm // Unknown: not told yet
	window    time.Duration
	last      fiberHits
	expiry    limiter.Instant // of last
}

// read returns the two windows as the library would see them, in whole seconds. The algorithm that is given tells the length of
// its window at the first look.
func (f *fiber) read(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
	h, ok := readFiber(got[0].Text)
	if !ok {
		return false
	}
	if f.algorithm == limiter.Unknown {
		f.algorithm = given.Algorithm
	}
	f.learn(now, h, got[0].TTL)
	d.Algorithm, d.Window, d.Guessed = f.algorithm, f.window, false
	if d.Algorithm == limiter.Unknown {
		d.Notes = append(d.Notes, model.KindUnknown)
	}
	if f.window <= 0 || f.window > limiter.MaxWindow {
		d.Window = 0
		return true
	}
	d.State.Start = h.ends.Add(-f.window)
	d.State.Current, d.State.Previous, d.PreviousKnown = h.current, h.previous, d.Algorithm == limiter.SlidingWindow
	d.State.PreviousStart = d.State.Start.Add(-f.window)
	return true
}

// learn tells the kind of the window and its length. past is by how much the key outlives it.
//
// A sliding window sets past to its length, at every request. A fixed one sets it to what of the
// window is over when the request comes. The clock of the library is one of whole seconds that is
// read once a second, so that past is up to two seconds more: the least seen is the window.
func (f *fiber) learn(now limiter.Instant, h fiberHits, ttl time.Duration) {
	expiry := now.Add(ttl)
	past := time.Duration(math.Floor((expiry.Sub(h.ends) + form.Latency).Seconds())) * time.Second
	set := time.Duration(math.Ceil((ttl - form.Latency).Seconds())) * time.Second
	began := f.last.ends != h.ends
	wrote := began || h.current != f.last.current
	unknown := f.algorithm == limiter.Unknown
	switch {
	case h.previous > 0, unknown && began && h.current == 1 && past > 2*time.Second && h.ends.Sub(now) <= past:
		f.algorithm = limiter.SlidingWindow
	case past < set/2-time.Second, // which no sliding window leaves, whatever was given
		unknown && !began && wrote && expiry.Sub(f.expiry) > 2*form.WholeSecond+form.Latency:
		f.algorithm = limiter.FixedWindow
	}
	switch {
	case f.algorithm == limiter.FixedWindow:
		f.window = max(f.window, set)
	case f.algorithm == limiter.SlidingWindow && (f.window == 0 || past < f.window):
		f.window = past
	}
	if wrote {
		f.last, f.expiry = h, expiry
	}
}

func mennanov(s *decode.Sample, c decode.Context) *decode.Match {
	if base, start, ok := form.StartSuffix(s, c.Now); ok && (c.Named || strings.HasSuffix(base, "}")) {
		return matchTruncated(s, c, base, start)
	}
	for _, part := range [...]string{"last", "available", "state"} {
		if base, ok := strings.CutSuffix(s.Key, part); ok && (c.Named || strings.HasSuffix(base, "}")) {
			return matchMennanovBucket(c, base, part == "state")
		}
	}
	return nil
}

// matchTruncated returns the match of the counters of windows. Where the expiry is one that a
// fixed window and a sliding one of half its length both give, the window is told later.
func matchTruncated(s *decode.Sample, c decode.Context, base string, start limiter.Instant) *decode.Match {
	t := &form.Undecided{Start: start, Slack: form.Latency}
	for i, algorithm := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow} {
		if w := form.TruncatedWindow(start, s, c.Now, int64(i)+1); w > 0 {
			x := aligned(algorithm, w, func(start limiter.Instant) string { return base + form.Decimal(int64(start)*1000) })
			x.Origin, x.Charged, x.Hides = form.YearOne, true, true
			t.Left = append(t.Left, x)
		}
	}
	if t.Left == nil {
		return nil
	}
	if last := t.Left[len(t.Left)-1]; last.Settings.Algorithm == limiter.SlidingWindow {
		last.Settings.Convention = limiter.Convention{Rounding: convention.Exact, Denied: convention.Charged}
	}
	return &decode.Match{Settings: decode.Settings{Algorithm: t.Left[0].Settings.Algorithm}, Name: base, Prefix: "{", Limiter: t,
		Why: []string{"named {<key>}<start of a window in nanoseconds>",
			"an integer that expires at the end of that window, or one window later"}}
}

// matchMennanovBucket returns the match of a token bucket or a leaky one, which has the first string alone, or with one key the
// first number of its JSON. What the leaky one calls its capacity is how many may wait, so that one more is admitted at once.
func matchMennanovBucket(c decode.Context, base string, oneKey bool) *decode.Match {
	keys := form.Texts(base+"last", base+"available")
	if oneKey {
		keys = []decode.Fetch{{Key: base + "state", Type: "string", Bytes: 256}}
	}
	r := &form.Reader{Keys: keys, Holds: "bucket of mennanov/limiters",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: true}}
	m := r.MatchWhole(c, decode.Match{Name: keys[0].Key, Prefix: "{", Why: []string{"named {<key>}last or {<key>}state",
		"nanoseconds of now beside the whole tokens of {<key>}available, or alone"}})
	r.Read = func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
		if oneKey {
			got = mennanovState(got[0])
		}
		at, ok := form.Nanoseconds(got[0].Text, now)
		if !ok || got[0].TTL <= 0 {
			return false
		}
		if got[1].Exists() {
			left, ok := form.Count(got[1].Text)
			form.SetTokens(d, float64(left), at, form.Emission(given))
			return ok && got[1].TTL > 0 && at <= now.Add(clientAhead)
		}
		m.Algorithm, d.Algorithm = limiter.LeakyBucket, limiter.LeakyBucket
		if step := form.Emission(given); step > 0 && given.Limit.Burst > 0 {
			form.SetWater(d, float64(at-now)/step+1, now, step)
			form.Translate(d, given, limiter.Limit{Count: given.Limit.Count, Burst: given.Limit.Burst + 1, Window: given.Window})
		}
		return !got[1].Mismatch && (c.Named || at.Sub(now) < time.Hour)
	}
	return m
}

// mennanovState returns the time and the tokens in the JSON of one key as if each had a key of its own.
func mennanovState(s decode.Sample) []decode.Sample {
	var held struct {
		State struct{ Last, Available json.RawMessage }
	}
	_ = json.Unmarshal([]byte(s.Text), &held) // a text that is no JSON leaves both empty, and Read refuses an empty time
	last, left := s, s
	if last.Text, left.Text = string(held.State.Last), string(held.State.Available); left.Text == "" {
		left.Type = "none"
	}
	return []decode.Sample{last, left}
}
