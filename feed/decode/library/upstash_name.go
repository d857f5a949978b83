package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// upstashName is what the keys of one limiter have in common: its prefix, with the colon behind it,
// and the identifier.
type upstashName struct{ prefix, id string }

// upstashMostSplits bounds at how many colons a name is split: a prefix of a person's own may hold
// some, and identifiers as well.
const upstashMostSplits = 4

// upstashSplits returns the ways to read what the keys of one limiter have in common, at least one.
func upstashSplits(base string) (all []upstashName) {
	if id, ok := strings.CutPrefix(base, model.UpstashPrefix); ok {
		return []upstashName{{model.UpstashPrefix, id}}
	}
	for i := range len(base) {
		if base[i] == ':' && len(all) < upstashMostSplits {
			all = append(all, upstashName{base[:i+1], base[i+1:]})
		}
	}
	if all == nil {
		return []upstashName{{"", base}}
	}
	return all
}

// upstashChoice tells by the keys beside which of several names is right.
type upstashChoice struct {
	names    []upstashName
	siblings []decode.Fetch // of each name: what analytics record, and the dynamic limit
}

// upstashTraces returns what to look for beside the limiter: keys that no other program writes.
func upstashTraces(names []upstashName, now limiter.Instant) upstashChoice {
	c := upstashChoice{names: names}
	for _, n := range names {
		c.siblings = append(c.siblings, decode.Fetch{Key: upstashEventsKey(n.prefix, now), Type: "zset"},
			decode.Fetch{Key: n.dynamicKey(), Type: "string"})
	}
	return c
}

// pick returns the name with the longest prefix beside which there is one of these keys; else the
// first name, and false.
func (c *upstashChoice) pick(got []decode.Sample) (upstashName, bool) {
	for i := len(c.names) - 1; i >= 0; i-- {
		if len(form.Members(got[2*i:2*i+2])) > 0 {
			return c.names[i], true
		}
	}
	return c.names[0], false
}

// dynamicKey returns the string that holds the limit of all identifiers, where there is one.
func (n *upstashName) dynamicKey() string { return n.prefix + model.UpstashDynamic }
