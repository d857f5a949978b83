package naming_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/naming"
)

// now is 2026-11-23 22:14:37 UTC, a Monday.
var now = limiter.InstantOf(time.Date(2026, 11, 23, 22, 14, 37, 0, time.UTC))

// TestWindowOf reads the window of now in a name, wherever it stands, and takes no other number for one.
func TestWindowOf(t *testing.T) {
	unix := int64(now) / 1e6
	for _, c := range []struct {
		name, form string
		length     time.Duration
		zone       time.Duration
	}{
		{"rl:alice:202611232214", "%Y%m%d%H%M", time.Minute, 0},
		{"rl:2026-11-23T22:14:alice", "%Y-%m-%dT%H:%M", time.Minute, 0},
		{"2026-11-23-22-14/alice", "%Y-%m-%d-%H-%M", time.Minute, 0},
		{"rl_2026-11-24_07:14", "%Y-%m-%d_%H:%M", time.Minute, 9 * time.Hour},
		{"rl:202611240344", "%Y%m%d%H%M", time.Minute, 5*time.Hour + 30*time.Minute},
		{"rl:202611231714", "%Y%m%d%H%M", time.Minute, -5 * time.Hour},
		{"rl:x:2026112322", "%Y%m%d%H", time.Hour, 0},
		{"rl:x:2026112400", "%Y%m%d%H", time.Hour, 2 * time.Hour},
		{"daily:20261123:7", "%Y%m%d", 24 * time.Hour, 0},
		{"daily:2026-11-23:42", "%Y-%m-%d", 24 * time.Hour, 0},
		{"daily:2026/11/23", "%Y/%m/%d", 24 * time.Hour, 0},
		{"q:2026-11", "%Y-%m", 30 * 24 * time.Hour, 0},
		{"rl:20261123221437:9", "%Y%m%d%H%M%S", time.Second, 0},
		{"rl:2611232214", "%y%m%d%H%M", time.Minute, 0},
		{fmt.Sprintf("rl:a:%d", unix/60), "index", time.Minute, 0},
		{fmt.Sprintf("rl:%d:a", unix/20), "index", 20 * time.Second, 0},
		{fmt.Sprintf("rl:%d", unix/86400), "index", 24 * time.Hour, 0},
		{fmt.Sprintf("rl:%d", unix), "index", time.Second, 0},
		{fmt.Sprintf("rl:%d", unix/60*60), "start.s", 0, 0},
		{fmt.Sprintf("rl:%d000", unix/60*60), "start.ms", 0, 0},
		{fmt.Sprintf("rl:%d:u", unix/60*60+60), "end.s", 0, 0},
		{fmt.Sprintf("rl:%d000:u", unix/60*60+60), "end.ms", 0, 0},
		{fmt.Sprintf("rl:%d000000", unix/60*60), "start.us", 0, 0},
		{fmt.Sprintf("rl:%d000000000:u", unix/60*60+60), "end.ns", 0, 0},
		{"login-alice-22-14", "%H-%M", time.Minute, 0},
		{"log:23/Nov/2026:22:14:alice", "%d/%b/%Y:%H:%M", time.Minute, 0},
		{"log:23/Nov/2026:22:13:alice", "", 0, 0},
		{"rl:alice:20261123T22h14", "%Y%m%dT%Hh%M", time.Minute, 0},
		{"rl:2026-11-23 22:14:00 +0000 UTC:alice", "%Y-%m-%d %H:%M:%S +0000 UTC", 0, 0},
		{"five:u:2214", "%H%M", time.Minute, 0},
		{"five:u:2213", "", 0, 0}, {"five:u:22145", "", 0, 0},
		{"rl:202611232213", "", 0, 0}, // the minute before is over
		{"rl:20261122", "", 0, 0},
		{"rl:2026112321", "", 0, 0}, // over, or a zone west of here
		{"order:123456789", "", 0, 0}, {"user:20261", "", 0, 0}, {"otp:+4915112345678", "", 0, 0}, {"h:202611232214ab", "", 0, 0},
		{"x:1500000000", "", 0, 0}, {"", "", 0, 0}, {"a", "", 0, 0}, {"rl:2026", "", 0, 0}, {"rl:261123", "", 0, 0},
	} {
		w, ok := naming.WindowOf(c.name, now)
		if ok != (c.form != "") || w.Form != c.form || w.Length != c.length || w.Zone != c.zone {
			t.Errorf("%q reads as %+v, %v; want %s of %v in %v", c.name, w, ok, c.form, c.length, c.zone)
		}
		if ok && w.Start != 0 && w.End != 0 && (now < w.Start || now >= w.End) {
			t.Errorf("%q: %v to %v does not contain now", c.name, w.Start, w.End)
		}
	}
}

