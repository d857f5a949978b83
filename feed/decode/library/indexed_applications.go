package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// gitlab is GitLab's own limiter: application_rate_limiter:<action>:<scope>:<index>, a string that
// counts the requests of a window, denied ones too, or a set of the resources asked for, which
// expires a second after the window.
var gitlab = &decode.Library{
	Name: "gitlab", Version: "commit 0286e4c", Published: true, Types: []string{"string", "set"},
	Silent: []string{"the limit: it is a setting of the application", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		const name = "application_rate_limiter:"
		i := strings.Index(s.Key, name)
		base, last, ok := form.LastPart(s.Key, ':')
		index, good := form.Count(last)
		if i < 0 || i > 0 && s.Key[i-1] != ':' || !ok || !good || s.Type == "string" && !form.IsCounter(s) {
			return nil
		}
		w, ok := form.WindowUntil(index, s, c.Now)
		if !ok {
			return nil
		}
		l := &form.WindowCounter{Name: form.EndsWithIndex(base + ":"), Window: w, Charged: true, Typ: s.Type}
		action, _, _ := strings.Cut(base[i+len(name):], ":")
		return l.Match(base, base[:i+len(name)]+action+":", "named application_rate_limiter:<action>:<scope>:<index of a window>",
			"expires one second after that window")
	},
}

// mastodon is Mastodon's own limiter of accounts: rate_limit:<account>:<family>:<index>, a string
// that counts the admitted requests of a window and expires a second after it. Limit and window of
// a family are constants of Mastodon.
var mastodon = &decode.Library{
	Name: "mastodon", Version: "commit 0486db9", Published: true, Types: []string{"string"},
	Silent: []string{"the limit of a family that Mastodon's source does not have", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		i := strings.Index(s.Key, "rate_limit:")
		if i < 0 || i > 0 && s.Key[i-1] != ':' || !form.IsCounter(s) {
			return nil
		}
		parts := strings.Split(s.Key[i:], ":")
		if len(parts) != 4 || !form.IsNumber(parts[1]) {
			return nil
		}
		index, ok := form.Count(parts[3])
		if !ok {
			return nil
		}
		w, ok := form.WindowUntil(index, s, c.Now)
		if !ok {
			return nil
		}
		base := strings.TrimSuffix(s.Key, ":"+parts[3])
		l := &form.WindowCounter{Name: form.EndsWithIndex(base + ":"), Window: w}
		if f := mastodonFamilies[parts[2]]; f.Window == w {
			l.Limit, l.From = f.Count, model.LimitOfName
		}
		m := l.Match(base, s.Key[:i]+"rate_limit:", "named rate_limit:<account>:<family>:<index of a window>",
			"an integer that expires one second after that window")
		m.Suffix = ":" + parts[2]
		return m
	},
}

var mastodonFamilies = map[string]limiter.Limit{
	"follows": {Count: 400, Window: 24 * time.Hour}, "statuses": {Count: 300, Window: 3 * time.Hour},
	"reports": {Count: 400, Window: 24 * time.Hour},
}
