package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// Suggestion is a reading that fits a key, as a rule with name.
type Suggestion struct {
	Entry  Entry  // without a limit, unless Settle tells it
	As     string // what the key is then
	Note   string // what the rule does not settle; "" nothing
	Unsure string // what tells it from those beside it in a list that have the same words, and fit as well; "" none does
}

// Suggest returns the readings that fit what a key holds, the likeliest first; nil where none does. pattern is the glob of
// the keys of its kind. Nothing of what the key holds is in them but the names of fields that a rule reads.
func Suggest(s *decode.Sample, pattern string, now limiter.Instant) []Suggestion {
	base, windowed, ok := Named(s.Key, pattern, 0, now)
	if !ok {
		return nil
	}
	w, _ := naming.WindowOf(s.Key, now)
	g := suggester{now: now, base: base, windowed: windowed, expires: s.Expiry(now)}
	g.rolls = windowed && (s.TTL <= 0 || w.Length == 0 || g.expires.Add(2*time.Second) >= w.End.Add(w.Length))
	switch s.Type {
	case "string":
		g.text(cmp.Or(decode.Serialized(s.Text), s.Text))
	case "hash":
		g.hash(s)
	case "zset":
		scores := collect.Map(slices.Concat(s.First, s.Last), func(e decode.Element) float64 { return e.Score })
		g.log("zset", scores)
	case "list":
		texts := collect.Map(slices.Concat(s.First, s.Last), func(e decode.Element) string { return e.Member })
		g.log("list", g.times(texts))
		g.length()
	case "set":
		g.length()
	}
	return g.all
}

// Named returns the name of a key as a rule writes it, with the length of a window that is counted, and the zone of a
// calendar, AnyZone where a person has to say it; see naming.Template. windowed reports whether it holds a window of now;
// length, where it is not 0, is how long one is that comes round.
func Named(key, pattern string, length time.Duration, now limiter.Instant) (e Entry, windowed, ok bool) {
	name, w, ok := naming.Template(key, pattern, length, now)
	e = Entry{Name: name}
	if strings.HasPrefix(w.Form, "index") || strings.HasPrefix(w.Form, "ticks") {
		e.Window = shortDuration(w.Length)
	}
	switch {
	case w.Zone > 0 && w.Length == 0: // an hour of one of several zones
		e.Zone = AnyZone
		e.zones = append(e.zones, collect.Map(naming.Zones(w.Zone, now.Time()), zoneText)...)
	case w.Zone != 0:
		e.Zone = zoneText(w.Zone)
	}
	return e, w.To > 0, ok
}

// AnyZone stands for the zone of a calendar that a person has to say.
const AnyZone = "<ZONE>"

func zoneText(east time.Duration) string {
	return time.Unix(0, 0).In(time.FixedZone("", int(east/time.Second))).Format("-07:00")
}

// Zoned returns readings with each zone that they may be of in the place of AnyZone, for a person to choose.
func Zoned(list []Suggestion) (all []Suggestion) {
	for _, g := range list {
		for _, zone := range g.Entry.zones {
			of := g
			of.Entry.Zone, of.As = zone, g.As+", in the zone "+zone
			all = append(all, of)
		}
		if g.Entry.zones == nil {
			all = append(all, g)
		}
	}
	return all
}

// suggester collects readings of one key.
type suggester struct {
	now             limiter.Instant
	base            Entry
	windowed, rolls bool            // its name holds a window of now; it is there for as long as it may count as the one before
	expires         limiter.Instant // 0 never
	all             []Suggestion
}

func (g *suggester) add(as, note string, say func(e *Entry)) *Suggestion {
	g.all = append(g.all, Suggestion{Entry: g.base, As: as, Note: note})
	last := &g.all[len(g.all)-1]
	say(&last.Entry)
	return last
}

// What a key is by some of the readings.
const (
	AsLeft    = "what is left"
	AsPresent = "it denies while it is there"
)

// boundNote says what an expiry tells of a window.
const boundNote = "counts until it expires: of its window that is no more than an upper bound"

