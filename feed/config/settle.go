package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// Settle leaves out those of the readings that fit keys of one kind which what the keys did contradicts. looks are the
// samples of each key in their order. A count that only falls until it expires is what is left, and one that only rises what was
// used. Of a bucket the amount and its time tell whether it fills or drains: what a few requests take, less what came meanwhile,
// is one rate for all keys. The limit that they show is that of the reading.
func Settle(list []Suggestion, looks [][]decode.Sample) []Suggestion {
	list = slices.DeleteFunc(slices.Clone(list), func(g Suggestion) bool {
		rule, err := g.Entry.Rule()
		if err != nil {
			return false
		}
		l := rule.Layout
		switch l.Read.Kind {
		case "bucket", "level":
			up, down, moved, full := strides(l, looks)
			switch still := up + down; {
			case l.Refill == "":
				if still >= enoughSteps && still > moved {
					return true
				}
			case l.Read.Kind == "level":
				return down > 1 && down > up || full > 2
			default:
				return up > 1 && up > down || moved-full > 2
			}
			fills, _ := steadiness(l, looks, 1, math.Inf(1))
			drains, _ := steadiness(l, looks, -1, math.Inf(1))
			if l.Read.Kind == "level" {
				fills, drains = drains, fills
			}
			return drains >= enoughSteps && drains > 2*fills
		case "value", "field", "json":
			up, down := moves(l, looks)
			return down > 1 && up == 0 && !l.Left || up > 1 && down == 0 && l.Left
		}
		return false
	})
	for i := range list {
		if limit, ok := list[i].limit(looks); ok {
			list[i].Entry.Limit = fmt.Sprintf("%d/%s", limit.Count, shortDuration(limit.Window))
			list[i].Note = "its limit is what the requests of a while show"
		}
	}
	for i := 0; i < len(list); i++ {
		if each := list[i].units(looks); each > 1 {
			g, of := &list[i], list[i]
			g.Unsure = fmt.Sprintf("whether the limit is in requests or in the units of its number, which moves in steps of %d", each)
			g.As, of.Unsure = g.As+", limit in its own units", g.Unsure
			of.As, of.Entry.Weight = fmt.Sprintf("%s, %d a request", of.As, each), strconv.FormatInt(each, 10)
			list, i = slices.Insert(list, i+1, of), i+1
		}
	}
	return list
}

// units returns in which steps the number of a reading moves, where all that it was for the keys are multiples of one and more
// than chance has it; else 0.
func (g *Suggestion) units(looks [][]decode.Sample) (each int64) {
	rule, err := g.Entry.Rule()
	if err != nil || rule.Layout.Read.Kind != "value" && rule.Layout.Read.Kind != "field" && rule.Layout.Read.Kind != "json" {
		return 0
	}
	met := make(map[int64]bool)
	for _, s := range slices.Concat(looks...) {
		if v, ok := rule.Layout.Read.Number(&s); ok && v > 0 && v == math.Trunc(v) && v < limiter.MaxCount {
			met[int64(v)] = true
			for rest := int64(v); rest != 0; {
				each, rest = rest, each%rest
			}
		}
	}
	if math.Pow(float64(each), float64(len(met)-1)) < unitsByChance {
		return 0
	}
	return each
}

// unitsByChance is in how many cases numbers of which each request counts one are all multiples of another by chance.
const unitsByChance = 100

// moves counts how often a number rose and fell within one window: until the end in a field, or within the life of its key.
func moves(l *form.Layout, looks [][]decode.Sample) (up, down int) {
	for _, key := range looks {
		for i := 1; i < len(key); i++ {
			before, ok := l.Read.Number(&key[i-1])
			after, also := l.Read.Number(&key[i])
			another := key[i].TTL > key[i-1].TTL || key[i].TTL <= 0
			if l.Ends.Kind == "field" {
				first, _ := l.Ends.Number(&key[i-1])
				second, _ := l.Ends.Number(&key[i])
				another = first != second
			}
			switch {
			case !ok || !also || another:
			case after > before:
				up++
			case after < before:
				down++
			}
		}
	}
	return up, down
}

