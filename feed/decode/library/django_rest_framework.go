package library

import (
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func djangoREST(s *decode.Sample, c decode.Context) *decode.Match {
	w, ok := throttleWindow(s, c.Now)
	if !ok || !c.Named && !strings.Contains(s.Key, ":throttle_") {
		return nil
	}
	keys := form.Texts(s.Key)
	keys[0].Bytes = timesBytes
	r := &form.Reader{
		Keys: keys, Settings: decode.Settings{Algorithm: limiter.SlidingLog}, Holds: "list of times of Django REST framework",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			var ok bool
			d.Window, ok = throttleWindow(&got[0], now)
			times, whole := readTimes(got[0].Text)
			d.State.Log, d.Partial = form.LogOf(times, now), !whole
			return ok
		},
	}
	m := r.Match(s, c, decode.Match{Why: []string{"named <prefix>:<version>:throttle_<scope>_<client>",
		"a list of times whose newest and the expiry are a whole number of seconds apart"}})
	if i := strings.Index(s.Key, ":throttle_"); i >= 0 {
		scope, _, _ := strings.Cut(s.Key[i+len(":throttle_"):], "_")
		m.Prefix = s.Key[:i+len(":throttle_")] + scope + "_"
	}
	m.Window = w
	return m
}

// throttleWindow tells the window: the expiry less the newest instant, a whole number of seconds
// as far as the clocks of client and server agree, else one of the framework's own periods.
func throttleWindow(s *decode.Sample, now limiter.Instant) (time.Duration, bool) {
	times, _ := readTimes(s.Text)
	if s.TTL <= 0 || len(times) == 0 || decode.UnitOf(times[0], now) != time.Second {
		return 0, false
	}
	newest := decode.InstantIn(times[0], time.Second)
	lives := s.Expiry(now).Sub(newest)
	if now.Sub(newest) < -clientAhead || lives > limiter.MaxWindow {
		return 0, false
	}
	for _, w := range [...]time.Duration{time.Second, time.Minute, time.Hour, day} {
		if (lives - w).Abs() <= min(w/10, clientAhead) {
			return w, true
		}
	}
	w := lives.Round(time.Second)
	return w, w >= time.Second && (lives-w).Abs() <= 2*form.Latency
}

// readTimes reads a serialized list of times. whole is false where it ends before its end: then
// times holds the first ones.
func readTimes(text string) (times []float64, whole bool) {
	if strings.HasPrefix(text, "x") { // zlib
		r, err := zlib.NewReader(strings.NewReader(text))
		if err != nil {
			return nil, false
		}
		inflated, err := io.ReadAll(io.LimitReader(r, timesBytes))
		times, whole = readPlainTimes(string(inflated))
		return times, whole && err == nil
	}
	return readPlainTimes(text)
}

// readPlainTimes reads a list of times that is not compressed.
func readPlainTimes(text string) (times []float64, whole bool) {
	if strings.HasPrefix(text, "[") {
		whole = json.Unmarshal([]byte(text), &times) == nil
		if i := strings.LastIndexByte(text, ','); !whole && i > 0 {
			_ = json.Unmarshal([]byte(text[:i]+"]"), &times)
		}
		return times, whole
	}
	return readPickle(text)
}

// timesBytes is how much of a list of times is read.
const timesBytes = 32 << 10

// readPickle reads a list of floats in protocol 4 or 5 of Python's pickle: the protocol, a frame's
// length, an empty list that is memoized, a mark where there are several, the floats, and append or
// appends. Whatever else a pickle may hold is not read.
func readPickle(text string) (times []float64, whole bool) {
	if len(text) < 2 || text[0] != 0x80 || text[1] != 4 && text[1] != 5 {
		return nil, false
	}
	text = text[2:]
	if strings.HasPrefix(text, "\x95") && len(text) >= 9 {
		text = text[9:]
	}
	text, ok := strings.CutPrefix(text, "]\x94")
	if !ok {
		return nil, false
	}
	text, marked := strings.CutPrefix(text, "(")
	for len(text) >= 9 && text[0] == 'G' {
		v := math.Float64frombits(binary.BigEndian.Uint64([]byte(text[1:9])))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		times, text = append(times, v), text[9:]
	}
	end := "a."
	if marked {
		end = "e."
	}
	return times, text == end
}
