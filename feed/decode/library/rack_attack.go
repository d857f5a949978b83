package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// rackAttack recognizes the keys of rack-attack.
func rackAttack(s *decode.Sample, c decode.Context) *decode.Match {
	if !form.IsCounter(s) {
		return nil
	}
	if m := matchBan(s); m != nil {
		return m
	}
	prefix, index, rest, ok := rackAttackName(s, c)
	if !ok {
		return nil
	}
	w, ok := form.WindowUntil(index, s, c.Now)
	if !ok {
		return nil
	}
	why := []string{"the index of a window in its name", "an integer that expires one second after that window"}
	if kind, client, ok := strings.Cut(rest, ":count:"); ok && (kind == "fail2ban" || kind == "allow2ban") {
		b := &rackBan{prefix: prefix, kind: kind, client: client, window: w}
		return b.match(why)
	}
	rule, _, _ := strings.Cut(rest, ":")
	return rackWindow(prefix, w, rest).Match(prefix+rest, prefix+rule+":", why...)
}

const rackAttackPrefix = "rack::attack:"

// rackWindow returns the counters of a rule, or of a ban.
func rackWindow(prefix string, w time.Duration, rest string) *form.Windowed {
	x := aligned(limiter.FixedWindow, w, form.Numbered(prefix, w, ":"+rest))
	x.Before, x.Charged = true, true
	return x
}

// rackAttackName takes the index out of a name. Without the prefix that rack-attack has unless it
// is told another, the index has to be that of a window of a day or less: no smaller number divides
// the second of an expiry by chance only.
func rackAttackName(s *decode.Sample, c decode.Context) (prefix string, index int64, rest string, ok bool) {
	if i := strings.Index(s.Key, rackAttackPrefix); i >= 0 && (i == 0 || s.Key[i-1] == ':') {
		prefix = s.Key[:i+len(rackAttackPrefix)]
		digits, rest, found := strings.Cut(s.Key[len(prefix):], ":")
		index, ok = form.Count(digits)
		return prefix, index, rest, found && ok
	}
	least := int64(c.Now) / (24 * time.Hour).Microseconds()
	if c.Named {
		least = 1
	}
	for i := 0; ; {
		j := strings.IndexByte(s.Key[i:], ':')
		if j < 0 {
			return "", 0, "", false
		}
		if index, ok = form.Count(s.Key[i : i+j]); ok && i > 0 && index >= least {
			return s.Key[:i], index, s.Key[i+j+1:], strings.Contains(s.Key[i+j+1:], ":")
		}
		i += j + 1
	}
}

// matchBan knows the key of a ban by its name, which no other program has.
func matchBan(s *decode.Sample) *decode.Match {
	for _, kind := range [...]string{"fail2ban", "allow2ban"} {
		i := strings.Index(s.Key, rackAttackPrefix+kind+":ban:")
		if i < 0 || s.Text != "1" {
			continue
		}
		b := &rackBan{prefix: s.Key[:i+len(rackAttackPrefix)], kind: kind, client: s.Key[i+len(rackAttackPrefix+kind+":ban:"):]}
		return b.match([]string{"named rack::attack:" + kind + ":ban:<client>", "a 1 that expires"})
	}
	return nil
}

// rackBan is a Fail2ban or an Allow2ban of one client: the count of its window, and its ban.
type rackBan struct {
	prefix, kind, client string
	window               time.Duration // 0: only the ban was seen
	count                *form.Windowed
}

func (b *rackBan) key() string { return b.prefix + b.kind + ":ban:" + b.client }

func (b *rackBan) match(why []string) *decode.Match {
	if b.window > 0 {
		b.count = rackWindow(b.prefix, b.window, b.kind+":count:"+b.client)
	}
	m := &decode.Match{Name: b.key(), Prefix: b.prefix + b.kind + ":ban:", Why: why, Limiter: b}
	m.Algorithm, m.Window = limiter.FixedWindow, b.window
	return m
}

// Fetch reads the ban and, where its window is known, the count.
func (b *rackBan) Fetch(now limiter.Instant) []decode.Fetch {
	ban := []decode.Fetch{{Key: b.key(), Type: "string"}}
	if b.count == nil {
		return ban
	}
	return append(ban, b.count.Fetch(now)...)
}

// Decode returns the count, which its maximum limits, and the ban as a block.
func (b *rackBan) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	var d decode.Decoded
	if ban := &got[0]; b.count != nil {
		d = b.count.Decode(now, got[1:], given)
		d.Members, d.Charged = form.Members(got), false // Fail2ban denies each request that it counts
		if d.Type == "none" {
			d.Type, d.TTL = ban.Type, ban.TTL
		}
	} else {
		d = decode.Decoded{Type: ban.Type, TTL: ban.TTL, Members: form.Members(got), Partial: true}
		d.Algorithm = limiter.FixedWindow
	}
	if ban := &got[0]; ban.Exists() && ban.TTL > 0 {
		d.State.BlockedUntil = form.Expiry(now, ban.TTL)
		d.Ends = d.State.BlockedUntil
		if b.window > 0 {
			d.Ends = 0
		}
	}
	return d
}
