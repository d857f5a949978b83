package discover

import (
	"slices"
	"strings"
)

// names learns which forms of names limiters have, so that the server is not asked about each
// of a million sessions. Keys that differ only in their last part, or in parts with digits,
// have the same form.
type names struct {
	forms map[string]*form
}

// form holds what is known about the keys of one form of name.
type form struct {
	looked  int      // keys that were examined
	passed  int      // keys that came after enough others had been examined in vain
	limiter bool     // one of the keys was a limiter
	likely  int      // keys that were likely to be limiters
	types   []string // Redis types of the keys that were limiters
}

const (
	// enough is how many keys of a form are examined without finding a limiter before only one
	// in fewMore is. The others may be examined in a later pass.
	enough  = 256
	fewMore = 64
	// likelyAmong is the number of keys of a form of which one has to be likely for all of them to be
	// examined.
	likelyAmong = 16
	// mostForms bounds how many forms are remembered; all keys of further forms are examined.
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

// worth reports whether a key is worth examining, and whether a key of its form was likely to
// be a limiter.
func (n *names) worth(key string) (look, likely bool) {
	f := n.forms[formOf(key)]
	if f == nil || f.limiter || f.looked < enough || f.likely*likelyAmong >= f.looked {
		return true, f != nil && f.likely > 0
	}
	f.passed++
	return f.passed%fewMore == 0, f.likely > 0
}

// hasLimiter reports whether a key of the same form and type was a limiter. The type matters:
// the counter bull:mail:limiter has the same form as bull:mail:completed, a sorted set of jobs.
// It is false for forms without any word, such as that of all names of one part.
func (n *names) hasLimiter(key, typ string) bool {
	name := formOf(key)
	f := n.forms[name]
	return f != nil && slices.Contains(f.types, typ) && strings.Trim(name, separators+"#*") != ""
}

// learn notes whether a key of a type turned out to be a limiter, or likely to be one.
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
	f.limiter = f.limiter || limiter
	if likely {
		f.likely++
	}
	if limiter && !slices.Contains(f.types, typ) {
		f.types = append(f.types, typ)
	}
}
