package naming

import (
	_ "embed"
	"iter"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// Words returns the words of a name in lower case: its parts, taken apart where letters meet digits and
// where a capital begins another word, as in apiRateLimit and RATE_LIMITER500.
func Words(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := range len(name) + 1 {
			ends := i == len(name) || !letter(name[i]) ||
				i > from && upper(name[i]) && (!upper(name[i-1]) || i+1 < len(name) && letter(name[i+1]) && !upper(name[i+1]))
			if !ends {
				continue
			}
			if i > from && letter(name[from]) && !yield(strings.ToLower(name[from:i])) {
				return
			}
			if from = i; i < len(name) && !letter(name[i]) {
				from = i + 1
			}
		}
	}
}

func upper(b byte) bool { return b >= 'A' && b <= 'Z' }

// Sense is what the words of a name speak of.
type Sense struct {
	Limits   string // the word that is one for limiters, "" for none
	Attempts string // a word for what is only counted to be limited: attempts, a quota
	Requests string // a word for what may be limited: requests
	Subject  bool   // a word for who is limited
	Settings bool   // a word for what is kept beside limiters: switches, settings, lists of clients
	Other    bool   // a word for what is counted, expires or holds a time and limits nothing
}

//go:embed words.txt
var wordsText string

// lists are the words that names are weighed by, by the name of their list.
var lists = func() map[string]map[string]bool {
	all := make(map[string]map[string]bool)
	var list map[string]bool
	for line := range strings.Lines(wordsText) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok {
			list = make(map[string]bool)
			all[name] = list
		} else if !strings.HasPrefix(line, "#") {
			for word := range strings.FieldsSeq(line) {
				list[word] = true
			}
		}
	}
	return all
}()

var limits, attempts, requests, subjects, settings, others = lists["limits"], lists["attempts"], lists["requests"], lists["subjects"],
	lists["settings"], lists["others"]

// Lists of names of fields: for what a bucket or a window holds, for when a window ends or a bucket was filled, for what a window
// has counted, for what a bucket has left, and for when a window began.
const (
	State  = "state"
	Times  = "times"
	Counts = "counts"
	Tokens = "tokens"
	Begins = "begins"
)

// List returns the words of a list in their order.
func List(list string) []string { return slices.Sorted(maps.Keys(lists[list])) }

// Holds reports whether the name of a field is in a list, in small letters alone.
func Holds(list, field string) bool {
	return lists[list][strings.ToLower(joints.Replace(field))]
}

// joints takes out what stands between the words of a field.
var joints = strings.NewReplacer("_", "", "-", "")

// Speaks reports whether a word of a name is in a list: "rest" for what is left, "leases" for what is held until it is given back,
// "blocks" for what denies while it is there.
func Speaks(list, name string) bool {
	for w := range Words(name) {
		if lists[list][w] {
			return true
		}
	}
	return false
}

// SenseOf returns what the words of a name speak of.
func SenseOf(name string) (s Sense) {
	before := ""
	for w := range Words(name) {
		switch {
		case settings[w]:
			return Sense{Settings: true, Other: true}
		case limits[w], len(w) > 5 && !strings.HasPrefix(w, "un") && (strings.HasSuffix(w, "limit") || strings.HasSuffix(w, "limiter")):
			s.Limits = w
		case limits[before+"+"+w]:
			s.Limits = before + " " + w
		case attempts[w]:
			s.Attempts = w
		case requests[w]:
			s.Requests = w
		}
		s.Subject = s.Subject || subjects[w]
		s.Other = s.Other || others[w]
		before = w
	}
	ends := len(name) - len(strings.TrimRight(name, "0123456789"))
	if ends >= 10 && s.Limits == "" && s.Requests == "limit" { // mail-limit@1795300000
		s.Limits = "limit"
	}
	return s
}

// periods are how long the windows are that words are for.
var periods = func() map[string]time.Duration {
	all := make(map[string]time.Duration)
	for list, length := range map[string]time.Duration{
		"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour,
	} {
		for word := range lists[list] {
			all[word] = length
		}
	}
	return all
}()

// lengthPart finds a part of a name that says how long a window is, as 60s, 5min and 1h do.
var lengthPart = collect.Regexp(`(?i)(?:^|[^a-z0-9])([1-9]\d{0,3})(s|sec|m|min|h)(?:$|[^a-z0-9])`)

// Period returns the part of a name that says how long a window is, or the last word of it that does, and that; "" and 0 for none.
func Period(name string) (word string, length time.Duration) {
	if found := lengthPart().FindStringSubmatch(name); found != nil {
		n, _ := strconv.Atoi(found[1])
		one := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}[found[2][0]|0x20]
		return found[1] + found[2], time.Duration(n) * one
	}
	for w := range Words(name) {
		if l := periods[w]; l > 0 {
			word, length = w, l
		}
	}
	return word, length
}

// Class says what a part of a name is.
type Class uint8

const (
	Word    Class = iota // letters, and a short number behind them: "login", "v2"
	ID                   // a number, a hash, a UUID or another text that no person chose
	Address              // an IP address or an e-mail address: one part, whatever separators it has
	Instant              // the window
)

