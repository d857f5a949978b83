package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// layoutWords returns the words of a rule that speak of its layout, and need name.
func layoutWords(l *form.Layout, s **Script) []word {
	stamp := ""
	return []word{
		{"read", func(n *yaml.Node) error { return readRead(n, l) }},
		{"ends", func(n *yaml.Node) error { return readEnds(n, l) }},
		{"unit", readUnit(&l.Unit)}, {"zone", readZone(&l.Zone)},
		{"amount", readSource(&l.Amount, false)}, {"at", readSource(&l.At, true)},
		{"charged", truth(&l.Charged)},
		{"refill", readWord(&l.Refill, fitting, form.Refills)},
		{"weigh", readWord(&l.Weigh, fitting, slices.Sorted(maps.Keys(form.Weighs)))},
		{"stamp", func(n *yaml.Node) error {
			l.Stamped = true
			return readWord(&stamp, fitting, []string{"end"})(n)
		}},
		{"block", func(n *yaml.Node) error { return readBlock(n, &l.Block) }},
		{"slice", length(&l.Slice)}, {"ring", whole(&l.Ring)}, {"keep", whole(&l.Keep)}, {"sum", whole(&l.Sum)},
		{"plus", text(&l.Plus)}, {"rate", readSource(&l.Rate, true)}, {"capacity", text(&l.Capacity)},
		{"script", func(n *yaml.Node) (err error) {
			*s, err = readScript(n)
			return err
		}},
	}
}

func readTemplate(p *form.Template) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var name string
		if err := text(&name)(n); err != nil {
			return err
		}
		if err := checkBraces(n, name); err != nil {
			return err
		}
		t, err := form.ParseTemplate(name)
		if err != nil {
			return at(n, "%w", err)
		}
		*p = t
		return nil
	}
}

// readBlock reads what denies everything: a key while it is there, or field F UNIT until that time.
func readBlock(n *yaml.Node, p *form.Source) error {
	if strings.HasPrefix(n.Value, "field ") {
		return readSource(p, true)(n)
	}
	p.Kind = "key"
	return readTemplate(&p.Key)(n)
}

// within returns a part of a word as a word of its own.
func within(n *yaml.Node, from, to int) *yaml.Node {
	part := *n
	part.Value, part.Style = n.Value[from:to], 0
	part.Column += utf8.RuneCountInString(n.Value[:from])
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		part.Column++ // behind the quote
	}
	return &part
}

// braced finds a word in braces, which may have a form behind it.
var braced = collect.Regexp(`\{([A-Za-z]+)(?::([^{}]*))?\}`)

// checkBraces says where the name of keys has a word in braces that was probably meant to be {who} or {window:FORM}, or a
// form that is none. Other braces are themselves.
func checkBraces(n *yaml.Node, name string) error {
	for _, found := range braced().FindAllStringSubmatchIndex(name, -1) {
		place := within(n, found[0], found[1])
		whole, word, words := name[found[0]:found[1]], name[found[2]:found[3]], []string{"window"}
		if found[4] < 0 && !strings.Contains(name, "{who}") {
			words = []string{"who", "window"}
		}
		switch meant, slipped := Closest(word, words); {
		case word == "window" && found[4] >= 0:
			if _, err := form.ParseWindow(name[found[4]:found[5]]); err != nil {
				if meant, slipped := Closest(name[found[4]:found[5]], form.WindowWords); slipped {
					return at(place, "%s has no form of a window that is known: did you mean {window:%s}?", quoted(place), meant)
				}
				return at(place, "%w", err)
			}
		case word != "who" && word != "window" && slipped:
			return at(place, "%s is no word of a name: did you mean %s?", quoted(place), strings.Replace(whole, word, meant, 1))
		}
	}
	return nil
}

// fitting is what readWord calls a word that has no name of its own.
const fitting = "word that fits here"

// readWord reads one of several words, of which each is a what, into p.
func readWord(p *string, what string, names []string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if !slices.Contains(names, n.Value) || n.Kind != yaml.ScalarNode {
			return at(n, "%s is no %s: %s", quoted(n), what, suggest(n.Value, names))
		}
		*p = n.Value
		return nil
	}
}

// readRead reads what is read: value, left field F, json F and so on.
func readRead(n *yaml.Node, l *form.Layout) error {
	words := strings.Fields(n.Value)
	if len(words) > 0 && words[0] == "left" {
		if l.Left, words = true, words[1:]; len(words) == 0 {
			words = []string{"value"}
		}
	}
	names := append(slices.Sorted(maps.Keys(form.Reads)), "left")
	if len(words) == 0 || n.Kind != yaml.ScalarNode {
		return at(n, "%s does not say what is read: use %s", quoted(n), strings.Join(names, ", "))
	}
	kind, rest := words[0], strings.Join(words[1:], " ")
	_, known := form.Reads[kind]
	switch {
	case !known || l.Left && kind != "value" && kind != "field" && kind != "json":
		return at(n, "%s is nothing that can be read: %s", quoted(n), suggest(kind, names))
	case kind == "field" && strings.Contains(rest, "%"):
		return at(n, "%s names no field: where each window has a field, write read: fields and slice: how long one counts", quoted(n))
	case (kind == "field") != (rest != "") && kind != "json":
		return at(n, "%s: only field and json have a name behind them, as in read: field count", quoted(n))
	}
	l.Read = form.Source{Kind: kind, Name: rest}
	return nil
}