// counts suggests what reads one number: what was used, and what is left.
func (g *suggester) counts(read, ends string) {
	note, from := "", len(g.all)
	switch {
	case !g.windowed && g.expires == 0 && ends == "":
		return // it would count for ever
	case !g.windowed && ends == "":
		note = boundNote
	}
	g.add("what was used", note, func(e *Entry) { e.Read, e.Ends = read, ends })
	if g.windowed && read == "value" {
		g.add("what was used, weighted with the window before", note, func(e *Entry) { e.Read, e.Weigh = read, "floor" })
	}
	g.add(AsLeft, note, func(e *Entry) { e.Read, e.Ends = strings.TrimSpace("left "+strings.TrimPrefix(read, "value")), ends })
	_, word, _ := strings.Cut(read, " ")
	first, unsure := g.all[from:], ""
	switch {
	case naming.Speaks("rest", g.base.Name+" "+read): // it is the likeliest
		slices.Reverse(first)
	case read == "value" && g.rolls:
		unsure = "whether the window before counts, too, since its counter is kept for as long as that takes"
	case word != "" && !naming.Holds(naming.Counts, word):
		unsure = "whether the number is what was used or what is left, which it shows as it moves"
	}
	first[0].Unsure, first[1].Unsure = unsure, unsure
}

func (g *suggester) length() {
	if g.expires != 0 || g.windowed {
		g.add("as many as it has elements", boundNote, func(e *Entry) { e.Read = "length" })
	}
}

// present suggests a key that denies by being there, whatever its one line holds.
func (g *suggester) present(text string) {
	sense := naming.SenseOf(g.base.Name)
	limits := sense.Limits != "" || sense.Attempts != "" || sense.Requests != ""
	if g.expires != 0 && !strings.Contains(text, "\n") && !sense.Other && limits {
		g.add(AsPresent, "", func(e *Entry) { e.Read = "present" })
	}
}

// log suggests a log, where all numbers are times in one unit.
func (g *suggester) log(read string, times []float64) {
	unit, last := timesIn(times, g.now)
	ahead, unsure := last > g.now.Add(2*time.Second), ""
	if !ahead && naming.Speaks("leases", g.base.Name) {
		unsure = "whether its times are those of requests or those at which leases end: such ones are ahead when they are written"
	}
	if ahead || unit != 0 && unsure != "" {
		say := func(e *Entry) { e.Read, e.Unit, e.Stamp = read, units[unit], "end" }
		g.add("leases, by the times at which they end", "", say).Unsure = unsure
	}
	if unit != 0 && !ahead {
		g.add("a log of the times of requests", "", func(e *Entry) { e.Read, e.Unit = read, units[unit] }).Unsure = unsure
	}
}

// timesIn returns the unit that makes all numbers times, and the last of these; 0 where none does.
func timesIn(all []float64, now limiter.Instant) (unit time.Duration, last limiter.Instant) {
	for i, v := range all {
		is := decode.UnitOf(v, now)
		if is == 0 || i > 0 && is != unit {
			return 0, 0
		}
		unit, last = is, max(last, decode.InstantIn(v, is))
	}
	return unit, last
}

// units are the words of a rule for units of times.
var units = map[time.Duration]string{time.Second: "s", time.Millisecond: "ms", time.Microsecond: "us", time.Nanosecond: "ns"}

// text suggests readings of a string: a number, or JSON.
func (g *suggester) text(text string) {
	v, isNumber := decode.Number(strings.TrimSpace(text))
	at, isTime := decode.TimeText(text)
	unit := decode.UnitOf(v, g.now)
	if unit != 0 {
		at, isTime = decode.InstantIn(v, unit), true
	}
	switch {
	case isTime: // another may as well be the time from which the next request is admitted
		ends := g.expires != 0
		if fullWord().MatchString(g.base.Name) && (ends || g.windowed) || ends && at.Sub(g.expires).Abs() <= 2*time.Second {
			g.add("a theoretical arrival time (TAT)", "", func(e *Entry) { e.Read, e.Unit = "tat", units[unit] })
		}
		return
	case isNumber:
		if v == math.Trunc(v) && v >= 0 {
			g.counts("value", "")
		}
		if v == 0 || v == 1 {
			g.present(text)
		}
		return
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		g.present(text)
		return
	}
	switch v := value.(type) {
	case []any:
		g.jsonLog("json", v)
	case map[string]any:
		fields, lists := make(map[string]float64), make(map[string][]any)
		flatten(v, "", fields, lists)
		g.blocks(fields)
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			if fieldName().MatchString(name) {
				g.jsonLog("json "+name, lists[name])
			}
		}
		if unit := decode.UnitOf(fields["tat"], g.now); unit != 0 {
			g.add("a theoretical arrival time (TAT)", "", func(e *Entry) { e.Read, e.At, e.Unit = "tat", "json tat", units[unit] })
			return
		}
		g.fields(fields, "json ")
	}
}

// flatten collects the numbers of an object, and dates as seconds, and its lists, by their paths.
func flatten(object map[string]any, before string, fields map[string]float64, lists map[string][]any) {
	for name, of := range object {
		switch of := of.(type) {
		case float64:
			fields[before+name] = of
		case string:
			if v, ok := decode.NumberOrTime(of); ok {
				fields[before+name] = v
			}
		case []any:
			lists[before+name] = of
		case map[string]any:
			flatten(of, before+name+".", fields, lists)
		}
	}
}