// Part is a piece of a name between two separators.
type Part struct {
	Text  string
	Class Class
}

const separators = ":./|_-{}[]()<>@#,;=+?& "

// Split takes a name apart: the parts, and what stands before each of them and after the last one.
func Split(name string, now limiter.Instant) (parts []Part, between []string) {
	w, windowed := WindowOf(name, now)
	from := 0
	for i := 0; ; {
		for i < len(name) && strings.IndexByte(separators, name[i]) >= 0 && !(windowed && i == w.From) {
			i++
		}
		between = append(between, name[from:i])
		if i == len(name) {
			return parts, between
		}
		p := Part{Class: Instant}
		if windowed && i == w.From {
			p.Text = name[w.From:w.To]
		} else {
			most := collect.If(windowed && i < w.From, w.From, len(name))
			p = partOf(name[i:most])
			if at := strings.IndexByte(p.Text, '_'); i == 0 && p.Class == Address && at > 0 { // login_alice@example.com
				p = partOf(name[:at])
			}
		}
		parts = append(parts, p)
		i += len(p.Text)
		from = i
	}
}

// HasAddress says whether a part of a name is an IP address or an e-mail address.
func HasAddress(name string) bool {
	if strings.Count(name, ".") < 3 && strings.Count(name, ":") < 3 && !strings.Contains(name, "@") {
		return false
	}
	parts, _ := Split(name, 0)
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Class == Address })
}

// moment finds a date with separators and the time of day behind it, so that a window that is over is one part, as the one of now is.
var moment = collect.Regexp(`^(?:20\d\d[-/._]\d\d?[-/._]\d\d?|\d\d[-/._](?:\d\d|[A-Z][a-z]{2})[-/._]20\d\d)` +
	`(?:[T _:./-](?:[01]\d|2[0-3])(?:[:._h-][0-5]\d){0,2}(?:\.000)?)?(?:Z| UTC| \+0000 UTC|\+00:00)?`)

// partOf returns the part with which a text begins.
func partOf(text string) Part {
	if n := addressIn(text); n > 0 {
		return Part{text[:n], Address}
	}
	if len(text) >= 8 && digit(text[0]) {
		if n := len(moment().FindString(text)); n > 0 && (n == len(text) || !alphanumeric(text[n])) {
			return Part{text[:n], ID}
		}
	}
	if len(text) > 1 && text[0] == 'v' && digit(text[1]) {
		if n := len(version().FindString(text)); n > 0 && (n == len(text) || strings.IndexByte(separators, text[n]) >= 0) {
			return Part{text[:n], Word}
		}
	}
	if len(text) >= 36 && text[8] == '-' && uuid().MatchString(text) {
		return Part{text[:36], ID}
	}
	start := text[:min(len(text), strings.IndexByte(text, '=')+3)] // digest takes time, and most names hold no =
	if n := len(digest().FindString(start)); n > 0 && isID(text[:n]) && (n == len(text) || strings.IndexByte(separators, text[n]) >= 0) {
		return Part{text[:n], ID}
	}
	n := strings.IndexAny(text, separators)
	if n < 0 {
		n = len(text)
	}
	p := Part{Text: text[:n]}
	if isID(p.Text) {
		p.Class = ID
		if word := glued().FindString(p.Text); word != "" && SenseOf(word).Limits != "" { // RATE_LIMITER500
			p = Part{Text: word}
		}
	}
	return p
}

// isID says whether a part without separators was not chosen as a word: it is a number, a long
// hexadecimal number, or long and mixed of letters and digits.
func isID(text string) bool {
	digits, hexes, turns := 0, 0, 0
	for i := range len(text) {
		b := text[i]
		if digit(b) {
			digits++
		}
		if digit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' {
			hexes++
		}
		if i > 0 && digit(b) != digit(text[i-1]) {
			turns++
		}
	}
	long := len(text) >= 16 || len(text) >= 8 && hexes == len(text)
	return digits > 0 && (long || digits >= 3 || digits == len(text) || turns >= 3) || strings.Contains(text, mark)
}

