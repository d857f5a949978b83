package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// nestThrottler is @nest-lab/throttler-storage-redis and nestjs-throttler-storage-redis, the storages
// of @nestjs/throttler: {<key>:<throttler>}:hits counts, denied requests, too, and
// {<key>:<throttler>}:blocked is 1 for as long as the first request above the limit blocks, by
// default another window. The key is a SHA-256 in hex, other for each throttler, so that the limits
// of one client are rows of their own.
var nestThrottler = &decode.Library{
	Name: "nest-throttler-storage-redis", Version: "1.2.0", Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, ok := strings.CutSuffix(s.Key, "}:hits")
		if !ok {
			base, ok = strings.CutSuffix(s.Key, "}:blocked")
			ok = ok && s.Text == "1"
		}
		open := strings.LastIndexByte(base, '{')
		if !ok || open < 0 || s.TTL <= 0 {
			return nil
		}
		id, name, split := form.LastPart(base[open+1:], ':')
		if _, number := form.Count(s.Text); !number || !split || !c.Named && !isHash(id) && name != "default" {
			return nil
		}
		t := &throttler{hits: base + "}:hits", blocked: base + "}:blocked"}
		m := &decode.Match{
			Name: t.hits, Prefix: base[:open+1], Suffix: ":" + name + "}:hits", Limiter: t,
			Why: []string{"named {<hash>:<throttler>}:hits", "an integer that expires"},
		}
		m.Algorithm = limiter.FixedWindow
		return m
	},
}

// nestjsRedisThrottler is @nestjs-redis/throttler-storage: the hash _throttler:{<key>} holds a count
// for each throttler, and expires at the end of the first one's window;
// _throttler:{<key>}:block:<throttler> is 1 while the client is blocked, and then nothing is
// counted. Other names than default are not read.
var nestjsRedisThrottler = &decode.Library{
	Name: "nestjs-redis-throttler-storage", Version: "1.0.0", Types: []string{"hash", "string"}, Fields: []string{"default"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "requests that were denied while blocked"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		base, block := strings.CutSuffix(s.Key, ":block:default")
		hits := s.Fields["default"]
		if block {
			hits = s.Text
		}
		if _, number := form.Count(hits); !number || !strings.HasPrefix(base, "_throttler:{") || !strings.HasSuffix(base, "}") || s.TTL <= 0 {
			return nil
		}
		t := &throttler{hits: base, blocked: base + ":block:default", field: "default"}
		m := &decode.Match{
			Name: base, Prefix: "_throttler:", Limiter: t,
			Why: []string{"named _throttler:{<key>}", "a hash of counts that expires"},
		}
		m.Algorithm = limiter.FixedWindow
		return m
	},
}

// throttler is a counter in a string, or in a field of a hash, and the key whose life is a block.
type throttler struct{ hits, blocked, field string }

// Fetch reads both keys.
func (t *throttler) Fetch(limiter.Instant) []decode.Fetch {
	hits := decode.Fetch{Key: t.hits, Type: "string"}
	if t.field != "" {
		hits = decode.Fetch{Key: t.hits, Type: "hash", Fields: []string{t.field}}
	}
	return []decode.Fetch{hits, {Key: t.blocked, Type: "string"}}
}

// Decode counts the hits until their key expires, and blocks until the other does.
func (t *throttler) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	hits, blocked := &got[0], &got[1]
	d := decode.Decoded{Charged: true, Hides: true, Type: hits.Type, TTL: hits.TTL, Members: form.Members(got)}
	d.Algorithm, d.Convention.Alignment = limiter.FixedWindow, limiter.AlignFirstRequest
	d.Window, d.Guessed = given.Window, given.Guessed
	d.State.Start = now
	if blocked.TTL > 0 {
		d.State.BlockedUntil = form.Expiry(now, blocked.TTL)
	}
	if !hits.Exists() {
		if blocked.Exists() {
			d.Type, d.TTL = blocked.Type, blocked.TTL
		}
		return d
	}
	text := hits.Text
	if t.field != "" {
		text = hits.Fields[t.field]
	}
	n, ok := form.Count(text)
	if !ok {
		d.Err = form.NoCount
		return d
	}
	if hits.TTL != model.Forever { // else the next request begins a window
		d.State.Current = n
	}
	form.Until(&d, now, hits.TTL, false)
	return d
}

// isHash says whether id is a SHA-256 in hex.
func isHash(id string) bool {
	return len(id) == 64 && strings.Trim(id, "0123456789abcdef") == ""
}
