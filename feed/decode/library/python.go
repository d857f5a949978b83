package library

import (
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/collect"
)

func throttledPy(s *decode.Sample, c decode.Context) *decode.Match {
	i := strings.Index(s.Key, "throttled:v1:")
	if i < 0 || i > 0 && s.Key[i-1] != ':' {
		return nil
	}
	i += len("throttled:v1:")
	kind, _, _ := strings.Cut(s.Key[i:], ":")
	prefix := s.Key[:i] + kind + ":"
	const named = "named throttled:v1:<type>:<key>"
	switch {
	case s.Type == "string" && kind == "gcra":
		return form.MatchTAT(s, c, tatSince(start2025), false, prefix, named, "a time in seconds since 2025 that is also when the key expires")
	case s.Type == "string" && (kind == "fixed_window" || kind == "sliding_window"):
		return matchPeriod(s, c, kind == "sliding_window", prefix, named)
	case s.Type == "hash" && (kind == "token_bucket" || kind == "leaking_bucket"):
		return matchSeconds(s, c, kind == "leaking_bucket", prefix, named)
	}
	return nil
}

// matchPeriod knows the counter of a window, which lives for one window, or for three where the
// window before counts, too.
func matchPeriod(s *decode.Sample, c decode.Context, sliding bool, prefix, named string) *decode.Match {
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	if !ok || !strings.HasSuffix(base, ":period") || !form.IsCounter(s) {
		return nil
	}
	lives := collect.If(sliding, 3, int64(1))
	w, ok := form.WindowWith(index+lives, s.Expiry(c.Now))
	if !ok || s.TTL > time.Duration(lives)*w {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	x.Before, x.Charged = true, !sliding
	if sliding {
		x.Settings.Algorithm = limiter.SlidingWindow
	}
	return x.Match(strings.TrimSuffix(base, ":period"), prefix, named, "the index of a window ends the name",
		"an integer that expires with that window's successors")
}

// matchSeconds returns the match of a bucket that comes back at whole seconds: floor(seconds × rate) units since
// the second of its last call. A token bucket holds what is left, a leaking bucket what is used.
func matchSeconds(s *decode.Sample, c decode.Context, leaks bool, prefix, named string) *decode.Match {
	r := &form.Reader{Keys: form.Hash(s.Key, "tokens", "last_refreshed"), Holds: "tokens and second of a bucket",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: !leaks}}
	if leaks {
		r.Settings.Algorithm = limiter.LeakyBucket
	}
	r.Read = func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
		s := &got[0]
		tokens, ok := form.Signed(s.Fields["tokens"])
		second, timed := form.Count(s.Fields["last_refreshed"])
		if !ok || !timed || second >= 1e11 || s.Length != 2 || s.TTL == 0 {
			return false
		}
		// It is brought to now, and its clock set so that the next unit comes back in the whole second in which it does.
		step, at := form.Emission(given), limiter.Instant(second*1e6)
		if step > 0 {
			passed := math.Max(float64(int64(now)/1e6-second), 0)
			back := math.Floor(passed * 1e6 / step)
			next := math.Ceil((back + 1) * step / 1e6)
			if at = limiter.Instant((float64(second)+next)*1e6 - step); leaks {
				back = -back
			}
			tokens += int64(math.Max(math.Min(back, limiter.MaxCount), -limiter.MaxCount))
		}
		level := max(tokens, 0)
		if burst := given.Limit.Burst; !leaks && burst > 0 {
			level = min(level, burst)
		}
		d.State.Level, d.State.Filled = float64(level), at
		return true
	}
	return r.Match(s, c, decode.Match{Prefix: prefix, Why: []string{named, "a hash of tokens and the second last_refreshed"}})
}

func limits(s *decode.Sample, c decode.Context) *decode.Match {
	n, ok := limitsName(s.Key)
	if !ok || s.TTL <= 0 {
		return nil
	}
	m := &decode.Match{Name: n.key, Prefix: n.prefix, Suffix: n.suffix, Why: []string{"named <id>/<amount>/<multiples>/<granularity>"}}
	m.Window, m.Limit.Count, m.LimitFrom = n.window, n.amount, model.LimitOfName
	switch {
	case s.Type == "list":
		if len(s.First) == 0 || !isRecent(s.First[0].Member, c.Now, n.window) || s.Length > n.amount || s.TTL > n.window {
			return nil
		}
		m.Algorithm, m.Convention.Edge = limiter.SlidingLog, convention.Closed
		m.Limiter = form.ListLog(n.key, m.Settings, nil)
		m.Why = append(m.Why, "a list of times within that window")
	case n.braces && form.IsCounter(s) && s.TTL <= 2*n.window:
		m.Algorithm = limiter.SlidingWindow
		halves := m.Settings
		halves.Convention.Alignment = convention.FirstRequest
		m.Limiter = &form.Reader{Keys: form.Texts(n.key, n.key+"/-1"), Either: true, Settings: halves, Holds: "count", Read: renamedHalves}
		m.Why = append(m.Why, "an integer that expires within two of its windows")
	case !n.braces && form.IsCounter(s) && s.TTL <= n.window:
		m.Algorithm = limiter.FixedWindow
		r := (&state{Count: "0", Charged: true}).reader([]string{n.key})
		r.Settings = m.Settings
		r.Settings.Convention.Alignment = convention.FirstRequest
		m.Limiter = r
		m.Why = append(m.Why, "an integer that expires within that window")
	default:
		return nil
	}
	return m
}

