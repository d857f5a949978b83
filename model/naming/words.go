package naming

import (
	"iter"
	"strings"
	"time"
)

// Words returns the words of a name in lower case: its parts, taken apart where letters meet digits and
// where a capital begins another word, as in apiRateLimit and RATE_LIMITER500.
func Words(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := range len(name) + 1 {
			ends := i == len(name) || !letter(name[i]) ||
				i > from && upper(name[i]) && (!upper(name[i-1]) || i+1 < len(name) && letter(name[i+1]) && !upper(name[i+1]))
			if !ends {
				continue
			}
			if i > from && letter(name[from]) && !yield(strings.ToLower(name[from:i])) {
				return
			}
			if from = i; i < len(name) && !letter(name[i]) {
				from = i + 1
			}
		}
	}
}

func upper(b byte) bool { return b >= 'A' && b <= 'Z' }

// Sense is what the words of a name speak of.
type Sense struct {
	Limits   string // the word that is one for limiters, "" for none
	Attempts string // a word for what is only counted to be limited: attempts, a quota
	Requests string // a word for what may be limited: requests
	Subject  bool   // a word for who is limited
	Settings bool   // a word for what is kept beside limiters: switches, settings, lists of clients
	Other    bool   // a word for what is counted, expires or holds a time and limits nothing
}

// limits are words for limiters, by people and by libraries such as Django REST framework
// (throttle), Flask-Limiter and SlowAPI (limiter).
var limits = set("rl ratelimit ratelimits ratelimiter ratelimiters ratelimited ratelimiting limiter limiters throttle " +
	"throttled throttler throttling " +
	"hitlimit rlimit rlflx lmtr gcra cooldown bruteforce antiflood antispam tokenbucket leakybucket leak leaky apilimit reqlimit")

// pairs are two words that together are one for limiters.
var pairs = set("rate limit,rate limits,rate limiter,rate limiting,rate limited,api limit,request limit,requests limit,token "+
	"bucket,leaky bucket,"+
	"sliding window,fixed window,rolling window,brute force,login limit,ip limit,user limit,limit req,limit count,limit conn,"+
	"usage limit,send limit,daily limit", ",")

// attempts are words for what is only counted to be limited.
var attempts = set("attempts attempt tries failures lockout quota quotas rpm rps qps tpm concurrency inflight sem")

// requests are words for what may be limited.
var requests = set("requests request req reqs calls rate burst limit limits failed sms otp hits tokens bucket tat")

// subjects are words before those who are limited.
var subjects = set("user users uid userid ip ips addr client clients tenant tenants account accounts customer customers " +
	"member phone email mail device apikey " +
	"key subject who host sender caller consumer merchant partner org")

// settings are the words for what is kept with limiters and is none: switches, settings and lists of
// clients.
var settings = set("enabled disabled enable disable config configs setting settings flag flags feature features allowlist " +
	"whitelist denylist blacklist " +
	"exempt bypass rules policy policies lock version cache")

// others are words for what counts, expires or holds a time and limits nothing.
var others = set("locks locked mutex semaphore cached caches session sessions sess " +
	"views view visits visit visitors page pages stats stat statistics metrics metric analytics online unread inbox stock cart " +
	"job jobs queue queues " +
	"feed leaderboard ranking score scores price prices schedule scheduled cron delayed idempotency idem dedup nonce presence " +
	"seen timer deadline " +
	"expires expiry verify code codes reset activity history events event  audit report reports orders sales counter " +
	"sequence seq idx index " +
	"trending likes followers impressions clicks downloads plays progress heartbeat status state game match wallet profile " +
	"meeting room chat")

func set(words string, by ...string) map[string]bool {
	all := strings.Fields(words)
	if len(by) > 0 {
		all = strings.Split(words, by[0])
	}
	out := make(map[string]bool, len(all))
	for _, w := range all {
		out[w] = true
	}
	return out
}

// SenseOf returns what the words of a name speak of.
func SenseOf(name string) (s Sense) {
	before := ""
	for w := range Words(name) {
		switch {
		case settings[w]:
			return Sense{Settings: true, Other: true}
		case limits[w], len(w) > 5 && !strings.HasPrefix(w, "un") && (strings.HasSuffix(w, "limit") || strings.HasSuffix(w, "limiter")):
			s.Limits = w
		case pairs[before+" "+w]:
			s.Limits = before + " " + w
		case attempts[w]:
			s.Attempts = w
		case requests[w]:
			s.Requests = w
		}
		s.Subject = s.Subject || subjects[w]
		s.Other = s.Other || others[w]
		before = w
	}
	if s.Limits == "" && s.Requests == "limit" && instantEnds(name) {
		s.Limits = "limit"
	}
	return s
}

// periods are words for how long a window is.
var periods = map[string]time.Duration{
	"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute, "minutes": time.Minute,
	"hour": time.Hour, "hourly": time.Hour, "hours": time.Hour, "day": 24 * time.Hour, "daily": 24 * time.Hour,
}

// Period returns the last word of a name that says how long a window is, and that; "" and 0 for none.
func Period(name string) (word string, length time.Duration) {
	for w := range Words(name) {
		if l := periods[w]; l > 0 {
			word, length = w, l
		}
	}
	return word, length
}

// instantEnds says whether a name ends in ten digits or more, as "mail-limit@1795300000".
func instantEnds(name string) bool {
	return len(name)-len(strings.TrimRight(name, "0123456789")) >= 10
}