func (g *suggester) jsonLog(read string, list []any) {
	g.log(read, g.times(collect.Map(list, func(of any) string {
		text, _ := json.Marshal(of)
		if s, ok := of.(string); ok {
			return s
		}
		return string(text)
	})))
}

// times returns the times that texts say, as numbers; what is none is 0. Of objects in JSON it is the first field that holds a time,
// which is then where the readings have it.
func (g *suggester) times(texts []string) (all []float64) {
	g.base.At = ""
	for _, text := range texts {
		v, _ := decode.NumberOrTime(text)
		var object map[string]any
		if json.Unmarshal([]byte(text), &object) == nil {
			fields := make(map[string]float64)
			flatten(object, "", fields, make(map[string][]any))
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				if decode.UnitOf(fields[name], g.now) != 0 && (g.base.At == "" || g.base.At == "json "+name) {
					v, g.base.At = fields[name], "json "+name
				} else if fields[name] > 1 {
					return nil // it may be what the entry costs
				}
			}
		}
		all = append(all, v)
	}
	return all
}

func (g *suggester) hash(s *decode.Sample) {
	fields := make(map[string]float64)
	for name, text := range s.Fields {
		if v, ok := decode.NumberOrTime(text); ok {
			fields[name] = v
		}
	}
	g.blocks(fields)
	if slice, unit := g.slices(s); slice > 0 {
		g.add("a counter for every "+shortDuration(slice), "", func(e *Entry) {
			e.Read, e.Slice, e.Unit = "fields", shortDuration(slice), units[unit]
		})
		return
	}
	for name, v := range fields {
		unit := decode.UnitOf(v, g.now)
		if unit != 0 && s.Whole &&
			(name == "tat" || len(s.Fields) == 1 && arrivalWord().MatchString(name) && decode.InstantIn(v, unit) > g.now) {
			g.add("a theoretical arrival time (TAT)", "", func(e *Entry) { e.Read, e.At, e.Unit = "tat", name, units[unit] })
			return
		}
	}
	all := g.times(slices.Collect(maps.Values(s.Fields)))
	if len(all) > 0 && !slices.ContainsFunc(all, func(v float64) bool { return decode.UnitOf(v, g.now) == 0 }) {
		g.log("hash", all)
		return
	}
	g.base.At = ""
	if s.Whole {
		g.fields(fields, "field ")
	}
}

// slices returns how long the slices are whose counters the fields of a hash are, each named after its number since
// 1970, or after its start in a unit; 0 where they are none.
func (g *suggester) slices(s *decode.Sample) (slice, unit time.Duration) {
	var starts []int64
	for name, text := range s.Fields {
		n, err := strconv.ParseInt(name, 10, 64)
		_, dated := form.DateOf(name, g.now)
		if _, counts := decode.Number(text); err != nil && !dated || !counts || !s.Whole {
			return 0, 0
		}
		if w, _ := naming.WindowOf(name, g.now); dated && w.Length > 0 {
			slice = w.Length
		}
		starts = append(starts, n)
	}
	if len(starts) == 0 || slice > 0 {
		return slice, 0
	}
	slices.Sort(starts)
	newest := starts[len(starts)-1]
	if unit = decode.UnitOf(float64(newest), g.now); unit == 0 {
		return naming.Numbered(newest, g.now), 0
	}
	for i := range len(starts) - 1 { // the least distance between two
		if apart := time.Duration(starts[i+1]-starts[i]) * unit; slice == 0 || apart < slice {
			slice = apart
		}
	}
	return slice, unit
}

// mostSuggested is how many fields a hash or an object may have whose fields are taken one by one.
const mostSuggested = 8

// endWord finds the name of a time at which something ends.
var endWord = collect.Regexp(`(?i)reset|expir|until|ends?$`)

// Names of the time at which a bucket is full, and of that at which the next request may come, too.
var fullWord, arrivalWord = collect.Regexp(`(?i)(^|[^a-z])(tat|full|refill|arrival)`),
	collect.Regexp(`(?i)^(tat|full|next|arrival|free|ready|allow)`)

// blockField finds the name of a time until which everything is denied.
var blockField = collect.Regexp(`(?i)(block|lock|ban|jail|mute|suspend)(ed|ned|ded)?_?(until|till|expir|ends?$)`)

