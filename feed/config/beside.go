package config

import (
	"regexp"
	"slices"
	"strings"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// Words of keys that stand beside a counter: of those that deny while they are there, and of those that hold its end; and beside the
// tokens of a bucket of those that hold when these were there.
var (
	timeWords  = strings.Fields("ts time timestamp at last lastRefill last_refill refill refilled updated last_update")
	blockWords = strings.Fields("lockout lock locked block blocked ban banned jail jailed penalty cooldown deny denied suspended")
	endWords   = strings.Fields("window reset resets reset_at resetAt expires expiry exp end ends until ts time timestamp")
)

// nameWord finds the words of a name that a program chose, and {who}.
var nameWord = regexp.MustCompile(`\{who\}|[A-Za-z_]*[A-Za-z]`)

// neighbours returns names as a rule writes them, in which a word stands in the place of one of name, or behind or before one, or
// behind {who}.
func neighbours(name string, words []string) (all []string) {
	for _, at := range nameWord.FindAllStringIndex(name, -1) {
		for _, w := range words {
			if all = append(all, name[:at[1]]+":"+w+name[at[1]:]); name[at[0]] != '{' {
				all = append(all, name[:at[0]]+w+name[at[1]:], name[:at[0]]+w+":"+name[at[0]:])
			}
		}
	}
	return all
}

// Siblings returns the keys that would deny to the subject of a counter while they are there, by their names, as a block or as the
// window before does, and those that would hold when its window begins or ends. pattern is the glob of the counters of its kind.
func Siblings(counter, pattern string, now limiter.Instant) (blocks, times []string) {
	base, windowed, ok := Named(counter, pattern, 0, now)
	before, after, _ := strings.Cut(base.Name, "{who}")
	who := strings.TrimSuffix(strings.TrimPrefix(counter, before), after)
	if !ok || windowed || before+who+after != counter {
		return nil, nil
	}
	of := func(words []string) []string {
		return collect.Map(neighbours(base.Name, words), func(name string) string { return strings.Replace(name, "{who}", who, 1) })
	}
	return of(append(slices.Clone(blockWords), "until", "prev", "previous")), of(endWords)
}

// Beside completes the readings of counters by what stands beside their keys: of one without an expiry the key that says when its
// window ends, and of another the key that denies while it is there, which those that have counted most have and the others have
// not; beside tokens it is the key with their time. keys is the latest look at some of them, base their name as a rule writes it,
// and ask reads others.
func Beside(
	list []Suggestion, base Entry, keys []decode.Sample, now limiter.Instant, ask func(names []string) ([]decode.Sample, error),
) ([]Suggestion, error) {
	before, after, ok := strings.Cut(base.Name, "{who}")
	if !ok || strings.Contains(base.Name, "{window") || len(keys) == 0 || keys[0].Type != "string" {
		return list, nil
	}
	words, lasts, tokens := blockWords, keys[0].TTL <= 0, naming.Speaks("rest", base.Name)
	if lasts {
		words = endWords
	}
	if tokens {
		words = slices.Concat(timeWords, words)
	}
	names := neighbours(base.Name, words)
	var asked []string
	for _, name := range names {
		for i := range keys {
			who := strings.TrimSuffix(strings.TrimPrefix(keys[i].Key, before), after)
			asked = append(asked, strings.Replace(name, "{who}", who, 1))
		}
	}
	samples, err := ask(asked)
	if err != nil {
		return nil, err
	}
	for n, name := range names {
		its := samples[n*len(keys) : (n+1)*len(keys)]
		g := suggester{now: now, base: base, all: list}
		there := slices.DeleteFunc(slices.Clone(its), func(s decode.Sample) bool { return !s.Exists() })
		times := collect.Map(there, func(s decode.Sample) float64 { v, _ := decode.Number(s.Text); return v })
		switch unit, last := timesIn(times, now); {
		case tokens && unit != 0 && last <= now:
			g.add("a bucket of tokens", "", func(e *Entry) { e.Read, e.Amount, e.At, e.Unit = "bucket", "value", "key "+name, units[unit] })
			return append(g.all[len(list):], list...), nil
		case lasts && last > now:
			g.counts("value", "key "+name+" "+units[unit])
			return g.all, nil
		case !lasts && denies(keys, its):
			for i := range list {
				if e := &list[i].Entry; e.Read == "value" || e.Read == "left" {
					e.Block = name
				}
			}
			return list, nil
		}
	}
	return list, nil
}

// denies reports whether keys that expire are there beside counters that have counted most, and beside no others.
func denies(counters, beside []decode.Sample) bool {
	least, blocked, below, above := 0.0, 0, 0, 0
	for i := range counters {
		n, ok := decode.Number(counters[i].Text)
		switch there := beside[i].Exists(); {
		case there && (beside[i].Type != "string" || beside[i].TTL <= 0):
			return false
		case there && ok && counters[i].Exists():
			if blocked++; least == 0 || n < least {
				least = n
			}
		}
	}
	for i := range counters {
		if n, ok := decode.Number(counters[i].Text); ok && counters[i].Exists() && !beside[i].Exists() {
			if n < least {
				below++
			} else {
				above++ // its block is over
			}
		}
	}
	return blocked > 0 && least >= 2 && below >= 2 && above <= blocked
}
