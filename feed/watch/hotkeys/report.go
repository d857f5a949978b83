package hotkeys

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
)

// Report is the reply to HOTKEYS GET at one moment.
type Report struct {
	Kind   Kind
	Active bool            // Redis: it is profiling now
	Since  limiter.Instant // Redis: when profiling began
	Over   time.Duration   // Redis: for how long it has profiled
	Sample int64           // Redis: one key in Sample is measured; at least 1
	Keys   []model.HotKey  // one for each Redis key, at most mostReported
}

// Kind tells the two commands of the same name apart.
type Kind uint8

// The kinds.
const (
	NoHotkeys Kind = iota // the server has no such command
	RedisHotkeys
	ValkeyHotkeys
)

// String names the kind for the screen.
func (k Kind) String() string {
	return [...]string{"no HOTKEYS", "HOTKEYS of Redis", "HOTKEYS of Valkey"}[k%3]
}

// mostReported bounds how many keys of a report are used. Redis sends at most 64 for each of
// two measures, Valkey at most hotkey-top-k.
const mostReported = 128

// errReport is the error of a reply that has neither form.
var errReport = errors.New("HOTKEYS GET answered in no known form")

// kindOf returns the kind of HOTKEYS by the reply to COMMAND INFO HOTKEYS, an array whose tenth
// element lists the subcommands: that of Redis has a subcommand START.
func kindOf(reply any) Kind {
	list, _ := reply.([]any)
	if len(list) != 1 {
		return NoHotkeys
	}
	info, _ := list[0].([]any)
	if len(info) < 10 {
		return NoHotkeys
	}
	subs, _ := info[9].([]any)
	kind := NoHotkeys
	for _, s := range subs {
		sub, _ := s.([]any)
		if len(sub) == 0 {
			continue
		}
		switch sub[0] {
		case "hotkeys|start":
			return RedisHotkeys
		case "hotkeys|get":
			kind = ValkeyHotkeys
		}
	}
	return kind
}

// decode decodes the reply to HOTKEYS GET, in RESP2 or RESP3. db is the database whose keys are
// wanted; the reply of Redis does not say in which database a key is.
func (k Kind) decode(reply any, db int) (Report, error) {
	switch k {
	case RedisHotkeys:
		return decodeRedis(reply)
	case ValkeyHotkeys:
		return decodeValkey(reply, db)
	}
	return Report{}, errReport
}

// decodeRedis decodes an array of one map, or the map alone, as the documentation of the first
// version shows it.
func decodeRedis(reply any) (Report, error) {
	list, isList := reply.([]any)
	if isList && len(list) == 0 {
		return Report{Kind: RedisHotkeys}, nil
	}
	if isList && len(list) == 1 {
		reply = list[0]
	}
	f, ok := fields(reply)
	if _, known := f["tracking-active"]; !ok || !known {
		return Report{}, errReport
	}
	number := func(name string) int64 { n, _ := f[name].(int64); return max(n, 0) }
	r := Report{
		Kind: RedisHotkeys, Active: number("tracking-active") == 1, Sample: max(number("sample-ratio"), 1),
		Over: time.Duration(min(number("collection-duration-ms"), int64(math.MaxInt64/time.Millisecond))) * time.Millisecond,
	}
	if at := number("collection-start-time-unix-ms"); at < math.MaxInt64/1000 {
		r.Since = limiter.Instant(at * 1000)
	}
	at := make(map[string]int)
	take := func(list string, all int64, set func(*model.HotKey, model.Measure)) {
		pairs, _ := f[list].([]any)
		for i := 0; i+1 < len(pairs); i += 2 {
			key, isKey := pairs[i].(string)
			n, isNumber := pairs[i+1].(int64)
			if !isKey || !isNumber || n < 0 || all <= 0 || len(key) > LongestKey {
				continue
			}
			j, seen := at[key]
			if !seen {
				if len(r.Keys) == mostReported {
					return
				}
				j = len(r.Keys)
				at[key] = j
				r.Keys = append(r.Keys, model.HotKey{Key: key})
			}
			// Sampling applies to n, but not to all.
			set(&r.Keys[j], model.Measure{Known: true, V: min(float64(n)*float64(r.Sample)/float64(all), 1)})
		}
	}
	take("by-cpu-time-us", number("all-commands-all-slots-us"), func(h *model.HotKey, m model.Measure) { h.CPU = m })
	take("by-net-bytes", number("net-bytes-all-commands-all-slots"), func(h *model.HotKey, m model.Measure) { h.Net = m })
	return r, nil
}

// decodeValkey decodes an array of maps with key, db and qps.
func decodeValkey(reply any, db int) (Report, error) {
	list, ok := reply.([]any)
	if !ok {
		return Report{}, errReport
	}
	r := Report{Kind: ValkeyHotkeys, Active: true, Sample: 1}
	seen := make(map[string]bool)
	for _, e := range list {
		f, ok := fields(e)
		key, isKey := f["key"].(string)
		qps, isNumber := f["qps"].(int64)
		if !ok || !isKey || !isNumber {
			return Report{}, errReport
		}
		if where, ok := f["db"].(int64); ok && where != int64(db) || seen[key] || len(key) > LongestKey || qps < 0 ||
			len(r.Keys) == mostReported {
			continue
		}
		seen[key] = true
		r.Keys = append(r.Keys, model.HotKey{Key: key, Accesses: model.Measure{Known: true, V: float64(qps)}})
	}
	return r, nil
}

// fields converts a map of RESP3, or the flat array that RESP2 has in its place.
func fields(v any) (map[string]any, bool) {
	out := make(map[string]any)
	switch v := v.(type) {
	case map[any]any:
		for k, x := range v {
			if name, ok := k.(string); ok {
				out[name] = x
			}
		}
	case []any:
		if len(v)%2 != 0 {
			return nil, false
		}
		for i := 0; i < len(v); i += 2 {
			name, ok := v[i].(string)
			if !ok {
				return nil, false
			}
			out[name] = v[i+1]
		}
	default:
		return nil, false
	}
	return out, true
}

// Says describes the report in a phrase for model.HotKeys.Sources.
func (r *Report) Says() string {
	switch {
	case r.Kind == ValkeyHotkeys:
		return r.Kind.String() + ", its last window"
	case r.Active:
		return fmt.Sprintf("%v, for %s so far", r.Kind, format.Elapsed(r.Over))
	}
	return fmt.Sprintf("%v, over %s from %s on", r.Kind, format.Elapsed(r.Over), r.Since.Time().Format("15:04:05 UTC"))
}
