package config

import (
	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// Own returns what rules say of keys before their values are read.
func Own(rules []Rule) decode.Rules { return ownRules(rules) }

type ownRules []Rule

// Library returns the library that the rule for a key names, "" where it is for all keys.
func (rules ownRules) Library(key string) string {
	if r := RuleFor(rules, key); r.Narrow() {
		return r.Names()
	}
	return ""
}

// Own returns the limiters whose layout, as the first rule that fits tells it, a key has: more than one
// where several rules with the same rows read it.
func (rules ownRules) Own(key, typ string, now limiter.Instant) (all []*decode.Match, claimed bool) {
	row := ""
	for i := range rules {
		r := &rules[i]
		switch l := r.Layout; {
		case l == nil && !claimed && r.Narrow() && MatchGlob(r.Match, key):
			return nil, false
		case l == nil || claimed && l.Row.String() != row:
		default:
			if m, ok := l.Match(key, typ, now); ok {
				claimed, row = true, l.Row.String()
				if !m.Over && !(m.Member && l.Block.Blank()) {
					all = append(all, rules.match(i, m, key, typ))
				}
			}
		}
	}
	return all, claimed
}

// Named returns the limiter that a key is of, or that has a row of that name; of several rows of one
// subject the one that denies longest, or has the least left.
func (rules ownRules) Named(name, typ string, now limiter.Instant) *decode.Match {
	if typ != "none" {
		return rules.named(name, typ, false, now)
	}
	if m := rules.named(name, "", false, now); m != nil {
		return m
	}
	return rules.named(name, "", true, now)
}

// named is Named; byRow takes the names of rows, too.
func (rules ownRules) named(name, typ string, byRow bool, now limiter.Instant) (first *decode.Match) {
	var several form.Several
	row := ""
	for i := range rules {
		l := rules[i].Layout
		if l == nil && first == nil && rules[i].Narrow() && MatchGlob(rules[i].Match, name) {
			return nil
		}
		if l == nil || first != nil && l.Row.String() != row {
			continue
		}
		m, ok := l.Match(name, typ, now)
		if !ok && byRow {
			m, ok = l.RowOf(name)
		}
		if !ok || !l.Readable(m) {
			continue
		}
		own := l.Limiter(m, typ)
		if several = append(several, own); first == nil {
			first, row = rules.match(i, m, name, typ), l.Row.String()
		}
		if l.Label != "" && own.Name() == name { // it is this row alone
			return rules.match(i, m, name, typ)
		}
	}
	if len(several) > 1 {
		first.Limiter, first.Kind = several, decode.None
	}
	return first
}

// match returns what a rule says of a key.
func (rules ownRules) match(i int, m form.Match, key, typ string) *decode.Match {
	l := rules[i].Layout
	own := l.Limiter(m, typ)
	out := &decode.Match{Name: own.Name(), Rule: i + 1, Glob: l.Row.Glob(), Limiter: own, Settings: own.Settings()}
	if l.IsLog() && !m.Member {
		out.Kind, out.Limiter = decode.Log, nil
		out.Blocks = own.BlockKey()
	}
	return out
}
