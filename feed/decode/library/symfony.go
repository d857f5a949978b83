package library

import (
	"crypto/sha1"
	"encoding/hex"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

func symfony(s *decode.Sample, c decode.Context) *decode.Match {
	if !strings.HasPrefix(s.Text, "O:") && !strings.HasPrefix(s.Text, "\x00\x00\x00\x02") || !strings.Contains(s.Text, symfonyClass) {
		return nil
	}
	keys := form.Texts(s.Key)
	keys[0].Bytes = symfonyBytes
	r := &form.Reader{Keys: keys, Holds: "serialized state of Symfony's rate limiter",
		Read: func(d *decode.Decoded, _ limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			p, ok := readSymfony(got[0].Text)
			digest := sha1.Sum([]byte(p.id))
			d.Settings, d.State = p.Settings, p.state
			d.PreviousKnown = p.Algorithm == limiter.SlidingWindow
			return ok && got[0].TTL > 0 && strings.HasSuffix(s.Key, hex.EncodeToString(digest[:]))
		}}
	m := r.MatchWhole(c, decode.Match{Why: []string{"a serialized state of Symfony's rate limiter", "the SHA-1 of its id ends the name"}})
	if i := len(s.Key) - 2*sha1.Size; i > 0 {
		m.Prefix = s.Key[:i]
	}
	if o, _, ok := quoted(strings.TrimPrefix(s.Text, "O:")); ok {
		m.Algorithm = symfonyPolicies[strings.TrimPrefix(o, symfonyClass)]
	}
	for class, a := range symfonyPolicies {
		if strings.Contains(s.Text, symfonyClass+class+"\x14") {
			m.Algorithm = a
		}
	}
	return m
}

const symfonyClass = `Symfony\Component\RateLimiter\Policy\`

var symfonyPolicies = map[string]limiter.Algorithm{
	"Window": limiter.FixedWindow, "SlidingWindow": limiter.SlidingWindow, "TokenBucket": limiter.TokenBucket,
}

// symfonyState is what one of the objects holds.
type symfonyState struct {
	decode.Settings
	state limiter.State
	id    string // of the limiter, a dash, and the key that it limits
}

// readSymfony reads one of the three classes.
func readSymfony(text string) (p symfonyState, ok bool) {
	o, ok := readPHP(text)
	class, known := strings.CutPrefix(o.class, symfonyClass)
	if !ok || !known {
		return p, false
	}
	switch class {
	case "Window":
		ok = p.window(o.values)
	case "SlidingWindow":
		ok = p.sliding(o.values)
	case "TokenBucket":
		ok = p.bucket(o.values)
	default:
		return p, false
	}
	p.Algorithm = symfonyPolicies[class]
	return p, ok && p.Window >= time.Second && p.Window <= limiter.MaxWindow
}

// window reads id => start, hits and interval => limit.
func (s *symfonyState) window(v []phpValue) bool {
	if len(v) != 4 || v[1].kind != 'd' || v[3].kind != 'i' {
		return false
	}
	ints, _, ok := phpInts(v[2].string(), 2)
	if !ok {
		return false
	}
	s.id = v[0].string()
	s.Window = time.Duration(ints[1]) * time.Second
	s.Limit.Count, s.LimitFrom = int64(v[3].number), model.LimitOfKey
	s.Convention.Alignment = limiter.AlignFirstRequest
	s.state.Start, s.state.Current = decode.InstantIn(v[1].number, time.Second), int64(ints[0])
	return s.Limit.Count > 0 && decode.UnitOf(v[1].number, s.state.Start) == time.Second
}

// sliding reads hits, hits of the window before, interval and id => end of the window.
func (s *symfonyState) sliding(v []phpValue) bool {
	if len(v) != 2 || v[1].kind != 'd' {
		return false
	}
	ints, id, ok := phpInts(v[0].string(), 3)
	if !ok {
		return false
	}
	s.id = id
	s.Window = time.Duration(ints[2]) * time.Second
	s.Convention.Alignment = limiter.AlignFirstRequest
	end := decode.InstantIn(v[1].number, time.Second)
	s.state.Start, s.state.PreviousStart = end.Add(-s.Window), end.Add(-2*s.Window)
	s.state.Current, s.state.Previous = int64(ints[0]), int64(ints[1])
	return decode.UnitOf(v[1].number, end) == time.Second
}

// bucket reads size and id => tokens, rate => instant of the last batch.
func (s *symfonyState) bucket(v []phpValue) bool {
	if len(v) != 4 || v[1].kind != 'i' || v[3].kind != 'd' {
		return false
	}
	ints, id, ok := phpInts(v[0].string(), 1)
	interval, amount, good := symfonyRate(v[2].string())
	if !ok || !good || ints[0] == 0 {
		return false
	}
	s.id = id
	s.Window = interval
	s.Limit = limiter.Limit{Count: amount, Window: interval, Burst: int64(ints[0])}
	s.LimitFrom = model.LimitOfKey
	s.Convention.Refill = limiter.RefillInterval
	s.state.Filled = decode.InstantIn(v[3].number, time.Second)
	s.state.Level = v[1].number
	if v[1].number < 0 { // reserved beyond what was there: it is level in some batches
		batches := math.Ceil(-v[1].number / float64(amount))
		s.state.Level += batches * float64(amount)
		s.state.Filled += form.Span(batches * float64(interval.Microseconds()))
	}
	return decode.UnitOf(v[3].number, s.state.Filled) == time.Second
}

// symfonySpec is an interval as PHP writes one, and how many tokens come with each.
var symfonySpec = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?-(\d+)$`)

// symfonyRate reads P<years>Y<months>M<days>DT<hours>H<minutes>M<seconds>S-<tokens>, the interval
// between batches and their size.
func symfonyRate(text string) (interval time.Duration, tokens int64, ok bool) {
	found := symfonySpec.FindStringSubmatch(text)
	if found == nil {
		return 0, 0, false
	}
	for i, unit := range [...]time.Duration{365 * day, 30 * day, day, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.ParseInt("0"+found[i+1], 10, 64)
		if n > int64(limiter.MaxWindow/unit) {
			return 0, 0, false
		}
		interval += time.Duration(n) * unit
	}
	tokens, err := strconv.ParseInt(found[7], 10, 32)
	return interval, tokens, err == nil && tokens > 0 && interval > 0
}

// symfonyBytes is more than a state has whose id is of a reasonable length.
const symfonyBytes = 4 << 10