// step is what a bucket did between two looks: its amount, and its time.
type step struct{ was, is, begun, ended float64 }

// steps returns what one bucket did from look to look.
func steps(l *form.Layout, key []decode.Sample) (all []step) {
	for i := 1; i < len(key); i++ {
		was, ok := l.Amount.Number(&key[i-1])
		is, also := l.Amount.Number(&key[i])
		begun, timed := l.At.Number(&key[i-1])
		ended, too := l.At.Number(&key[i])
		if ok && also && timed && too {
			all = append(all, step{was, is, begun, ended})
		}
	}
	return all
}

// strides counts how often an amount rose and fell while its time stood, how often it changed with its time, and how often it
// was then more than the few that a window begins with.
func strides(l *form.Layout, looks [][]decode.Sample) (up, down, moved, full int) {
	for _, key := range looks {
		for _, s := range steps(l, key) {
			switch {
			case s.is == s.was:
			case s.ended != s.begun:
				if moved++; s.is > mostRequests {
					full++
				}
			case s.is > s.was:
				up++
			default:
				down++
			}
		}
	}
	return up, down, moved, full
}

// Bounds of what tells the direction of a bucket.
const (
	enoughSteps  = 6
	mostRequests = 3 // between two looks at a key
)

// steadiness returns how many changes of a bucket agree with one rate, to within two in a hundred, and that rate in amounts a unit
// of its times: that at which it fills between requests that take one each, with sign 1, or drains between requests that add one
// each, with sign -1. A denied request takes none. Changes to amounts of full and more are left out.
func steadiness(l *form.Layout, looks [][]decode.Sample, sign, full float64) (most int, steady float64) {
	var changes [][]float64 // the rates that each may be of
	for _, key := range looks {
		for _, s := range steps(l, key) {
			if s.ended <= s.begun || s.is >= full {
				continue
			}
			var of []float64
			for requests := range mostRequests + 1 {
				if rate := (sign*(s.is-s.was) + float64(requests)) / (s.ended - s.begun); rate > 0 {
					of = append(of, rate)
				}
			}
			changes = append(changes, of)
		}
	}
	for _, one := range changes {
		for _, rate := range one {
			agree, sum := 0, 0.0
			for _, other := range changes {
				if i := slices.IndexFunc(other, func(r float64) bool { return math.Abs(r-rate) <= 0.02*rate }); i >= 0 {
					agree, sum = agree+1, sum+other[i]
				}
			}
			if agree > most {
				most, steady = agree, sum/float64(agree)
			}
		}
	}
	if 2*most < len(changes) {
		return 0, 0
	}
	return most, steady
}

// limit returns the limit of buckets that a reading fits, as what their keys did tells it: they fill at one steady rate, and a
// request that comes later than a bucket is full leaves all but one. ok is false where that was not seen of two keys, or a bucket
// holds more.
func (g *Suggestion) limit(looks [][]decode.Sample) (limit limiter.Limit, ok bool) {
	rule, err := g.Entry.Rule()
	if err != nil || rule.Layout.Read.Kind != "bucket" || rule.Layout.Refill != "" {
		return limit, false
	}
	l, most := rule.Layout, 0.0
	for _, key := range looks {
		for i := range key {
			is, _ := l.Amount.Number(&key[i])
			most = max(most, is)
		}
	}
	agree, rate := steadiness(l, looks, 1, most)
	full := 0
	for _, key := range looks {
		stood := false
		if slices.ContainsFunc(steps(l, key), func(s step) bool { // one request after a while
			after := stood
			stood = s.begun == s.ended
			return after && s.is == most && s.was+rate*(s.ended-s.begun) > most+1
		}) {
			full++
		}
	}
	count := int64(most) + 1
	if agree < enoughSteps || full < 2 || most != math.Trunc(most) || count > limiter.MaxCount {
		return limit, false
	}
	window := decode.Tidy(time.Duration(float64(count) / rate * float64(l.Unit)))
	return limiter.Limit{Count: count, Window: window}, window >= limiter.MinWindow && window <= limiter.MaxWindow
}
