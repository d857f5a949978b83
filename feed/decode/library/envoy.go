package library

import (
	"regexp"
	"slices"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func envoyRatelimit(s *decode.Sample, c decode.Context) *decode.Match {
	base, last, ok := form.LastPart(s.Key, '_')
	second, numeric := form.Count(last)
	if !ok || !numeric || second < 1e9 || second > 1e11 || s.TTL <= 0 || !c.Named && !descriptor.MatchString(base) {
		return nil
	}
	if _, ok := form.Count(s.Text); !ok {
		return nil
	}
	e := &envoy{base: base, start: limiter.Instant(second * 1e6)}
	e.units = e.possible(c.Now, s.TTL)
	if len(e.units) == 0 {
		return nil
	}
	return &decode.Match{
		Settings: decode.Settings{Algorithm: limiter.FixedWindow},
		Name:     base, Why: []string{"named <domain>_<key>_<value>_<start>, with a key of Envoy's descriptors",
			"an integer whose expiry is a unit from that start"},
		Limiter: e,
	}
}

// descriptor is a name <domain>_<key>_<value>, with what Envoy calls its descriptors where a configuration gives no key.
var descriptor = regexp.MustCompile(`(?s)._(remote_address|masked_remote_address|generic_key|header_match|source_cluster|` +
	`destination_cluster|query_parameter_value_match|query_parameters|rate_limit)_.`)

// envoyUnits are the units of a limit, shortest first.
var envoyUnits = [...]time.Duration{
	time.Second, time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// jitter is by how much an expiry exceeds the unit at most.
const jitter = 300 * time.Second

// envoy is one limit of Envoy. It knows the counter that it saw last, and the units that its
// start and its expiry leave.
type envoy struct {
	base  string
	start limiter.Instant
	units []time.Duration
	seen  int64 // what the counter held; 0 before the first reading
}

// possible returns the units that a counter of e.start with that expiry can be of.
func (e *envoy) possible(now limiter.Instant, ttl time.Duration) (units []time.Duration) {
	age := now.Sub(e.start)
	for _, u := range envoyUnits {
		if int64(e.start)%u.Microseconds() != 0 || age < -form.WholeSecond {
			continue
		}
		over := max(age-u, 0) // since the unit ended, nothing has set the expiry
		if ttl <= u+jitter-over+form.WholeSecond && ttl >= u-max(age, 0)-form.WholeSecond {
			units = append(units, u)
		}
	}
	return units
}

// Fetch reads the counters that can be current.
func (e *envoy) Fetch(now limiter.Instant) []decode.Fetch {
	f := []decode.Fetch{{Key: e.key(e.start), Type: "string"}}
	for _, u := range e.units {
		if s := now.Floor(u); s != e.start {
			f = append(f, decode.Fetch{Key: e.key(s), Type: "string"})
		}
	}
	return f
}

func (e *envoy) key(start limiter.Instant) string {
	return e.base + "_" + form.Decimal(int64(start)/1e6)
}

// Decode rules out units, and counts once one is left.
func (e *envoy) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Charged: true, Type: "none", Members: form.Members(got)}
	d.Algorithm = limiter.FixedWindow
	e.learn(now, got, given)
	var current *decode.Sample
	for i := range got {
		if got[i].Exists() {
			d.Type, d.TTL = got[i].Type, max(d.TTL, got[i].TTL)
		}
		if len(e.units) == 1 && got[i].Key == e.key(now.Floor(e.units[0])) {
			current = &got[i]
		}
	}
	if len(e.units) != 1 {
		d.Algorithm = limiter.Unknown
		return d
	}
	d.Window = e.units[0]
	d.State.Start = now.Floor(d.Window)
	if current != nil && current.Exists() {
		n, ok := form.Count(current.Text)
		if !ok {
			d.Err = form.NoCount
		}
		d.State.Current = n
	}
	return d
}

// learn rules out the units that do not agree with what was read: a counter that still counts is
// of a unit that is not over, and a counter of another start is of a unit that begins there.
func (e *envoy) learn(now limiter.Instant, got []decode.Sample, given decode.Settings) {
	if given.Window > 0 && given.LimitFrom != 0 {
		e.keep([]time.Duration{given.Window})
	}
	n, ok := form.Count(got[0].Text)
	if got[0].Exists() && ok {
		units := e.possible(now, got[0].TTL)
		if e.seen > 0 && n > e.seen { // it was not over a second ago
			age := now.Sub(e.start)
			units = slices.DeleteFunc(units, func(u time.Duration) bool { return age > u+form.WholeSecond })
		}
		e.keep(units)
		e.seen = max(n, e.seen)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Exists() && len(e.units) > 1 {
			_, last, _ := form.LastPart(got[i].Key, '_')
			second, _ := form.Count(last)
			next := envoy{base: e.base, start: limiter.Instant(second * 1e6)}
			e.keep(next.possible(now, got[i].TTL))
			e.start, e.seen = next.start, 0
		}
	}
}

// keep leaves those units of e that are among units, unless none would be left.
func (e *envoy) keep(units []time.Duration) {
	left := slices.DeleteFunc(slices.Clone(e.units), func(u time.Duration) bool { return !slices.Contains(units, u) })
	if len(left) > 0 {
		e.units = left
	}
}
