package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// fastapiLimiter is fastapi-limiter before 0.2: fastapi-limiter:<client>:<path>:<route>:<dependency>,
// or fastapi-limiter:ws:…, which counts admitted requests only, so that it is never above the limit.
var fastapiLimiter = &decode.Library{
	Name: "fastapi-limiter", Version: "0.1.6", Published: true, Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		const prefix = "fastapi-limiter:"
		parts := strings.Split(s.Key, ":")
		if !form.IsCounter(s) || !c.Named && (!strings.HasPrefix(s.Key, prefix) || len(parts) < 3) {
			return nil
		}
		m := form.Counted(&form.Counter{Key: s.Key}, s, prefix, "named fastapi-limiter:<client>:<path>:<route>:<dependency>")
		if n := len(parts); n > 3 && form.IsNumber(parts[n-1]) && form.IsNumber(parts[n-2]) { // each route has a limit of its own
			m.Suffix = ":" + parts[n-2] + ":" + parts[n-1]
		}
		return m
	},
}

// rails is rate_limit of Rails' controllers: rate-limit:<controller>[:<name>]:<client>, which
// counts denied requests, too. The client is an address unless the controller says otherwise; as
// the prefix is no rare one, another client needs a rule.
var rails = &decode.Library{
	Name: "rails", Version: "8.1.3", Published: true, Types: []string{"string"},
	Silent: []string{"the limit", "the window, but for the longest expiry", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		i := strings.Index(s.Key, "rate-limit:")
		prefix := form.PrefixOf(s.Key)
		if !form.IsCounter(s) || !c.Named && (i < 0 || i > 0 && s.Key[i-1] != ':' || !form.IsAddress(s.Key[len(prefix):]) ||
			len(prefix) <= i+len("rate-limit:")) {
			return nil
		}
		return form.Counted(&form.Counter{Key: s.Key, Charged: true}, s, prefix, "named rate-limit:<controller>:<address of a client>")
	},
}

// djangoRatelimit is django-ratelimit: <prefix>:<version>:rl:<SHA-256>, which counts denied
// requests, too. The digest hides client, limit and window, and the expiry, five seconds more than
// the window from the first request on, is not its end, for windows begin at an instant of each
// client's own. It is known as a limiter and for nothing more.
var djangoRatelimit = &decode.Library{
	Name: "django-ratelimit", Version: "4.1.0", Published: true, Types: []string{"string"},
	Silent: []string{"who is limited", "limit and window, and when that ends", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		front, digest, _ := form.LastPart(s.Key, ':')
		base, ok := strings.CutSuffix(front, ":rl")
		_, version, _ := form.LastPart(base, ':')
		if !form.IsCounter(s) || !form.IsHex(digest, 64) || !c.Named && (!ok || !form.IsNumber(version)) {
			return nil
		}
		m := &decode.Match{
			Prefix: front + ":", Limiter: &opaqueCounter{key: s.Key},
			Why: []string{"named <prefix>:<version>:rl:<SHA-256>", "an integer that expires"},
		}
		m.Algorithm = limiter.FixedWindow
		return m
	},
}

// opaqueCounter is a counter of a window of which nothing is known.
type opaqueCounter struct{ key string }

// Fetch reads the counter.
func (o *opaqueCounter) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: o.key, Type: "string"}}
}

// Decode says that the counter is there: its window may be over.
func (o *opaqueCounter) Decode(_ limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got), Partial: true}
	d.Algorithm = limiter.FixedWindow
	if _, ok := form.Count(s.Text); s.Exists() && !ok {
		d.Err = form.NoCount
	}
	return d
}
