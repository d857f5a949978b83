package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model/collect"
)

func rackAttack(s *decode.Sample, c decode.Context) *decode.Match {
	if !form.IsCounter(s) {
		return nil
	}
	if at := banName().FindStringSubmatchIndex(s.Key); at != nil && s.Text == "1" {
		kind := s.Key[at[2]:at[3]]
		return rackBan(s.Key[:at[2]], kind, s.Key[at[1]:], 0, "named rack::attack:"+kind+":ban:<client>", "a 1 that expires")
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
		return rackBan(prefix, kind, client, w, why...)
	}
	rule, _, _ := strings.Cut(rest, ":")
	return rackWindow(prefix, w, rest).Match(prefix+rest, prefix+rule+":", why...)
}

const rackAttackPrefix = "rack::attack:"

// banName is in that of the key of a ban, which no other program has.
var banName = collect.Regexp(rackAttackPrefix + `(fail2ban|allow2ban):ban:`)

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
	least := collect.If(c.Named, 1, int64(c.Now)/(24*time.Hour).Microseconds())
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

// rackBan returns the match of a Fail2ban or an Allow2ban of one client: the count of its window, which its maximum
// limits, and its ban as a block. The window is 0 where only the ban was seen.
func rackBan(prefix, kind, client string, window time.Duration, why ...string) *decode.Match {
	ban := form.Texts(prefix + kind + ":ban:" + client)
	m := &decode.Match{Name: ban[0].Key, Prefix: prefix + kind + ":ban:", Why: why}
	m.Algorithm, m.Window = limiter.FixedWindow, window
	if window == 0 {
		m.Limiter = &form.Reader{Keys: ban, Settings: m.Settings, Either: true,
			Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
				if d.Partial = true; got[0].TTL > 0 {
					d.State.BlockedUntil = form.Expiry(now, got[0].TTL)
					d.Ends = d.State.BlockedUntil
				}
				return true
			}}
		return m
	}
	m.Limiter = &form.Beside{Of: rackWindow(prefix, window, kind+":count:"+client),
		Keys: func(limiter.Instant) []decode.Fetch { return ban },
		Take: func(d *decode.Decoded, now limiter.Instant, own, beside []decode.Sample, _ decode.Settings) {
			d.Members, d.Charged = form.Members(append(own, beside...)), false // Fail2ban denies each request that it counts
			if d.Type == "none" {
				d.Type, d.TTL = beside[0].Type, beside[0].TTL
			}
			if beside[0].TTL > 0 {
				d.State.BlockedUntil = form.Expiry(now, beside[0].TTL)
			}
		}}
	return m
}

func discourse(s *decode.Sample, c decode.Context) *decode.Match {
	i := strings.Index(s.Key, ":l-rate-limit")
	w, ok := discourseWindow(s, c.Now)
	if i < 0 || !ok {
		return nil
	}
	m := &decode.Match{
		Prefix: s.Key[:i+1], Why: []string{"named l-rate-limit", "a list of whole seconds that expires two windows after the newest"},
		Limiter: form.ListLog(s.Key, decode.Settings{Window: w}, discourseWindow),
	}
	if base, kind, ok := form.LastPart(s.Key, ':'); ok {
		m.Prefix, m.Suffix = base[:strings.LastIndexByte(base, ':')+1], ":"+kind
	}
	m.Algorithm, m.Window = limiter.SlidingLog, w
	return m
}

// discourseWindow tells the window by the expiry, which is two windows after the newest element,
// whose second the client's clock had begun.
func discourseWindow(s *decode.Sample, now limiter.Instant) (time.Duration, bool) {
	if s.TTL <= 0 || len(s.First) == 0 {
		return 0, false
	}
	second, ok := form.Count(s.First[0].Member)
	if !ok || !form.IsSecond(float64(second), now) {
		return 0, false
	}
	for _, slack := range form.AroundNow {
		lives := int64(s.Expiry(now).Add(slack))/1e6 - second
		if lives >= 2 && lives%2 == 0 && time.Duration(lives/2) <= limiter.MaxWindow/time.Second {
			return time.Duration(lives/2) * time.Second, true
		}
	}
	return 0, false
}
