package discover

import (
	"slices"
	"strings"
)

// names learns from what the keys of one form of name turned out to be, so that a server
// with a million sessions is not asked about every one of them. Keys that only differ in
// their last part, or in parts with digits, are of one form.
type names struct {
	forms map[string]*form
}

// form is what is known of the keys of one form of name.
type form struct {
	looked  int      // at how many keys
	passed  int      // how many came that were not, or only as one of few more
	limiter bool     // one of them was a limiter
	likely  bool     // one of them was likely to be one
	types   []string // of those that were limiters
}

const (
	// enough is how many keys of one form must have been looked at in vain before only one
	// of few more is. What is passed over may be looked at in the next pass.
	enough  = 256
	fewMore = 64
	// mostForms bounds how many forms are told apart; keys of others are all looked at.
	mostForms = 4096
)

const separators = ":./|_-{}"

// formOf returns the form of a key's name: "app:session:7f3a:x" is "app:session:#:*".
func formOf(key string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(key, separators)
		if i < 0 {
			b.WriteByte('*')
			return b.String()
		}
		if part := key[:i]; strings.ContainsAny(part, "0123456789") {
			b.WriteByte('#')
		} else {
			b.WriteString(part)
		}
		b.WriteByte(key[i])
		key = key[i+1:]
	}
}

// worth says whether a key is worth a look, and whether others of its form were likely limiters.
func (n *names) worth(key string) (look, likely bool) {
	f := n.forms[formOf(key)]
	if f == nil || f.limiter || f.looked < enough {
		return true, f != nil && f.likely
	}
	f.passed++
	return f.passed%fewMore == 0, f.likely
}

// hasLimiter says that one of the keys of the form of this one was a limiter of its type: beside the
// counter bull:mail:limiter is bull:mail:completed, a sorted set of jobs. A form without a word, as that
// of all names of one part, says nothing.
func (n *names) hasLimiter(key, typ string) bool {
	name := formOf(key)
	f := n.forms[name]
	return f != nil && slices.Contains(f.types, typ) && strings.Trim(name, separators+"#*") != ""
}

// limiterWords are what people call limiters in the names of their keys, and what libraries do:
// Django REST framework's throttles, limits of Flask-Limiter and SlowAPI.
var limiterWords = map[string]bool{
	"rl": true, "ratelimit": true, "ratelimits": true, "ratelimiter": true, "limiter": true,
	"throttle": true, "throttled": true,
}

// settingWords are what stands in the names of what is kept beside limiters: switches, settings and
// lists of clients.
var settingWords = map[string]bool{
	"enabled": true, "disabled": true, "enable": true, "disable": true, "config": true, "configs": true, "setting": true, "settings": true,
	"flag": true, "flags": true, "feature": true, "features": true, "allowlist": true, "whitelist": true, "denylist": true, "blacklist": true,
	"exempt": true, "bypass": true, "rules": true, "policy": true, "policies": true, "lock": true, "version": true, "cache": true,
}

// limiterName says that a name has a part that people give to limiters: "rl:login", "api:rate_limit:7",
// or ends with an instant after the word limit: "mail-limit@1795300000". One that has a word for
// settings does not.
func limiterName(key string) bool {
	before := ""
	yes, limit, last := false, false, ""
	for part := range strings.FieldsFuncSeq(strings.ToLower(key), func(r rune) bool { return strings.ContainsRune(":./|_-{}@#", r) }) {
		if limiterWords[part] || before == "rate" && (part == "limit" || part == "limits" || part == "limiter") {
			yes = true
		}
		if settingWords[part] {
			return false
		}
		limit = limit || part == "limit" || part == "limits"
		before, last = part, part
	}
	return yes || limit && len(last) >= 10 && strings.Trim(last, "0123456789") == ""
}

// learn takes note of what a key of a type turned out to be: a limiter, or likely to be one.
func (n *names) learn(key, typ string, limiter, likely bool) {
	name := formOf(key)
	f := n.forms[name]
	if f == nil {
		if len(n.forms) >= mostForms {
			return
		}
		if n.forms == nil {
			n.forms = make(map[string]*form)
		}
		f = &form{}
		n.forms[name] = f
	}
	f.looked++
	f.limiter, f.likely = f.limiter || limiter, f.likely || likely
	if limiter && !slices.Contains(f.types, typ) {
		f.types = append(f.types, typ)
	}
}