// readEnds reads when what is read stops counting: name, expiry, key K UNIT, field F UNIT, field F index.
func readEnds(n *yaml.Node, l *form.Layout) error {
	if n.Value == "name" || n.Value == "expiry" {
		l.Ends.Kind = n.Value
		return nil
	}
	i := strings.LastIndexByte(n.Value, ' ')
	kind, rest, _ := strings.Cut(n.Value, " ")
	if kind != "key" && kind != "field" || !strings.Contains(rest, " ") {
		if meant, slipped := Closest(kind, []string{"name", "expiry", "key", "field"}); slipped && meant != kind {
			return at(n, "%s does not say when what is read ends: did you mean %s?", quoted(n), meant)
		}
		return at(n, "%s does not say when what is read ends: use name, expiry, key K UNIT, field F UNIT, or field F index", quoted(n))
	}
	err, unit := readSource(&l.Ends, false)(within(n, 0, i)), within(n, i+1, len(n.Value))
	switch {
	case err != nil:
		return err
	case kind == "field" && unit.Value == "index":
		return nil
	}
	if meant, slipped := Closest(unit.Value, []string{"index"}); slipped && kind == "field" {
		return at(unit, "%s is no unit of time: did you mean %s?", quoted(unit), meant)
	}
	return readUnit(&l.Ends.Unit)(unit)
}

// readSource reads where a value stands: value, a field, json FIELD, key K; with timed its unit may follow.
func readSource(p *form.Source, timed bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value == "" {
			return at(n, "%s is no place of a value: use value, a field, json FIELD, or key K", quoted(n))
		}
		said := n.Value
		places := []string{"json", "key", "field"}
		if i := strings.LastIndexByte(said, ' '); timed && i > 0 && !slices.Contains(places, said[:i]) { // else it is the name
			if unit := form.UnitNamed(said[i+1:]); unit != 0 {
				p.Unit, said = unit, said[:i]
			}
		}
		kind, rest, named := strings.Cut(said, " ")
		switch {
		case said == "value":
			p.Kind = "value"
		case named && kind == "key":
			p.Kind = "key"
			return readTemplate(&p.Key)(within(n, len("key "), len(said)))
		case named && (kind == "json" || kind == "field"):
			p.Kind, p.Name = kind, rest
		default:
			if meant, slipped := Closest(kind, places); named && slipped {
				return at(n, "%s is no place of a value: did you mean %s?", quoted(n), meant)
			}
			p.Kind, p.Name = "field", said
		}
		return nil
	}
}

func readUnit(p *time.Duration) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if *p = form.UnitNamed(n.Value); *p != 0 {
			return nil
		}
		for _, usual := range [...][2]string{{"s", "s"}, {"mil", "ms"}, {"ms", "ms"}, {"mic", "us"}, {"u", "us"}, {"n", "ns"}} {
			if strings.HasPrefix(strings.ToLower(n.Value), usual[0]) {
				return at(n, "%s is no unit of time: did you mean %s?", quoted(n), usual[1])
			}
		}
		return at(n, "%s is no unit of time: use s, ms, us, ns", quoted(n))
	}
}

// readZone reads a zone of a calendar: +09:00, or a name as Asia/Tokyo.
func readZone(p **time.Location) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if t, err := time.Parse("-07:00", n.Value); err == nil {
			_, east := t.Zone()
			*p = time.FixedZone(n.Value, east)
			return nil
		}
		zone, err := time.LoadLocation(n.Value)
		if err != nil || n.Value == "" || n.Value == "Local" {
			meant, slipped := Closest(n.Value, zones)
			if found := offset().FindStringSubmatch(n.Value); found != nil {
				meant, slipped = fmt.Sprintf("%s%02s:%s", found[1], found[2], cmp.Or(found[3], "00")), true
			}
			if slipped {
				return at(n, "%s is no time zone: did you mean %s?", quoted(n), meant)
			}
			return at(n, "%s is no time zone: write +09:00, UTC, or a name as Asia/Tokyo", quoted(n))
		}
		*p = zone
		return nil
	}
}

// offset finds what is meant to be +09:00.
var offset = collect.Regexp(`^([+-])(\d{1,2}):?(\d\d)?$`)

// zones are the time zones that a slip of the pen is corrected to.
var zones = strings.Fields(`UTC Europe/London Europe/Paris Europe/Berlin Europe/Madrid Europe/Rome Europe/Kyiv Europe/Moscow
	America/New_York America/Chicago America/Denver America/Los_Angeles America/Toronto America/Sao_Paulo America/Mexico_City
	Asia/Tokyo Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Hong_Kong Asia/Kolkata Asia/Dubai Asia/Jakarta Australia/Sydney`)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// durations are the words for durations that people write in limits, as a limit has them.