// blocks takes the field with the time until which everything is denied for that of all readings.
func (g *suggester) blocks(of map[string]float64) {
	for name, v := range of {
		if blockField().MatchString(name) {
			g.base.Block = strings.TrimSpace("field " + name + " " + units[decode.UnitOf(v, g.now)])
		}
	}
}

// fieldName finds a name that a program gives to a field, and no id.
var fieldName = collect.Regexp(`^[A-Za-z_][A-Za-z_.-]{0,30}\d?$`)

// fields suggests readings of the numbers of a hash or an object: an amount and when that was true, or a number
// and when it ends. before is the word that stands before a field.
func (g *suggester) fields(of map[string]float64, before string) {
	if len(of) > mostSuggested {
		return
	}
	amounts, at := []string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		switch {
		case !fieldName().MatchString(name) || blockField().MatchString(name) || len(of) > 2 && termWord().MatchString(name):
		case decode.UnitOf(of[name], g.now) != 0:
			at = append(at, name)
		default:
			amounts = append(amounts, name)
		}
	}
	for i, index := range amounts {
		if length := naming.Numbered(int64(of[index]), g.now); length > 0 && len(amounts) == 2 && len(at) == 0 && before == "field " {
			g.base.Window = shortDuration(length)
			g.counts(before+amounts[1-i], "field "+index+" index")
			return
		}
	}
	if slices.ContainsFunc(amounts, func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "prev") }) {
		return // the window before counts, too, and no rule says how
	}
	for _, t := range at {
		unit := decode.UnitOf(of[t], g.now)
		ahead := decode.InstantIn(of[t], unit) > g.now || endWord().MatchString(t)
		for _, n := range amounts {
			word, _, _ := strings.Cut(n, "_")
			alike := func(t string) bool { return strings.HasPrefix(t, word+"_") }
			if !alike(t) && slices.ContainsFunc(at, alike) {
				continue // it ends at another time
			}
			if ahead {
				if of[n] == math.Trunc(of[n]) {
					g.counts(before+n, fmt.Sprintf("field %s %s", t, units[unit]))
				}
				continue
			}
			g.filled(before+n, before+t, units[unit])
		}
	}
	for _, n := range amounts {
		if len(at) == 0 && of[n] == math.Trunc(of[n]) {
			g.counts(before+n, "")
		}
	}
}

// termWord finds the name of what limits, which is no count.
var termWord = collect.Regexp(`(?i)^(max|limit|capacity|period|window|burst|rate)(_?(ms|s|sec|seconds|count|size|requests))?$`)

// levelWord finds the name of what a bucket that leaks holds.
var levelWord = collect.Regexp(`(?i)level|water|volume|backlog|excess`)

// filled suggests readings of an amount and of a time of the past, the likeliest by the names of their fields first.
func (g *suggester) filled(amount, at, unit string) {
	readings := []struct{ as, read, refill string }{
		{"a bucket of tokens", "bucket", ""}, {"a bucket that leaks", "level", ""},
		{"a bucket that is filled at once", "bucket", "whole window"}, {"a count, and when its window began", "level", "whole window"},
	}
	_, word, _ := strings.Cut(amount, " ")
	_, began, _ := strings.Cut(at, " ")
	if levelWord().MatchString(word) {
		readings[0], readings[1] = readings[1], readings[0]
	} else if begins := naming.Holds(naming.Begins, began); naming.Holds(naming.Counts, word) ||
		begins && !naming.Holds(naming.Tokens, word) {
		slices.Reverse(readings)
	} else if begins {
		readings[0], readings[2] = readings[2], readings[0]
	}
	for _, r := range readings {
		g.add(r.as, "", func(e *Entry) {
			e.Read, e.Refill, e.Unit = r.read, r.refill, unit
			e.Amount, e.At = strings.TrimPrefix(amount, "field "), strings.TrimPrefix(at, "field ")
			if e.Amount == "value" { // the word for the string itself
				e.Amount = amount
			}
		})
	}
}

// Rule returns the entry as a rule; the error is that of Parse.
func (e Entry) Rule() (Rule, error) {
	c, err := Parse([]byte(File([]Entry{e})))
	if err != nil {
		return Rule{}, err
	}
	return c.Rules[0], nil
}

// Open returns the entry with what a person has to put in where it has no limit.
func (e Entry) Open() Entry {
	if e.Limit == "" {
		e.Limit, e.Window = "<LIMIT>/"+cmp.Or(e.Window, "<WINDOW>"), ""
	}
	return e
}

// Words returns the entry as the words of a rule, and as one line of a configuration file.
func (e Entry) Words() (words map[string]any, line string) {
	line = e.flow()
	_ = yaml.Unmarshal([]byte(line), &words) // as it was written
	return words, line
}
