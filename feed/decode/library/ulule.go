package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// ululeLimiter is ulule/limiter, also as the middleware of gin and net/http: a counter
// limiter:<id> whose expiry, in milliseconds, is set with the first request. Denied requests are
// counted at their whole cost. The prefix is that of other programs, too, so that it decides only
// together with the address of a client.
var ululeLimiter = &decode.Library{
	Name: "ulule-limiter", Version: "3.11.2", Types: []string{"string"},
	Silent: []string{"the limit", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		return matchCounter(s, c, "limiter:", "named limiter:<address of a client>")
	},
}

// increx is what INCREX of Redis 8.8 and Valkey 9.2 leaves: a counter of any name. A refused
// request changes nothing. Nothing in the key tells it from any other count, so that a rule has
// to name it.
var increx = &decode.Library{
	Name: "increx", Version: "8.8", Published: true, Types: []string{"string"},
	Silent: []string{"the limit", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		m := matchCounter(s, c, "", "")
		if m != nil {
			m.Limiter.(*form.Counter).Charged = false
		}
		return m
	},
}

// matchCounter returns the match of a counter until its expiry that counts denied requests, too,
// where it is named <prefix><address of a client> or a rule names its library. An empty prefix
// is left to a rule alone.
func matchCounter(s *decode.Sample, c decode.Context, prefix, why string) *decode.Match {
	client, ok := strings.CutPrefix(s.Key, prefix)
	if !c.Named && (prefix == "" || !ok || !form.IsAddress(client)) || s.TTL <= 0 {
		return nil
	}
	if _, ok := form.Count(s.Text); !ok {
		return nil
	}
	m := &decode.Match{
		Settings: decode.Settings{Algorithm: limiter.FixedWindow},
		Prefix:   prefix, Why: []string{"an integer that expires"},
		Limiter: &form.Counter{Key: s.Key, Charged: true},
	}
	if why != "" && ok {
		m.Why = append([]string{why}, m.Why...)
	}
	return m
}
