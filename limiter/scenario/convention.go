package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
)

// conventionNames are the variants by the names that files use. What is not named is
// the default, except for the rounding: a story that does not mention one speaks of
// plain arithmetic, where no fraction is dropped.
type conventionNames struct {
	Edge      string  `json:"edge"`
	Alignment string  `json:"alignment"`
	Rounding  string  `json:"rounding"`
	Rule      string  `json:"rule"`
	Denied    string  `json:"denied"`
	Refill    string  `json:"refill"`
	BlockMS   float64 `json:"block_ms"`
}

// The names, in the order of their values.
var (
	edges      = []string{"half-open", "closed"}
	alignments = []string{"epoch", "first-request"}
	roundings  = []string{"floor", "exact", "round"}
	rules      = []string{"fits", "below"}
	fates      = []string{"free", "charged"}
	refills    = []string{"greedy", "interval"}
)

func (n conventionNames) parse() (limiter.Convention, error) {
	c := limiter.Convention{Rounding: limiter.RoundExact}
	for _, field := range []struct {
		name, value string
		among       []string
		set         func(uint8)
	}{
		{"edge", n.Edge, edges, func(v uint8) { c.Edge = limiter.Edge(v) }},
		{"alignment", n.Alignment, alignments, func(v uint8) { c.Alignment = limiter.Alignment(v) }},
		{"rounding", n.Rounding, roundings, func(v uint8) { c.Rounding = limiter.Rounding(v) }},
		{"rule", n.Rule, rules, func(v uint8) { c.Rule = limiter.Rule(v) }},
		{"denied", n.Denied, fates, func(v uint8) { c.Denied = limiter.Denied(v) }},
		{"refill", n.Refill, refills, func(v uint8) { c.Refill = limiter.Refill(v) }},
	} {
		if field.value == "" {
			continue
		}
		at := slices.Index(field.among, field.value)
		if at < 0 {
			return c, fmt.Errorf("convention %s is %q: write %s", field.name, field.value, strings.Join(field.among, " or "))
		}
		field.set(uint8(at))
	}
	c.Block = millis(n.BlockMS)
	return c, nil
}

// Describe names what differs from the default, as in "closed, charged"; "" for nothing.
func Describe(c limiter.Convention) string {
	var words []string
	for _, field := range []struct {
		value uint8
		among []string
	}{
		{uint8(c.Edge), edges}, {uint8(c.Alignment), alignments}, {uint8(c.Rounding), roundings},
		{uint8(c.Rule), rules}, {uint8(c.Denied), fates}, {uint8(c.Refill), refills},
	} {
		if field.value > 0 && int(field.value) < len(field.among) {
			words = append(words, field.among[field.value])
		}
	}
	if c.Block > 0 {
		words = append(words, "block "+c.Block.String())
	}
	return strings.Join(words, ", ")
}

// ParseWords is the inverse of Describe.
func ParseWords(text string) (limiter.Convention, error) {
	var c limiter.Convention
	if text == "" {
		return c, nil
	}
	for word := range strings.SplitSeq(text, ", ") {
		known := false
		for _, field := range []struct {
			among []string
			set   func(uint8)
		}{
			{edges, func(v uint8) { c.Edge = limiter.Edge(v) }},
			{alignments, func(v uint8) { c.Alignment = limiter.Alignment(v) }},
			{roundings, func(v uint8) { c.Rounding = limiter.Rounding(v) }},
			{rules, func(v uint8) { c.Rule = limiter.Rule(v) }},
			{fates, func(v uint8) { c.Denied = limiter.Denied(v) }},
			{refills, func(v uint8) { c.Refill = limiter.Refill(v) }},
		} {
			if at := slices.Index(field.among, word); at >= 0 {
				field.set(uint8(at))
				known = true
			}
		}
		if block, found := strings.CutPrefix(word, "block "); found {
			d, err := time.ParseDuration(block)
			c.Block, known = d, err == nil && d >= 0
		}
		if !known {
			return c, fmt.Errorf("convention %q is none: use words as in closed, charged", word)
		}
	}
	return c, nil
}