// limitsKey is what the name of a key says.
type limitsKey struct {
	key            string // without /-1
	prefix, suffix string // of the limits that share amount and window
	amount         int64
	window         time.Duration
	braces         bool
}

var granularities = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour,
	"day": 24 * time.Hour, "month": 30 * 24 * time.Hour, "year": 360 * 24 * time.Hour,
}

// limitsName reads a name from its end: what identifies the client may hold slashes of its own.
func limitsName(key string) (n limitsKey, ok bool) {
	n.key = strings.TrimSuffix(key, "/-1")
	name, closed := strings.CutSuffix(n.key, "}")
	if n.braces = closed && strings.Contains(name, "{"); n.braces != closed || !n.braces && n.key != key {
		return n, false
	}
	rest := name
	var parts [3]string
	for i := 2; i >= 0; i-- {
		if rest, parts[i], ok = form.LastPart(rest, '/'); !ok {
			return n, false
		}
	}
	amount, aok := form.Count(parts[0])
	multiples, mok := form.Count(parts[1])
	unit := granularities[parts[2]]
	if !aok || !mok || unit == 0 || amount <= 0 || amount > limiter.MaxCount || multiples <= 0 || multiples > int64(limiter.MaxWindow/unit) ||
		!strings.Contains(rest, "/") {
		return n, false
	}
	n.amount, n.window = amount, time.Duration(multiples)*unit
	n.prefix, n.suffix = rest[:strings.IndexByte(rest, '/')+1], n.key[len(rest):]
	return n, true
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
	v, ok := strconv.ParseFloat(text, 64)
	if ok != nil || decode.UnitOf(v, now) != time.Second {
		return false
	}
	age := now.Sub(decode.InstantIn(v, time.Second))
	return age > -clientAhead && age < window+clientAhead
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

func sentry(s *decode.Sample, c decode.Context) *decode.Match {
	switch {
	case s.Type == "zset":
		return matchUnderWay(s, c)
	case strings.HasPrefix(s.Key, "rl:"):
		return matchSentryWindow(s, c)
	case strings.HasPrefix(s.Key, granulePrefix):
		return matchGranules(s, c)
	}
	return nil
}

// matchSentryWindow knows rl:<32 hexadecimal digits>[:<project>]:<index>, which expires a window
// after the last request.
func matchSentryWindow(s *decode.Sample, c decode.Context) *decode.Match {
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	digest, rest, _ := strings.Cut(strings.TrimPrefix(base, "rl:"), ":")
	if !ok || !form.IsHex(digest, 32) || rest != "" && !form.IsNumber(rest) || !form.IsCounter(s) {
		return nil
	}
	w, ok := form.WindowWith(index+1, s.Expiry(c.Now))
	if !ok || s.TTL > w {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	x.Before, x.Charged = true, true
	return x.Match(base, "rl:"+digest, "named rl:<digest>:<index of a window>", "an integer that expires in the window after that one")
}

const granulePrefix = "sliding-window-rate-limit:"

// mostGranules bounds what is read for one window.
const mostGranules = 64

// matchGranules knows sliding-window-rate-limit:<id>:<window>:<granularity>:<granule>, numbers of
// seconds all three but for the index.
func matchGranules(s *decode.Sample, c decode.Context) *decode.Match {
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
	m := &decode.Match{
		Name: base, Prefix: granulePrefix, Suffix: ":" + w + ":" + g, Limiter: granules(base+":", long, step),
		Why: []string{"named sliding-window-rate-limit:<id>:<window>:<granularity>:<granule>", "an integer that expires within that window"},
	}
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

// matchUnderWay knows concurrent_limit:<client>: a member for each request under way, with the
// second of its start. One that is 30 s old is taken for lost.
func matchUnderWay(s *decode.Sample, c decode.Context) *decode.Match {
	if !strings.HasPrefix(s.Key, "concurrent_limit:") || s.TTL > 0 || len(s.First) == 0 ||
		decode.UnitOf(s.First[0].Score, c.Now) != time.Second {
		return nil
	}
	m := underWay("concurrent_limit:", "named concurrent_limit:<client>", "a sorted set of requests under way, by the second of their start")
	m.Window = 30 * time.Second
	return m
}