// TestPatterns generalizes each part that differs from key to key, and no other.
func TestPatterns(t *testing.T) {
	each := func(format string, n int, arg func(i int) any) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(format, arg(i)))
		}
		return out
	}
	name := func(i int) any { return string([]byte{'a' + byte(i%26), 'n', 'a' + byte(i/26%26), 'a' + byte(i/676)}) }
	for want, names := range map[string][]string{
		"rl:*":                {"rl:alice"},
		"rl:login:*":          {"rl:login:alice", "rl:login:bob", "rl:login:carol"},
		"user:*:requests":     {"user:alice:requests", "user:bob:requests"},
		"api:v2:tenant:1:u:*": {"api:v2:tenant:1:u:2", "api:v2:tenant:1:u:3"},
		"api:v2:tenant:*:u:*": {"api:v2:tenant:1:u:2", "api:v2:tenant:4:u:3"},
		"ip:*:hits":           {"ip:10.0.0.1:hits", "ip:203.0.113.99:hits", "ip:2001:db8::7:hits"},
		"mail:*":              {"mail:alice@example.com", "mail:b.c@mail.example.org"},
		"rl:*:*":              {"rl:alice:202611232214", "rl:bob:202611232214"},
		`\[a\?:*`:             {"[a?:x", "[a?:y"},
		"s:*":                 {"s:7f3a9c2d11", "s:00aa17bb2c", "s:3d813cbb-47fb-32ba-91df-831e1593ac29"},
		"*:requests":          {"alice:requests", "bob:requests"},
		"{*}:requests":        {"{k1}:requests", "{k2}:requests"},
		`\*:\?*`:              {"*:?a", "*:?b"},
		"rate\\?ip=*&m=*":     {"rate?ip=203.0.113.7&m=202611232214", "rate?ip=2001:db8::7&m=202611232214"},
		"apiRateLimit:*":      {"apiRateLimit:u9", "apiRateLimit:u10"},
		"RATE_LIMITER*":       {"RATE_LIMITER500a", "RATE_LIMITER501b"},
		"auth:attempts:*":     {"auth:attempts:alice"},
		"brute:*":             {"brute:X+zrZv/IbzjZUnhsbWlsecLbwjndTpG0ZynXOif7V+k=", "brute:a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s="},
		"a.*.c":               each("a.%v.c", 300, name),
	} {
		var p naming.Patterns
		p.Learn("auth:lockout:alice", "string", now) // a word for limits is no subject
		for _, n := range names {
			p.Learn(n, "string", now)
		}
		for _, n := range names {
			if got := p.Of(n, "string", now); got != want {
				t.Errorf("%q is of the pattern %q, want %q", n, got, want)
			}
		}
	}
	var p naming.Patterns
	var all []string
	for _, format := range []string{"rl:login:%v", "rl:search:%v", "api:%v:calls"} {
		all = append(all, each(format, 3000, name)...)
		all = append(all, each(format, 3000, func(i int) any { return i })...)
		all = append(all, each(format, 3000, func(i int) any { return fmt.Sprintf("10.0.%d.%d", i/250, i%250) })...)
	}
	for _, n := range all {
		p.Learn(n, "string", now)
	}
	got := make(map[string]int)
	for _, n := range all {
		got[p.Of(n, "string", now)]++
	}
	if len(got) != 3 || got["rl:login:*"] != 9000 || got["rl:search:*"] != 9000 || got["api:*:calls"] != 9000 {
		t.Errorf("the patterns of three limiters are %v", got)
	}
}

// TestWindowsThatAreOver: of some subjects the windows are over, as their numbers and dates do not tell, and they are of the pattern
// of those whose are not.
func TestWindowsThatAreOver(t *testing.T) {
	numbered := func(at limiter.Instant) string { return strconv.FormatInt(int64(at)/60e6, 10) }
	dated := func(layout string) func(limiter.Instant) string {
		return func(at limiter.Instant) string { return at.Time().UTC().Format(layout) }
	}
	for _, window := range []func(limiter.Instant) string{numbered, dated("200601021504"), dated("2006-01-02T15:04"), dated("2006-01-02-15-04"),
		dated("2006-01-02_15:04"), dated("02/Jan/2006:15:04"), dated("2006-01-02 15:04:00 +0000 UTC"), dated("2006-01-02T15:04:00Z")} {
		var p naming.Patterns
		names := []string{"throttle:" + window(now) + ":api:10.0.3.17"}
		for i, who := range []string{"alice", "bob", "carol", "dave", "erin"} {
			names = append(names, "throttle:"+window(now.Add(-time.Duration(i/3*3)*time.Minute))+":api:"+who)
		}
		for _, n := range names {
			p.Learn(n, "string", now)
		}
		for _, n := range names {
			if got := p.Of(n, "string", now); got != "throttle:*:api:*" {
				t.Errorf("%q is of the pattern %q", n, got)
			}
		}
	}
}

