package form

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/naming"
)

// Template is the name of a limiter's keys with the places of what differs: {who} the subject, {window:FORM}
// the window, * anything. All other braces are themselves. The zero value is no name.
type Template struct {
	text   string
	tokens []string // its parts: the places as subject, anything and window, and what stands between them
	shape  *regexp.Regexp
	window *WindowForm // nil: the name holds none
}

const subject, anything, window = "{who}", "*", "{window}"

// literal reports whether a part of a template is itself.
func literal(token string) bool { return token != subject && token != anything && token != window }

// places finds what differs from key to key in the text of a template.
var places = collect.Regexp(`\{who\}|\{window(?::[^{}]*)?\}|\*`)

// ParseTemplate reads the name of keys.
func ParseTemplate(text string) (Template, error) {
	t := Template{text: text}
	shape := strings.Builder{}
	shape.WriteString(`(?s)^`)
	from := 0
	add := func(token, pattern string) {
		t.tokens = append(t.tokens, token)
		shape.WriteString(pattern)
	}
	for _, at := range append(places().FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if plain := text[from:at[0]]; plain != "" {
			add(plain, regexp.QuoteMeta(plain))
		}
		switch word := text[at[0]:at[1]]; {
		case word == "":
		case word == subject:
			add(word, `(.+)`)
		case word == anything:
			add(word, `(.*)`)
		case t.window != nil:
			return t, fmt.Errorf("%q has two windows: say the one that ends first", text)
		default:
			form, err := ParseWindow(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(word, "{window"), ":"), "}"))
			if err != nil {
				return t, err
			}
			t.window = form
			add(window, `(`+form.pattern()+`)`)
		}
		from = at[1]
	}
	shape.WriteString(`$`)
	var err error
	if t.shape, err = regexp.Compile(shape.String()); err != nil {
		return t, fmt.Errorf("%q is no name of a key: use valid UTF-8", text)
	}
	return t, nil
}

// String returns the text that ParseTemplate read.
func (t *Template) String() string { return t.text }

