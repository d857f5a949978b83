package library

import (
	"encoding/binary"
	"regexp"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// clientID is the UUID that a client of Redisson calls itself by.
var clientID = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func redisson(s *decode.Sample, c decode.Context) *decode.Match {
	if s.Type == "hash" {
		if _, overall, ok := readRedisson(s); !ok || !overall {
			return nil
		}
		return matchRedisson(s.Key, "", "a hash of rate, interval and type")
	}
	rest, ok := strings.CutPrefix(s.Key, "{")
	name, part, more := strings.Cut(rest, "}:")
	kind, client, _ := strings.Cut(part, ":")
	_, isCount := form.Count(s.Text)
	switch {
	case !ok || !more || name == "" || client != "" && !clientID.MatchString(client):
		return nil
	case s.Type == "string" && (kind != "value" || !isCount), s.Type == "zset" && kind != "permits":
		return nil
	}
	m := matchRedisson(name, client, "named {<name>}:value", "beside it a hash of rate, interval and type")
	m.Siblings = m.Limiter.Fetch(c.Now)[:1]
	m.Confirm = func(got []decode.Sample) bool {
		_, overall, ok := readRedisson(&got[0])
		return ok && overall == (client == "")
	}
	return m
}

func matchRedisson(name, client string, why ...string) *decode.Match {
	base, after := "{"+name+"}:", ""
	m := &decode.Match{Settings: decode.Settings{Algorithm: limiter.SlidingLog}, Name: name, Why: why}
	if client != "" {
		after = ":" + client
		m.Name = base + "value" + after
	}
	keys := append(form.Hash(name, "rate", "interval", "type"), form.Texts(base+"value"+after)...)
	m.Limiter = &form.Reader{
		Keys:     append(keys, decode.Fetch{Key: base + "permits" + after, Type: "zset", Ends: form.FewPermits}),
		Settings: m.Settings, Holds: "limiter of Redisson", Read: redissonPermits,
	}
	return m
}

// readRedisson returns the limit in a hash; overall is false where each client has its own.
func readRedisson(s *decode.Sample) (limit limiter.Limit, overall, ok bool) {
	rate, okRate := form.Count(s.Fields["rate"])
	ms, okInterval := form.Count(s.Fields["interval"])
	kind := s.Fields["type"]
	if !okRate || !okInterval || rate == 0 || ms > limiter.MaxWindow.Milliseconds() || kind != "0" && kind != "1" || s.Length < 3 ||
		s.Length > 4 {
		return limit, false, false
	}
	limit = limiter.Limit{Count: rate, Window: form.Milliseconds(ms)}
	return limit, kind == "0", limit.Validate() == nil
}

// redissonPermits reads the permits that are out as a log. Where more of them have expired than were
// read, what is used is not known.
func redissonPermits(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
	limit, _, ok := readRedisson(&got[0])
	left, isCount := form.Signed(got[1].Text)
	if !ok || got[1].Exists() && !isCount {
		return false
	}
	d.Limit, d.LimitFrom, d.Window = limit, model.LimitOfKey, limit.Window
	if !got[1].Exists() {
		return true
	}
	p := form.Permits{Left: max(limit.Count-max(left, 0), 0)}
	live := got[2].First
	for len(live) > 0 && decode.InstantIn(live[0].Score, time.Millisecond) <= now.Add(-limit.Window) {
		p.Left -= permitsOf(live[0].Member)
		live = live[1:]
	}
	p.Left = max(p.Left, 0)
	d.Partial = len(live) == 0 && got[2].Length > int64(len(got[2].First))
	for _, e := range live {
		if decode.UnitOf(e.Score, now) == time.Millisecond {
			p.Add(decode.InstantIn(e.Score, time.Millisecond), permitsOf(e.Member))
		}
	}
	d.State.Log = p.Log(now)
	return true
}

// permitsOf returns how many permits a member stands for: the length of an id, the id, and a
// number in the order of bytes of the x86.
func permitsOf(member string) int64 {
	if len(member) < 5 || len(member) != 1+int(member[0])+4 {
		return 0
	}
	return int64(binary.LittleEndian.Uint32([]byte(member[len(member)-4:])))
}