// TestSubjectsAndLimiters tells two limiters of the same two users apart, in any order.
func TestSubjectsAndLimiters(t *testing.T) {
	names := []string{"rl:login:alice", "rl:search:alice", "rl:login:bob", "rl:search:bob", "rl:search:carol"}
	for range 2 {
		var p naming.Patterns
		for _, n := range names {
			p.Learn(n, "string", now)
		}
		if a, b := p.Of("rl:login:bob", "string", now), p.Of("rl:search:zoe", "string", now); a != "rl:login:*" || b != "rl:search:*" {
			t.Errorf("%q and %q", a, b)
		}
		slices.Reverse(names)
	}
}

// TestSense: names that say that they are limiters, glued words too, and names that do not.
func TestSense(t *testing.T) {
	for name, want := range map[string]bool{
		"rl:login": true, "{RL}:7": true, "app:ratelimit:login": true, "api:rate_limit:7": true, "rate-limiter.x": true, "throttle_user_9": true, "LIMITS:LIMITER/1.2.3.4": true,
		"RATE_LIMITER500:x": true, "apiRateLimit:u9": true, "hitlimit:a": true, "rate.limiting:u": true, "mail-limit@1795300000": true, "RateLimiter_7": true, "RL_user_7": true,
		"": false, "url:7": false, "stuck:login": false, "rate:eur": false, "limit:rate": false, "app:version": false, "curl_count": false, "rl:config:x": false, "unlimited:x": false,
	} {
		if got := naming.SenseOf(name).Limits != ""; got != want {
			t.Errorf("%q speaks of a limiter: %v", name, got)
		}
	}
	var words []string
	for w := range naming.Words("myAPIKey2Foo_RATE_LIMITER500:été") {
		words = append(words, w)
	}
	if want := []string{"my", "api", "key", "foo", "rate", "limiter", "été"}; !slices.Equal(words, want) {
		t.Errorf("the words are %q, want %q", words, want)
	}
}

// TestHostileNames: names that hold the mark of a part that varies, and long ones of many parts, have patterns.
func TestHostileNames(t *testing.T) {
	many := func(of string, n int) (names []string) {
		for i := range n {
			names = append(names, "rl:u:"+strings.Repeat(of, 4000+i))
		}
		return names
	}
	for _, names := range [][]string{
		{"rl:limiter500", "rl:limiter\x00"}, {"rl:limiter\x00", "rl:limiter500"},
		{"rl:\x00.b:x", "rl:5.b:x", "rl:6.b:x"}, {"rl:a.b", "rl:\x00.b", "rl:\x00.\x00"},
		many("a/", 64), many(":", 64), many("a", 64), many("é", 64), many("1:", 64),
	} {
		var p naming.Patterns
		for range 2 {
			for _, name := range names {
				p.Learn(name, "string", now)
				if glob := p.Of(name, "string", now); glob == "" || strings.Count(glob, "/") > 32 {
					t.Errorf("%.40q has the pattern %.40q", name, glob)
				}
			}
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("rl:limiter500", "rl:limiter\x00")
	f.Add("rl:alice:202611232214", "10.0.0.1:a@b.cd:x")
	f.Add("2001:db8::1:{x}", "3d813cbb-47fb-32ba-91df-831e1593ac29::")
	f.Fuzz(func(t *testing.T, a, b string) {
		var p naming.Patterns
		for _, name := range []string{a, b} {
			parts, between := naming.Split(name, now)
			text := between[0]
			for i, part := range parts {
				text += part.Text + between[i+1]
			}
			if text != name || len(between) != len(parts)+1 {
				t.Errorf("%q is split into %q and %q", name, parts, between)
			}
			p.Learn(name, "", now)
		}
		if p.Of(a, "", now) == "" {
			t.Errorf("%q has no pattern", a)
		}
	})
}

func BenchmarkLearn(b *testing.B) {
	var p naming.Patterns
	for b.Loop() {
		p.Learn("api:v2:tenant:17:user:39911:202611232214", "string", now)
	}
}

func BenchmarkWindowOf(b *testing.B) {
	for b.Loop() {
		naming.WindowOf("api:v2:tenant:17:user:39911:7f3a9c2d11", now)
	}
}

// BenchmarkNames does with the names of 100,000 keys of 40 patterns what a search does with them: it reads the windows of now and
// those that are over, learns the patterns, and gives each name its own.
func BenchmarkNames(b *testing.B) {
	subjects := []func(i int) string{
		func(i int) string { return strconv.Itoa(10_000_000 + 37*i) },
		func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i%250, i/250, i%7) },
		func(i int) string { return fmt.Sprintf("2026-11-%02d:u%d", 1+i%22, i) },
		func(i int) string { return fmt.Sprintf("%08x-11d2-4a5f-8000-00c04fd430c8", 0x9f3a0000+i) },
	}
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("svc%c:%s:hits", 'a'+i%40, subjects[i%4](i/40))
	}
	for of, do := range map[string]func(p *naming.Patterns, name string){
		"window":  func(_ *naming.Patterns, name string) { naming.WindowOf(name, now) },
		"over":    func(_ *naming.Patterns, name string) { naming.Over(name, now) },
		"learn":   func(p *naming.Patterns, name string) { p.Learn(name, "string", now) },
		"pattern": func(p *naming.Patterns, name string) { p.Of(name, "string", now) },
	} {
		b.Run(of, func(b *testing.B) {
			var p naming.Patterns
			for _, name := range names {
				p.Learn(name, "string", now)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ { // an operation is a key
				do(&p, names[i%len(names)])
			}
		})
	}
}

