package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// Settle leaves out those of the readings that fit keys of one kind which what the keys did contradicts. looks are the
// samples of each key in their order. A count that only falls until it expires is what is left, and one that only rises what was
// used. Of a bucket the amount and its time tell whether it fills or drains: what a few requests take, less what came meanwhile,
// is one rate for all keys. The limit that they show is that of the reading.
func Settle(list []Suggestion, looks [][]decode.Sample) (settled []Suggestion) {
	for _, g := range list {
		rule, err := g.Entry.Rule()
		if err != nil {
			settled = append(settled, g)
			continue
		}
		l := rule.Layout
		if contradicted(l, looks) {
			continue
		}
		if limit, ok := limitOf(l, looks); ok {
			g.Entry.Limit = fmt.Sprintf("%d/%s", limit.Count, shortDuration(limit.Window))
			g.Note = "its limit is what the requests of a while show"
		}
		if each := unitsOf(l, looks); each > 1 {
			g.Unsure = fmt.Sprintf("whether the limit is in requests or in the units of its number, which moves in steps of %d", each)
			own := g
			own.As, own.Entry.Weight = g.As+", limit in its own units", "1"
			settled = append(settled, own)
			g.As, g.Entry.Weight = fmt.Sprintf("%s, %d a request", g.As, each), strconv.FormatInt(each, 10)
		}
		settled = append(settled, g)
	}
	return settled
}

// contradicted reports whether keys did what they would not, were they laid out so.
func contradicted(l *form.Layout, looks [][]decode.Sample) bool {
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
}

// unitsOf returns in which steps the number of keys moves, where all that it was are multiples of one and more than chance has
// it; else 0.
func unitsOf(l *form.Layout, looks [][]decode.Sample) int64 {
	if l.Read.Kind != "value" && l.Read.Kind != "field" && l.Read.Kind != "json" {
		return 0
	}
	var u Units
	for _, s := range slices.Concat(looks...) {
		if v, ok := l.Read.Number(&s); ok && v == math.Trunc(v) && v < limiter.MaxCount {
			u.Count(int64(v))
		}
	}
	if u.Chance() < 100 { // so often they are multiples by chance, where each request counts one
		return 0
	}
	return u.Step
}

// Units are the numbers that counters of one kind have held, which tell how much one request counts. The zero value has none.
type Units struct {
	Step        int64 // the greatest that divides all
	Least, Most int64
	met         map[int64]bool
}

// Count takes a number.
func (u *Units) Count(n int64) {
	const enough = 64
	if n <= 0 {
		return
	}
	for rest := n; rest != 0; {
		u.Step, rest = rest, u.Step%rest
	}
	u.Least, u.Most = min(cmp.Or(u.Least, n), n), max(u.Most, n)
	if u.Step > 1 && len(u.met) < enough {
		collect.Put(&u.met, n, true)
	}
}

// Chance returns in one of how many cases numbers of which each request counts one are all multiples of such a step.
func (u *Units) Chance() float64 { return math.Pow(float64(u.Step), float64(len(u.met)-1)) }

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

// limitOf returns the limit of buckets of tokens, as what their keys did tells it: they fill at one steady rate, and a
// request that comes later than a bucket is full leaves all but one. ok is false where that was not seen of two keys, or a bucket
// holds more.
func limitOf(l *form.Layout, looks [][]decode.Sample) (limit limiter.Limit, ok bool) {
	if l.Read.Kind != "bucket" || l.Refill != "" {
		return limit, false
	}
	most := 0.0
	for _, key := range slices.Concat(looks...) {
		is, _ := l.Amount.Number(&key)
		most = max(most, is)
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

// Words of keys that stand beside a counter: of those that deny while they are there, and of those that hold its end; and beside the
// tokens of a bucket of those that hold when these were there.
var (
	timeWords  = strings.Fields("ts time timestamp at last lastRefill last_refill refill refilled updated last_update")
	blockWords = naming.List("blocks")
	endWords   = strings.Fields("window reset resets reset_at resetAt expires expiry exp end ends until ts time timestamp")
)

// nameWord finds the words of a name that a program chose, and {who}.
var nameWord = collect.Regexp(`\{who\}|[A-Za-z_]*[A-Za-z]`)

// neighbours returns names as a rule writes them, in which a word stands in the place of one of name, or behind or before one, or
// behind {who}.
func neighbours(name string, words []string) (all []string) {
	for _, at := range nameWord().FindAllStringIndex(name, -1) {
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
// not, or which took the place of a counter; beside tokens it is the key with their time. keys is the latest look at some of them,
// base their name as a rule writes it, bans are names of keys that speak of them, and ask reads others.
func Beside(
	list []Suggestion, base Entry, keys []decode.Sample, bans []string, now limiter.Instant,
	ask func(names []string) ([]decode.Sample, error),
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
	block := func(name string) []Suggestion {
		for i := range list {
			if e := &list[i].Entry; e.Read == "value" || e.Read == "left" {
				e.Block = name
			}
		}
		return list
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
			return block(name), nil
		}
	}
	for _, name := range names {
		before, after, _ := strings.Cut(name, "{who}")
		var both []string // bans, each behind the counter of its subject
		for _, ban := range bans {
			who, begins := strings.CutPrefix(ban, before)
			if who, ends := strings.CutSuffix(who, after); begins && ends && who != "" {
				both = append(both, strings.Replace(base.Name, "{who}", who, 1), ban)
			}
		}
		if lasts || tokens || both == nil {
			continue
		}
		if samples, err = ask(both); err != nil {
			return nil, err
		}
		in, alone := 0, 0
		for i := 0; i < len(samples); i += 2 {
			if ban := samples[i+1]; ban.Exists() && samples[i].Exists() || ban.Exists() && stays(ban) {
				in++
			} else if ban.Exists() {
				alone++
			}
		}
		if in == 0 && (alone > 1 || alone == 1 && naming.SenseOf(base.Name) != (naming.Sense{})) {
			return block(name), nil
		}
	}
	return list, nil
}

// stays reports whether a key is none that denies by being there until it expires.
func stays(s decode.Sample) bool { return s.Type != "string" || s.TTL <= 0 }

// denies reports whether keys that expire are there beside counters that have counted most, and beside no others.
func denies(counters, beside []decode.Sample) bool {
	least, blocked, below, above := 0.0, 0, 0, 0
	for i := range counters {
		n, ok := decode.Number(counters[i].Text)
		switch there := beside[i].Exists(); {
		case there && stays(beside[i]):
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
