package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// bottleneck is Bottleneck with a reservoir that is filled again: the hash b_<id>_settings holds all,
// what is LEFT in reservoir, the limit in reservoirRefreshAmount, the window in
// reservoirRefreshInterval and its start in lastReservoirRefresh, in milliseconds of the server. A job
// that does not fit waits, and takes nothing. The heartbeat of a client fills the reservoir, a little
// after its time. Limiters without one, of concurrency or of a least time between jobs, are not read.
var bottleneck = &decode.Library{
	Name: "bottleneck", Version: "2.19.5", Types: []string{"hash"}, Fields: bottleneckFields,
	Silent: []string{"jobs that were dropped"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		id, ok := strings.CutPrefix(s.Key, "b_")
		id, settings := strings.CutSuffix(id, "_settings")
		b, full := readReservoir(s, c.Now)
		if !ok || !settings || id == "" || !full {
			return nil
		}
		m := &decode.Match{Limiter: &reservoir{key: s.Key}, Why: []string{"named b_<id>_settings",
			"a hash with a reservoir, its refill and the time of the last one"}}
		m.Algorithm, m.Window = limiter.FixedWindow, b.window
		m.Limit.Count, m.LimitFrom = b.limit, model.LimitOfKey
		return m
	},
}

var bottleneckFields = []string{"reservoir", "reservoirRefreshAmount", "reservoirRefreshInterval", "lastReservoirRefresh"}

// reservoirState is what the hash says.
type reservoirState struct {
	left, limit int64
	window      time.Duration
	filled      limiter.Instant
}

func readReservoir(s *decode.Sample, now limiter.Instant) (r reservoirState, ok bool) {
	left, known := form.Signed(s.Fields["reservoir"])
	limit, limited := form.Count(s.Fields["reservoirRefreshAmount"])
	millis, timed := form.Count(s.Fields["reservoirRefreshInterval"])
	last, filled := form.Count(s.Fields["lastReservoirRefresh"])
	ok = known && limited && timed && filled && limit > 0 && limit <= limiter.MaxCount &&
		millis > 0 && millis <= limiter.MaxWindow.Milliseconds() && decode.UnitOf(float64(last), now) == time.Millisecond
	return reservoirState{left, limit, form.Milliseconds(millis), limiter.Instant(last * 1000)}, ok
}

// reservoir is the settings of one Bottleneck.
type reservoir struct{ key string }

// Fetch reads the settings.
func (re *reservoir) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: re.key, Type: "hash", Fields: bottleneckFields}}
}

// Decode returns what was taken since the reservoir was filled.
func (re *reservoir) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got)}
	d.Algorithm, d.Convention.Alignment = limiter.FixedWindow, limiter.AlignFirstRequest
	if !s.Exists() {
		return d
	}
	r, ok := readReservoir(s, now)
	if !ok {
		d.Err = "holds no reservoir of Bottleneck that is filled again: correct its rule, or remove the key"
		return d
	}
	d.Window, d.Limit.Count, d.LimitFrom = r.window, r.limit, model.LimitOfKey
	d.State.Start, d.Ends = r.filled, r.filled.Add(r.window)
	d.State.Current = max(r.limit-max(r.left, 0), 0)
	return d
}