// email is an e-mail address at the beginning of a text, uuid a UUID, digest one of usual length to the base 64, version one behind v,
// and glued letters.
var (
	digest  = collect.Regexp(`^(?:[A-Za-z0-9+/_-]{22}==|[A-Za-z0-9+/_-]{27}=|[A-Za-z0-9+/_-]{43}=|[A-Za-z0-9+/_-]{86}==)`)
	glued   = collect.Regexp(`^[A-Za-z]+`)
	email   = collect.Regexp(`^[A-Za-z0-9\x{80}-\x{10FFFF}._+-]+@(?:[A-Za-z0-9\x{80}-\x{10FFFF}-]+\.)+[A-Za-z0-9\x{80}-\x{10FFFF}]{2,}`)
	version = collect.Regexp(`^v\d+(?:\.\d+)+`)
	uuid    = collect.Regexp(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
)

// addressIn returns how many bytes of the beginning of a text are an IP address or an e-mail address.
func addressIn(text string) int {
	if strings.IndexByte(text, '@') > 0 {
		if n := len(email().FindString(text)); n > 0 {
			return n
		}
	}
	const longest = 45 // of an IPv6 address that ends in an IPv4 one
	end := min(len(text)-len(strings.TrimLeft(text, "0123456789abcdefABCDEF:.")), longest)
	for end > 0 && (strings.Count(text[:end], ":") >= 2 || strings.Count(text[:end], ".") >= 3) {
		if whole := end == len(text) || !digit(text[end]) && !letter(text[end]); whole && text[end-1] != ':' {
			if _, err := netip.ParseAddr(text[:end]); err == nil {
				return end
			}
		}
		end = strings.LastIndexAny(text[:end], ":.")
	}
	return 0
}

// wildcards finds the parts of a glob of Patterns: a character that stands for itself, and a *.
var wildcards = collect.Regexp(`(?s)\\.|\*`)

// Template returns a name as a rule with name writes it: {window:FORM} where a window of now, or one that is just over, stands, {who} for
// the last other part that pattern, a glob of Patterns, leaves open, and * for the rest of these. Where the pattern leaves none open, or
// one that is a word of limits, the subject is the last part that is none. A window of a length that is not 0 may stand there as Rounds
// reads it. w.To is 0 where the name holds no window. ok is false for a name that no rule can write.
func Template(name, pattern string, length time.Duration, now limiter.Instant) (text string, w Window, ok bool) {
	w, windowed := WindowOf(name, now)
	if !windowed {
		w, windowed = Over(name, now)
	}
	if !windowed {
		w, windowed = Rounds(name, length, now)
	}
	if !windowed {
		w = Window{}
	}
	expr, from := `(?s)^`, 0
	for _, at := range append(wildcards().FindAllStringIndex(pattern, -1), []int{len(pattern), len(pattern)}) {
		expr += regexp.QuoteMeta(pattern[from:at[0]])
		switch word := pattern[at[0]:at[1]]; word {
		case "":
		case "*":
			expr += `(.+?)`
		default:
			expr += regexp.QuoteMeta(word[1:])
		}
		from = at[1]
	}
	shape, err := regexp.Compile(expr + `$`)
	if err != nil || strings.ContainsAny(name, "*") || strings.Contains(name, "{who}") || strings.Contains(name, "{window") {
		return "", w, false
	}
	var open [][2]int // the parts that differ, but for the window
	found := shape.FindStringSubmatchIndex(name)
	for i := 2; i+1 < len(found); i += 2 {
		if at := [2]int{found[i], found[i+1]}; !windowed || at[1] <= w.From || at[0] >= w.To {
			open = append(open, at)
		}
	}
	if len(open) == 0 || len(open) == 1 && isWord(name[open[0][0]:open[0][1]]) {
		if subject := subjectIn(name, w, now); subject != nil {
			open = subject
		}
	}
	end := len(name)
	word := "{who}"
	if !windowed && len(open) == 1 && open[0] == [2]int{0, end} {
		return "", w, false // it would be the name of every key
	}
	for i := len(open) - 1; i >= -1; i-- {
		at := [2]int{}
		if i >= 0 {
			at = open[i]
		}
		if windowed && at[1] <= w.From && w.To <= end {
			text, end = "{window:"+w.Form+"}"+name[w.To:end]+text, w.From
		}
		if i >= 0 {
			text, end, word = word+name[at[1]:end]+text, at[0], "*"
		}
	}
	return name[:end] + text, w, true
}

// isWord says whether a part of a name is a word that says what it holds, and no subject.
func isWord(part string) bool {
	return SenseOf(part) != (Sense{}) && !strings.ContainsAny(part, "0123456789@")
}

// subjectIn returns where the last part of a name stands that is neither its window nor a word of limits, and
// does not begin it; nil for none.
func subjectIn(name string, w Window, now limiter.Instant) [][2]int {
	parts, between := Split(name, now)
	at := len(name) - len(between[len(parts)])
	for i := len(parts) - 1; i > 0; i-- {
		from := at - len(parts[i].Text)
		if outside := at <= w.From || from >= w.To; outside && parts[i].Class != Instant && SenseOf(parts[i].Text) == (Sense{}) {
			return [][2]int{{from, at}}
		}
		at = from - len(between[i])
	}
	return nil
}

// hours reports whether a part of a name is the hour of now in UTC.
func hours(name string, now limiter.Instant) bool {
	other := func(r rune) bool { return r > 'z' || !alphanumeric(byte(r)) }
	return slices.Contains(strings.FieldsFunc(name, other), now.Time().UTC().Format("15"))
}

func alphanumeric(b byte) bool { return digit(b) || letter(b) }

// short reports whether the letters at the end of a text are few, as those before a date: d20261126.
func short(before string) bool {
	rest := strings.TrimRightFunc(before, unicode.IsLetter)
	return len(before)-len(rest) <= 2 && (rest == "" || strings.Contains(separators, rest[len(rest)-1:]))
}