// TestPatternsOfManyLimiters tells the limiters of an application apart, whose names differ in their first word and which limit the
// same subjects, whatever these are.
func TestPatternsOfManyLimiters(t *testing.T) {
	at := limiter.InstantOf(time.Date(2026, 11, 26, 2, 28, 0, 0, time.UTC))
	subjects := map[string]func(i int) string{
		"words": func(i int) string {
			return []string{"alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"}[i]
		},
		"numbered":  func(i int) string { return fmt.Sprintf("u%d", i) },
		"numbers":   func(i int) string { return strconv.Itoa(1000 + 37*i) },
		"addresses": func(i int) string { return fmt.Sprintf("10.%d.7.%d", i, 3*i+1) },
		"mails":     func(i int) string { return fmt.Sprintf("user%d@example.com", i) },
	}
	limiters := strings.Fields("login signup api export search upload mails sms orders hits calls req cap tk mod quota usage w loc emails")
	for kind, subject := range subjects {
		for form, want := range map[string]string{"%s:%s:202611260228": "%s:*:*", "%s:%s": "%s:*", "%s_%s": "%s_*"} {
			var p naming.Patterns
			for _, name := range limiters {
				for i := range 8 {
					p.Learn(fmt.Sprintf(form, name, subject(i)), "string", at)
				}
			}
			for _, name := range limiters {
				if got := p.Of(fmt.Sprintf(form, name, subject(3)), "string", at); got != fmt.Sprintf(want, name) {
					t.Errorf("%s as %s: %q is of %q", kind, form, name, got)
				}
			}
		}
	}
}

// TestTemplateOfWindowThatIsOver writes the window of a key that has just ended as one, and not as a subject: a person may be asked
// about a key while its minute ends.
func TestTemplateOfWindowThatIsOver(t *testing.T) {
	at := limiter.InstantOf(time.Date(2026, 11, 26, 3, 14, 2, 0, time.UTC))
	for name, want := range map[string]string{
		"api:10.0.7.1:202611260313": "api:{who}:{window:%Y%m%d%H%M}",
		"rl:4711:29927713":          "rl:{who}:{window:index}",
	} {
		prefix, _, _ := strings.Cut(name, ":")
		if got, _, ok := naming.Template(name, prefix+":*:*", 0, at); !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, want)
		}
	}
}

// TestDottedSubjects: subjects with plain dots in them are one group with those that have none, where each is another; words that
// name limiters keep apart what they name.
func TestDottedSubjects(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  map[string]string // a name, and its pattern
	}{
		{[]string{"rl:john.doe", "rl:mary.poppins", "rl:al", "rl:kim", "rl:a.b.c"},
			map[string]string{"rl:john.doe": "rl:*", "rl:kim": "rl:*", "rl:lou.reed": "rl:*"}},
		{[]string{"edge|a.example.com|get", "edge|b.example.net|get", "edge|c.d.example.org|get", "edge|e.example.com|get"},
			map[string]string{"edge|a.example.com|get": "edge|*|get", "edge|new.example.com|get": "edge|*|get"}},
		{[]string{"rl:login.ann", "rl:login.bob", "rl:login.cy", "rl:mail.ann", "rl:mail.bob", "rl:mail.cy"},
			map[string]string{"rl:login.ann": "rl:login.*", "rl:mail.cy": "rl:mail.*"}},
		{[]string{"api.v2.1:ann", "api.v2.1:bob", "api.v2.1:cy"}, map[string]string{"api.v2.1:ann": "api.v2.1:*"}},
	} {
		var p naming.Patterns
		for range 2 {
			for _, name := range c.names {
				p.Learn(name, "string", now)
			}
			for name, want := range c.want {
				if got := p.Of(name, "string", now); got != want {
					t.Errorf("of %v the pattern of %s is %s, want %s", c.names, name, got, want)
				}
			}
		}
	}
}