var durations = map[string]string{
	"sec": "s", "second": "s", "seconds": "s", "min": "m", "minute": "m", "minutes": "m", "hour": "h", "hours": "h", "day": "d",
	"days": "d", "month": "month",
}

// parseLimit reads COUNT/DURATION, of which a month of the calendar is one, too; where no calendar says its days it counts 30.
func parseLimit(spec string) (limiter.Limit, error) {
	if count, ok := strings.CutSuffix(spec, "month"); ok && strings.HasSuffix(strings.TrimSuffix(count, "1"), "/") {
		spec = strings.TrimSuffix(count, "1") + "30d"
	}
	l, err := limiter.ParseLimit(spec)
	if word := spec[len(strings.TrimRight(spec, letters)):]; err != nil && len(word) > 2 {
		if meant, slipped := Closest(word, slices.Sorted(maps.Keys(durations))); slipped {
			meant = strings.TrimSuffix(spec, word) + durations[meant]
			err = fmt.Errorf("limit %q has a duration that cannot be read: did you mean %s?", spec, meant)
		}
	}
	return l, err
}

// labelRows gives the rows of rules that would have the same names labels that tell them apart.
func labelRows(rules []Rule) {
	taken := map[string]bool{}
	for i := range rules {
		l := rules[i].Layout
		others := func(r Rule) bool { return r.Layout != nil && r.Layout != l && r.Layout.Shares(l) }
		if l == nil || !slices.ContainsFunc(rules, others) {
			continue
		}
		if row := l.Row.String(); l.Name.String() == row && !taken[row] {
			taken[row] = true
			continue
		}
		label := shortDuration(l.Limit.Window)
		for n := 2; taken[l.Row.String()+":"+label]; n++ {
			label = fmt.Sprintf("%s-%d", shortDuration(l.Limit.Window), n)
		}
		l.Label = label
		taken[l.Row.String()+":"+label] = true
	}
}

// shortDuration writes a window as a limit does: 1m, 1h, 1d.
func shortDuration(d time.Duration) string { return strings.ReplaceAll(format.Each(d), " ", "") }

// Own returns what rules say of keys before their values are read.
func Own(rules []Rule) decode.Rules { return ownRules(rules) }

type ownRules []Rule

// Library returns the library that the rule for a key names, "" where it is for all keys.
func (rules ownRules) Library(key string) string {
	if r := RuleFor(rules, key); r.Narrow() {
		return r.Library
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
				if !m.Over && l.Readable(m) && !(m.Member && l.Block.Key.Blank()) {
					all = append(all, rules.match(i, m, typ))
				}
			}
		}
	}
	return all, claimed
}

// Named returns the limiter that a key is of, or that has a row of that name; of several limiters of one
// subject the one that denies longest, or has the least left.
func (rules ownRules) Named(name, typ string, now limiter.Instant) *decode.Match {
	if typ != "none" {
		return rules.named(name, typ, false, now)
	}
	return cmp.Or(rules.named(name, "", false, now), rules.named(name, "", true, now))
}

// named is Named; byRow takes the names of rows, too.
func (rules ownRules) named(name, typ string, byRow bool, now limiter.Instant) *decode.Match {
	var first *decode.Match
	var lead *form.Layout
	row := "" // of the subject
	for i := range rules {
		l := rules[i].Layout
		if l == nil && first == nil && rules[i].Narrow() && MatchGlob(rules[i].Match, name) {
			return nil
		}
		if l == nil || first != nil && l.Row.String() != lead.Row.String() {
			continue
		}
		m, ok := l.Match(name, typ, now)
		if !ok && byRow {
			m, ok = l.RowOf(name)
		}
		if !ok || !l.Readable(m) {
			continue
		}
		match, own := rules.match(i, m, typ), l.Limiter(m, typ)
		if l.Label != "" && own.Name() == name { // it is this row alone
			return match
		}
		if first == nil {
			first, lead, row = match, l, own.Row()
		}
	}
	if first == nil {
		return nil
	}
	var several form.Several
	for i := range rules {
		l := rules[i].Layout
		if l == nil || l.Row.String() != lead.Row.String() {
			continue
		}
		m, ok := l.Match(name, typ, now)
		own := l.Limiter(m, typ)
		if !ok || own.Row() != row { // it keeps the subject in another key
			if m, ok = l.RowOf(row); !byRow && l.Name.String() == lead.Name.String() {
				continue
			}
			own = l.Limiter(m, "")
		}
		if ok && l.Readable(m) {
			several = append(several, own)
		}
	}
	if len(several) > 1 {
		first.Limiter, first.Kind = several, decode.None
	}
	return first
}

func (rules ownRules) match(i int, m form.Match, typ string) *decode.Match {
	l := rules[i].Layout
	own := l.Limiter(m, typ)
	out := &decode.Match{Name: own.Name(), Rule: i + 1, Glob: l.Row.Glob(), Limiter: own, Settings: own.Settings()}
	if l.IsLog() && !m.Member {
		out.Kind, out.Limiter = decode.Log, nil
		out.Blocks = own.BlockKey()
	}
	return out
}
