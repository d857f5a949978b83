package library

import (
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/collect"
)

// limitsName is a name that ends in amount, multiples and granularity, in braces where the window slides; what identifies the
// client may hold slashes of its own.
var limitsName = collect.Regexp(`(?s)^([^/]*/).*(/(\d+)/(\d+)/(second|minute|hour|day|month|year)(}?))(/-1)?$`)

func limits(s *decode.Sample, c decode.Context) *decode.Match {
	var n []string
	if s.TTL > 0 && strings.Contains(s.Key, "/") {
		n = limitsName().FindStringSubmatch(s.Key)
	}
	if n == nil {
		return nil
	}
	amount, counted := form.Count(n[3])
	multiples, whole := form.Count(n[4])
	unit, slides := periods[n[5]], n[6] != ""
	if n[5] == "year" {
		unit = 360 * day
	}
	if !counted || !whole || amount == 0 || amount > limiter.MaxCount || multiples == 0 || multiples > int64(limiter.MaxWindow/unit) ||
		slides && !strings.Contains(s.Key, "{") || !slides && n[7] != "" {
		return nil
	}
	key, window := strings.TrimSuffix(s.Key, n[7]), time.Duration(multiples)*unit
	m := &decode.Match{Name: key, Prefix: n[1], Suffix: n[2], Why: []string{"named <id>/<amount>/<multiples>/<granularity>"}}
	m.Window, m.Limit.Count, m.LimitFrom = window, amount, model.LimitOfName
	switch {
	case s.Type == "list":
		if len(s.First) == 0 || !isRecent(s.First[0].Member, c.Now, window) || s.Length > amount || s.TTL > window {
			return nil
		}
		m.Algorithm, m.Convention.Edge = limiter.SlidingLog, convention.Closed
		m.Limiter = form.ListLog(key, m.Settings, nil)
		m.Why = append(m.Why, "a list of times within that window")
	case slides && form.IsCounter(s) && s.TTL <= 2*window:
		m.Algorithm = limiter.SlidingWindow
		halves := m.Settings
		halves.Convention.Alignment = convention.FirstRequest
		m.Limiter = &form.Reader{Keys: form.Texts(key, key+"/-1"), Either: true, Settings: halves, Holds: "count", Read: renamedHalves}
		m.Why = append(m.Why, "an integer that expires within two of its windows")
	case !slides && form.IsCounter(s) && s.TTL <= window:
		m.Algorithm = limiter.FixedWindow
		r := (&state{Count: "0", Charged: true}).reader([]string{key})
		r.Settings = m.Settings
		r.Settings.Convention.Alignment = convention.FirstRequest
		m.Limiter = r
		m.Why = append(m.Why, "an integer that expires within that window")
	default:
		return nil
	}
	return m
}

// clientAhead is how far a client's clock may be off the server's.
const clientAhead = 5 * time.Second

// renamedHalves reads a sliding window counter of two strings of which the previous one was the
// current one until it was renamed: also what the next request will rename, a current counter with less than a
// window left.
func renamedHalves(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
	d.PreviousKnown = true
	d.State.Start, d.State.PreviousStart = now, now.Add(-d.Window)
	good := true
	for i, n := range []*int64{&d.State.Current, &d.State.Previous} {
		if !got[i].Exists() {
			continue
		}
		var ok bool
		*n, ok = form.Count(got[i].Text)
		good = good && ok
		start := form.Expiry(now, got[i].TTL).Add(-2 * d.Window)
		if d.State.PreviousStart = start; i == 0 {
			d.State.Start, d.State.PreviousStart = start, start.Add(-d.Window)
		}
	}
	return good
}

// isRecent says whether text is a time in seconds of the window before now.
func isRecent(text string, now limiter.Instant, window time.Duration) bool {
	v, ok := form.Number(text)
	age := now.Sub(decode.InstantIn(v, time.Second))
	return ok && decode.UnitOf(v, now) == time.Second && age > -clientAhead && age < window+clientAhead
}

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
			d.State.Log = form.LogOf(times, now)
			d.ReadWhole(whole)
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
	var broken error
	if strings.HasPrefix(text, "x") { // zlib
		r, err := zlib.NewReader(strings.NewReader(text))
		if err != nil {
			return nil, false
		}
		var inflated []byte
		inflated, broken = io.ReadAll(io.LimitReader(r, timesBytes))
		text = string(inflated)
	}
	if !strings.HasPrefix(text, "[") {
		times, whole = readPickle(text)
	} else if whole = json.Unmarshal([]byte(text), &times) == nil; !whole {
		_ = json.Unmarshal([]byte(text[:max(strings.LastIndexByte(text, ','), 0)]+"]"), &times)
	}
	return times, whole && broken == nil
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
	end := collect.If(marked, "e.", "a.")
	return times, text == end
}

const granulePrefix = "sliding-window-rate-limit:"

// mostGranules bounds what is read for one window.
const mostGranules = 64

// sentry knows sliding-window-rate-limit:<id>:<window>:<granularity>:<granule>, numbers of
// seconds all three but for the index.
func sentry(s *decode.Sample, c decode.Context) *decode.Match {
	if !strings.HasPrefix(s.Key, granulePrefix) {
		return nil
	}
	base, last, _ := form.LastPart(s.Key, ':')
	front, g, _ := form.LastPart(base, ':')
	front, w, _ := form.LastPart(front, ':')
	index, ok := form.Count(last)
	size, sok := form.Count(g)
	window, wok := form.Count(w)
	if !ok || !sok || !wok || size == 0 || window < size || window/size > mostGranules || window > int64(limiter.MaxWindow/time.Second) ||
		!form.IsCounter(s) || front == "" {
		return nil
	}
	long, step := time.Duration(window)*time.Second, time.Duration(size)*time.Second
	now := int64(c.Now) / step.Microseconds()
	if index > now || index < now-2*window/size-2 || s.TTL > long {
		return nil
	}
	m := &decode.Match{Name: base, Prefix: granulePrefix, Suffix: ":" + w + ":" + g, Limiter: granules(base+":", long, step),
		Why: []string{"named sliding-window-rate-limit:<id>:<window>:<granularity>:<granule>", "an integer that expires within that window"}}
	m.Algorithm, m.Window = limiter.SlidingLog, long
	return m
}

// granules returns a sliding window that moves by granules: a counter each, named after its index, of which each entry of the log
// leaves when its granule does. A request is counted in the granule before that of now, or, by older releases, in that of now.
func granules(base string, window, size time.Duration) *form.Reader {
	older := false // what writes is an older release
	index := func(now limiter.Instant) int64 { return int64(now) / size.Microseconds() }
	return &form.Reader{
		Settings: decode.Settings{Algorithm: limiter.SlidingLog, Window: window}, Either: true, Holds: "count",
		At: func(now limiter.Instant) (all []decode.Fetch) { // the newest first
			for i := range int64(window/size) + 1 {
				all = append(all, form.Texts(base+form.Decimal(index(now)-i))...)
			}
			return all
		},
		Read: func(d *decode.Decoded, _ limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			older = older || got[0].Exists()
			for _, s := range slices.Backward(got) {
				n, ok := form.Count(s.Text)
				if s.Exists() && !ok {
					return false
				}
				_, last, _ := form.LastPart(s.Key, ':')
				at, _ := form.Count(last)
				if !older {
					at++
				}
				if n > 0 {
					d.State.Log = append(d.State.Log, limiter.Entry{At: limiter.Instant(at * size.Microseconds()), Count: n})
				}
			}
			return true
		},
	}
}
