package library

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

func fiberLimiter(s *decode.Sample, c decode.Context) *decode.Match {
	h, ok := readFiber(s.Text)
	if !ok || s.TTL <= 0 || s.Expiry(c.Now).Sub(h.ends) < -2*form.WholeSecond || h.ends.Sub(c.Now) > limiter.MaxWindow {
		return nil
	}
	f := &fiber{}
	r := &form.Reader{Keys: form.Texts(s.Key), Charged: true, Holds: "state of Fiber's limiter", Read: f.read,
		Settings: decode.Settings{Convention: limiter.Convention{Alignment: limiter.AlignFirstRequest}, Tick: time.Second}}
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
	case unknown && (past < set/2-time.Second || !began && wrote && expiry.Sub(f.expiry) > 2*form.WholeSecond+form.Latency):
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