// Glob returns the pattern of the keys of t, as rules of match and SCAN write it.
func (t *Template) Glob() string {
	var b strings.Builder
	for _, token := range t.tokens {
		if literal(token) {
			b.WriteString(naming.Escape(token))
		} else {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// Blank reports whether t is the zero value.
func (t *Template) Blank() bool { return t.tokens == nil }

// parts are the texts that stand in the places of a template, but for the window.
type parts struct {
	who   string
	stars []string
}

// match reads a key; ok is false where it is none of the template.
func (t *Template) match(key string) (p parts, window string, ok bool) {
	if t.Blank() || literal(t.tokens[0]) && !strings.HasPrefix(key, t.tokens[0]) {
		return p, "", false
	}
	found := t.shape.FindStringSubmatch(key)
	if found == nil {
		return p, "", false
	}
	n := 0
	for _, token := range t.tokens {
		if literal(token) {
			continue
		}
		n++
		switch token {
		case subject:
			if p.who != "" && p.who != found[n] {
				return p, "", false
			}
			p.who = found[n]
		case anything:
			p.stars = append(p.stars, found[n])
		default:
			window = found[n]
		}
	}
	return p, window, true
}

// render returns the key with those parts and that window.
func (t *Template) render(p parts, text string) string {
	var b strings.Builder
	star := 0
	for _, token := range t.tokens {
		switch token {
		case subject:
			b.WriteString(p.who)
		case anything:
			if star < len(p.stars) {
				b.WriteString(p.stars[star])
			}
			star++
		case window:
			b.WriteString(text)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// Base returns the template of what the keys of one row have in common: t without its window and the
// separator before it, or after one that begins the name.
func (t *Template) Base() Template {
	const separators = ":./|_-@"
	text := ""
	for i, token := range t.tokens {
		switch {
		case token == window && i > 0 && literal(t.tokens[i-1]):
			text = strings.TrimRight(text, separators)
		case token == window:
		case i == 1 && t.tokens[0] == window && literal(token):
			text = strings.TrimLeft(token, separators)
		default:
			text += token
		}
	}
	base, err := ParseTemplate(text)
	if err != nil || base.Blank() {
		return *t
	}
	return base
}

// WindowForm is how the name of a key writes its window: as a calendar does, as the number of the
// window since 1970, or as the time at which it starts or ends.
type WindowForm struct {
	text   string
	pieces []piece       // of a calendar form; nil for the others
	finest time.Duration // of a calendar form: how long its shortest window is; a month counts 28 days
	unit   time.Duration // of a start or an end; 0: the number of the window
	since  int64         // microseconds from where the windows are counted to 1970
	after  string        // what stands behind the number
	base   int           // of the number; 0 is 10
	ends   bool
	ring   int64 // the number is counted modulo this; 0: it is not
}

// piece is a literal or a letter of strftime.
type piece struct {
	letter byte // 0: a literal
	text   string
}

// letters says of each letter of strftime what texts it stands for, how long what it counts lasts, and
// how Go writes it.
var letters = map[byte]struct {
	pattern string
	lasts   time.Duration
	layout  string
}{
	'Y': {`\d{4}`, 365 * day, "2006"}, 'y': {`\d{2}`, 365 * day, "06"},
	'q': {`[1-4]`, 84 * day, ""}, 'm': {`\d{2}`, 28 * day, "01"},
	'b': {`[A-Z][a-z]{2}`, 28 * day, "Jan"}, 'B': {`[A-Z][a-z]+`, 28 * day, "January"},
	'G': {`\d{4}`, 365 * day, ""}, 'V': {`\d{2}`, 7 * day, ""},
	'd': {`\d{2}`, day, "02"}, 'j': {`\d{3}`, day, "002"}, 'a': {`[A-Z][a-z]{2}`, day, "Mon"},
	'A': {`[A-Z][a-z]+`, day, "Monday"}, 'u': {`[1-7]`, day, ""}, 'w': {`[0-6]`, day, ""}, 'e': {`[ \d]\d`, day, "_2"},
	'I': {`\d{2}`, time.Hour, "03"}, 'p': {`[AP]M`, 12 * time.Hour, "PM"},
	'H': {`\d{2}`, time.Hour, "15"}, 'M': {`\d{2}`, time.Minute, "04"}, 'S': {`\d{2}`, time.Second, "05"},
}

const day = 24 * time.Hour

// compound are the letters that stand for several.
var compound = strings.NewReplacer("%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%R", "%H:%M", "%D", "%m/%d/%y")

// WindowWords are the forms that are no calendar's.
var WindowWords = []string{"index", "index%60", "index.hex", "index.b36", "ticks", "start.s", "start.ms", "start.us", "start.ns",
	"end.s", "end.ms", "end.us", "end.ns"}

// ParseWindow reads the form of a window.
func ParseWindow(text string) (*WindowForm, error) {
	f := &WindowForm{text: text}
	plain, decimal := strings.CutSuffix(text, ".0")
	if decimal {
		f.after = ".0"
	}
	for name, base := range map[string]int{".hex": 16, ".b36": 36} {
		if number, ok := strings.CutSuffix(plain, name); ok {
			plain, f.base = number, base
		}
	}
	word, unit, timed := strings.Cut(plain, ".")
	switch {
	case plain == "ticks":
		f.since = naming.SinceYear1
		return f, nil
	case plain == "index":
		return f, nil
	case strings.HasPrefix(plain, "index%"):
		n, err := strconv.ParseInt(plain[len("index%"):], 10, 32)
		if f.ring = n; err == nil && n > 1 {
			return f, nil
		}
	case timed && (word == "start" || word == "end") && UnitNamed(unit) != 0:
		f.ends, f.unit = word == "end", UnitNamed(unit)
		return f, nil
	case strings.Contains(text, "%"):
		return f, f.calendar(compound.Replace(text))
	}
	return nil, fmt.Errorf("{window:%s} has no form of a window that is known: use %s, or a calendar form as %%Y%%m%%d%%H%%M",
		text, strings.Join(WindowWords, ", "))
}

func (f *WindowForm) calendar(text string) error {
	for text != "" {
		before, rest, found := strings.Cut(text, "%")
		if before != "" {
			f.pieces = append(f.pieces, piece{text: before})
		}
		if !found {
			break
		}
		rest, short := strings.CutPrefix(rest, "-")
		if rest == "" {
			return fmt.Errorf("{window:%s} ends in %%: write a letter behind it, as in %%M", f.text)
		}
		known, ok := letters[rest[0]]
		if !ok {
			return fmt.Errorf("%%%c in {window:%s} is no letter of a calendar that is known: use %s",
				rest[0], f.text, "%Y %m %d %H %M %S, %y %b %B %j %G %V %a %A %u %w %e %q %I %p")
		}
		p := piece{letter: rest[0]}
		if short {
			p.text = "-"
		}
		if f.finest == 0 || known.lasts < f.finest {
			f.finest = known.lasts
		}
		f.pieces, text = append(f.pieces, p), rest[1:]
	}
	return nil
}

func (f *WindowForm) pattern() string {
	switch {
	case f.pieces == nil && f.base > 0:
		return `[\da-z]{1,16}`
	case f.pieces == nil:
		return `\d{1,19}` + regexp.QuoteMeta(f.after)
	}
	var b strings.Builder
	for _, p := range f.pieces {
		switch {
		case p.letter == 0:
			b.WriteString(regexp.QuoteMeta(p.text))
		case p.text == "-":
			b.WriteString(`\d{1,3}`)
		default:
			b.WriteString(letters[p.letter].pattern)
		}
	}
	return b.String()
}

// bounds returns the window that holds an instant: one of length w, which begins at a multiple of it
// after origin, or, where the calendar's own is longer, that. The zone is that of the calendar.
func (f *WindowForm) bounds(at limiter.Instant, w time.Duration, origin limiter.Instant, zone *time.Location) (start, end limiter.Instant) {
	if f.pieces == nil {
		start = startOf(at, origin, w)
		return start, start.Add(w)
	}
	t := at.Time().In(zone)
	y, m, d := t.Date()
	date := func(y int, m time.Month, d int) limiter.Instant {
		return limiter.InstantOf(time.Date(y, m, d, 0, 0, 0, 0, zone))
	}
	months := map[time.Duration]time.Month{365 * day: 12, letters['q'].lasts: 3, 28 * day: 1}[f.finest]
	switch {
	case months > 0:
		first := (m-1)/months*months + 1
		return date(y, first, 1), date(y, first+months, 1)
	case f.finest == 7*day:
		monday := d - (int(t.Weekday())+6)%7
		return date(y, m, monday), date(y, m, monday+7)
	case w <= day && f.finest == day:
		return date(y, m, d), date(y, m, d+1)
	case w > day:
		days := max(int(w/day), 1)
		since := int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()/86400) % days
		return date(y, m, d-since), date(y, m, d-since+days)
	}
	start = startOf(at, date(y, m, d), max(w, f.finest))
	return start, start.Add(max(w, f.finest))
}

// Calendar returns the bounds of the months, or the years, of the calendar in UTC: of what is as long as that
// or longer.
func Calendar(length time.Duration) func(limiter.Instant) (start, end limiter.Instant) {
	f := &WindowForm{pieces: []piece{}, finest: 28 * day}
	if length >= 365*day {
		f.finest = 365 * day
	}
	return func(at limiter.Instant) (start, end limiter.Instant) { return f.bounds(at, 0, 0, time.UTC) }
}

func (f *WindowForm) format(start, end limiter.Instant, zone *time.Location) string {
	if f.ends {
		start = end
	}
	number := func(n int64) string { return strconv.FormatInt(n, cmp.Or(f.base, 10)) + f.after }
	switch {
	case f.unit != 0:
		return number(int64(start) * 1000 / int64(f.unit))
	case f.ring > 0:
		return number(int64(start) / end.Sub(start).Microseconds() % f.ring)
	case f.pieces == nil:
		return number((int64(start) + f.since) / end.Sub(start).Microseconds())
	}
	t := start.Time().In(zone)
	year, week := t.ISOWeek()
	var b strings.Builder
	for _, p := range f.pieces {
		text := p.text
		switch {
		case p.letter == 'G':
			text = strconv.Itoa(year)
		case p.letter == 'V':
			text = fmt.Sprintf("%02d", week)
		case p.letter == 'q':
			text = strconv.Itoa(int(t.Month()+2) / 3)
		case p.letter == 'w':
			text = strconv.Itoa(int(t.Weekday()))
		case p.letter == 'u':
			text = strconv.Itoa(int(t.Weekday()+6)%7 + 1)
		case p.letter != 0:
			text = t.Format(letters[p.letter].layout)
		}
		if p.letter != 0 && p.text == "-" {
			text = strings.TrimLeft(text[:len(text)-1], "0") + text[len(text)-1:]
		}
		b.WriteString(text)
	}
	return b.String()
}
