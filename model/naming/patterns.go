package naming

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// Patterns generalizes names to patterns: keys that differ in ids, addresses, windows, or in one
// further part, the subject, have one pattern, in which each part that differs is a *. The zero value has learned
// nothing. It is for one goroutine.
type Patterns struct {
	shapes map[string]*shape // by their text, with marks for what always varies
	groups map[string]*group // of those that are generalized, by their text
	fresh  bool              // shapes have come since the groups were made
	// Version is raised whenever patterns may have changed.
	Version int
}

// shape is names that differ in ids, addresses and windows alone.
type shape struct {
	kind    string
	parts   []Part
	between []string
	differ  []bool // parts that were not the same for all names
	votes   []int  // names in which a part was a window, less those in which it was not; nil for one name
	group   *group
}

// group is shapes that differ in one part, or a shape alone.
type group struct {
	shape
	members int
}

const (
	// mostShapes bounds the memory: hostile names could have a shape each.
	mostShapes = 8192
	// fewWords is how many words in one place are told apart beside a subject: more are subjects
	// themselves. Of words beside each of which subjects differ, as beside the names of limiters, it is manyWords.
	fewWords, manyWords = 8, 64
)

// mark stands in the text of a shape for a part that varies; a part of a name that holds it is an ID. A window
// that is over reads as a number, so that it has the same.
const mark = "\x00"

// text returns the shape's text with part at as one that varies; at -1 is none.
func (s *shape) text(at int) string {
	var b strings.Builder
	b.WriteString(s.kind)
	b.WriteByte(byte(len(s.parts))) // so that shapes of equal text have equally many parts
	for i, p := range s.parts {
		b.WriteString(s.between[i])
		if p.Class == Word && i != at {
			b.WriteString(p.Text)
		} else {
			b.WriteString(mark)
		}
	}
	b.WriteString(s.between[len(s.parts)])
	return b.String()
}

// subject says whether a part of the shape varies that is no window.
func (s *shape) subject() bool {
	return slices.ContainsFunc(s.parts, func(p Part) bool { return p.Class == ID || p.Class == Address })
}

// Learn takes a name. Names of another kind, as of another Redis type, have a pattern of their own.
func (p *Patterns) Learn(name, kind string, now limiter.Instant) {
	s := newShape(name, kind, now)
	text := s.text(-1)
	if was := p.shapes[text]; was != nil {
		p.met(was.group, was.meet(s), s)
		return
	}
	if g := p.near(s); g != nil && g.members > fewWords { // so many others differ in the same part
		p.met(g, false, s)
		return
	}
	if len(p.shapes) < mostShapes {
		collect.Put(&p.shapes, text, s)
		p.fresh = true
		p.Version++
	}
}

// met notes in which parts another name of a group differs; changed says that they are more already.
func (p *Patterns) met(g *group, changed bool, s *shape) {
	if g != nil && len(g.parts) != len(s.parts) {
		s, _ = s.joined()
	}
	if g != nil && g.meet(s) || changed {
		p.Version++
	}
}

// mostParts and mostText bound the parts of a shape, and the bytes of all but the last of them: what is behind them is one ID. A shape
// costs as much memory as its text for each word.
const mostParts, mostText = 32, 256

func newShape(name, kind string, now limiter.Instant) *shape {
	parts, between := Split(name, now)
	for i, from, to := 0, 0, 0; i <= len(parts); i, from = i+1, to {
		if to += len(between[i]); i < len(parts) {
			to += len(parts[i].Text)
		}
		if i == mostParts-1 && len(parts) > mostParts || to > mostText {
			parts, between = append(parts[:i:i], Part{name[from:], ID}), append(between[:i:i], "", "")
			break
		}
	}
	return &shape{kind: kind, parts: parts, between: between, differ: make([]bool, len(parts))}
}

// meet notes in which parts another name of the same shape, or of the same group, differs, and returns
// whether these are more than before.
func (s *shape) meet(o *shape) (more bool) {
	for i := range s.parts {
		s.vote(i, o.parts[i].Class)
		if !s.differ[i] && s.parts[i].Text != o.parts[i].Text {
			s.differ[i], more = true, true
		}
	}
	return more
}

// vote notes the class of part i in another name: it is a window where most names say so, for an id may look
// like one by chance, and a window that is over is a number like any other.
func (s *shape) vote(i int, c Class) {
	if s.parts[i].Class == Word || c == Word {
		return
	}
	if s.votes == nil {
		s.votes = make([]int, len(s.parts))
	}
	if c == Instant {
		s.votes[i]++
	} else {
		s.votes[i]--
	}
	switch {
	case s.votes[i] > 0:
		s.parts[i].Class = Instant
	case s.votes[i] < 0 && s.parts[i].Class == Instant:
		s.parts[i].Class = ID
	}
}

// near returns the group that a shape fits which is not known, nil where there is none.
func (p *Patterns) near(s *shape) *group {
	if g := p.groups[s.text(-1)]; g != nil {
		return g
	}
	for i := len(s.parts) - 1; i >= 0; i-- {
		if s.parts[i].Class == Word {
			if g := p.groups[s.text(i)]; g != nil {
				return g
			}
		}
	}
	if of, at := s.joined(); of != nil {
		return p.groups[of.text(at)]
	}
	return nil
}

// Of returns the pattern of a name: a glob.
func (p *Patterns) Of(name, kind string, now limiter.Instant) string {
	if p.fresh {
		p.settle()
	}
	s := newShape(name, kind, now)
	if was := p.shapes[s.text(-1)]; was != nil {
		return was.group.glob()
	}
	if g := p.near(s); g != nil {
		return g.glob()
	}
	return (&group{shape: *s, members: 1}).glob()
}

// settle makes the groups anew.
func (p *Patterns) settle() {
	p.fresh, p.groups = false, make(map[string]*group)
	left := collect.Map(slices.Sorted(maps.Keys(p.shapes)), func(text string) *shape { return p.shapes[text] })
	counts, windowed, apart := make(map[string]int), make(map[string]bool), make(map[string]int)
	for _, s := range left {
		for i := range s.parts {
			if s.parts[i].Class == Word {
				text := s.text(i)
				counts[text]++
				if s.subjectsDiffer() {
					apart[text]++
				}
				windowed[text] = windowed[text] || slices.ContainsFunc(s.parts, func(p Part) bool { return p.Class == Instant })
			}
		}
	}
	for _, s := range left {
		at := s.varying(counts, apart, windowed)
		text := s.text(at)
		g := p.groups[text]
		if g == nil {
			g = &group{shape: shape{kind: s.kind, parts: slices.Clone(s.parts), between: s.between, differ: slices.Clone(s.differ)}}
			p.groups[text] = g
		}
		g.meet(s)
		for i, d := range s.differ {
			g.differ[i] = g.differ[i] || d
		}
		g.members++
		s.group = g
	}
	p.dotted(left)
}

// dotted puts shapes whose subjects have dots in them, as hosts and names of people, into one group, where nearly each of their first
// words is another, beside subjects without dots or where there are many.
func (p *Patterns) dotted(all []*shape) {
	const few = 4
	frames, firsts := make(map[string][]*shape), make(map[string]map[string]bool)
	for _, s := range all {
		if of, at := s.joined(); of != nil {
			text := of.text(at)
			if frames[text] = append(frames[text], s); firsts[text] == nil {
				firsts[text] = make(map[string]bool)
			}
			firsts[text][s.parts[at].Text] = true
		}
	}
	for text, list := range frames {
		g := p.groups[text]
		if 10*len(firsts[text]) < 7*len(list) || len(list) < few && (g == nil || g.members < 2) {
			continue
		}
		for _, s := range list {
			of, at := s.joined()
			if g == nil {
				g = &group{shape: *of}
				p.groups[text] = g
			}
			g.meet(of)
			g.differ[at] = true
			g.members++
			s.group.members--
			s.group = g
		}
	}
	maps.DeleteFunc(p.groups, func(_ string, g *group) bool { return g.members == 0 })
}

// joined returns the shape with words that dots join as one part, and which that is; nil where there are none behind another
// separator.
func (s *shape) joined() (of *shape, at int) {
	for i := 1; i+1 < len(s.parts); i++ {
		n, text := i, s.parts[i].Text
		for n+1 < len(s.parts) && s.between[n+1] == "." && s.parts[n].Class == Word && s.parts[n+1].Class == Word {
			n++
			text += "." + s.parts[n].Text
		}
		if n > i && s.between[i] != "." {
			parts := slices.Concat(s.parts[:i], []Part{{Text: text}}, s.parts[n+1:])
			return &shape{kind: s.kind, parts: parts, between: slices.Concat(s.between[:i+1], s.between[n+1:]), differ: make([]bool, len(parts))}, i
		}
	}
	return nil, 0
}

// varying returns the word of a shape that differs in others which are the same but for it: the one
// with the most others, the last of equal ones; -1 where there is none. The first word of a name is hardly a subject. Beside a
// subject words are told apart while they are few; one number that is a window in any of the others is no subject.
func (s *shape) varying(counts, apart map[string]int, windowed map[string]bool) int {
	at, most := -1, 1
	numbers := len(collect.Only(s.parts, func(p Part) bool { return p.Class != Word }))
	for i := range s.parts {
		if s.parts[i].Class != Word {
			continue
		}
		text, least := s.text(i), most
		if counts[text] <= fewWords && isWord(s.parts[i].Text) { // attempts and lockout of one subject
			continue
		}
		if at < 0 && s.subject() && !(numbers == 1 && windowed[text]) {
			if least = fewWords; apart[text] > 1 {
				least = manyWords
			}
		} else if at == 0 {
			least = max(most/4, 1)
		}
		if n := counts[text]; n > least || at > 0 && n == most {
			at, most = i, n
		}
	}
	return at
}

// subjectsDiffer says whether a part of the shape that is no window was not the same for all names.
func (s *shape) subjectsDiffer() bool {
	for i, p := range s.parts {
		if s.differ[i] && (p.Class == ID || p.Class == Address) {
			return true
		}
	}
	return false
}

// Whole begins the kinds of names of which one alone says nothing of a subject in others.
const Whole = "="

// glob returns the group's pattern. Of one name alone the last part is taken for the subject, unless another is.
func (g *group) glob() string {
	var b strings.Builder
	alone := !slices.Contains(g.differ, true)
	last := -1
	if alone && !g.subject() && !strings.HasPrefix(g.kind, Whole) {
		for i, p := range g.parts {
			if p.Class == Word {
				last = i
			}
		}
	}
	for i, p := range g.parts {
		b.WriteString(Escape(g.between[i]))
		if g.differ[i] || p.Class == Instant || alone && p.Class != Word || i == last && i > 0 {
			b.WriteByte('*')
			continue
		}
		b.WriteString(Escape(p.Text))
	}
	b.WriteString(Escape(g.between[len(g.parts)]))
	return cmp.Or(b.String(), "*")
}

// Escape returns the glob that matches text alone.
func Escape(text string) string { return escapes.Replace(text) }

var escapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// dates are calendars in names, whose groups together are a date as Go writes it, and how long ago or ahead that is at most in
// the name of a window of these hours, or of a month.
var dates = [...]struct {
	shape  func() *regexp.Regexp
	layout string
	within time.Duration
}{
	{collect.Regexp(`(?:^|\D)(20\d\d)\D?(0[1-9]|1[0-2])\D?([0-2]\d|3[01])`), "20060102", 32 * day},
	{collect.Regexp(`(?:^|\D)(20\d\d)\D?(0[1-9]|1[0-2])(?:$|\D)`), "200601", 63 * day},
	{collect.Regexp(`(?:^|\D)(0[1-9]|1[0-2])[-/._]?(20\d\d)(?:$|\D)`), "012006", 63 * day},
	{collect.Regexp(`(?:^|\D)(20\d\d)[-/._]?([0-3]\d\d)(?:$|\D)`), "2006002", 32 * day},
	{collect.Regexp(`(?:^|\D)([0-2]\d|3[01])[-/._]?(0[1-9]|1[0-2])[-/._]?(20\d\d)(?:$|\D)`), "02012006", 32 * day},
	{collect.Regexp(`(?:^|\D)(0[1-9]|1[0-2])[-/._]?([0-2]\d|3[01])[-/._]?(20\d\d)(?:$|\D)`), "01022006", 32 * day},
	{collect.Regexp(`(?:^|\D)(\d{6})(?:\d\d){1,3}(?:$|\D)`), "060102", 32 * day}, // a year of two digits, with its hour
	{collect.Regexp(`(?:^|\D)(\d\d)[-/._]?(\d\d)[-/._]?(\d\d)(?:$|\D)`), "060102", 2 * day},
	{collect.Regexp(`(?:^|\D)(\d\d)[-/._]?(\d\d)[-/._]?(\d\d)(?:$|\D)`), "020106", 2 * day},
	{collect.Regexp(`(?:^|\D)(\d\d)[-/._]?(\d\d)[-/._]?(\d\d)(?:$|\D)`), "010206", 2 * day},
}

const day = 24 * time.Hour

var (
	numbers  = collect.Regexp(`\d{4,14}`)
	numerals = collect.Regexp(`[0-9a-z]{5,8}`) // a number to a base above ten
	weeks    = collect.Regexp(`(?:^|\D)20\d\d[-_.]?(?:[Ww][0-5]\d|[Qq][1-4])(?:$|\D)`)
	weekly   = collect.Regexp(`(?i)(?:^|[^a-z0-9])(?:20\d\d[-_.:/]?|w(?:k|eek)?[-_.:]?)([0-5]\d)(?:$|\D)`)
	months   = collect.Regexp(`(?i)(?:^|[^a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-_./]?20\d\d(?:$|\D)`)
	minutes  = collect.Regexp(`(?:^|[:_./|-])(?:[0-3]\d)?([0-2]\d)[-:._]?([0-5]\d)(?:$|[:_./|-])`) // also behind a day
)

// recentMinutes is how old the minute of a day may be that is taken for a window: longer ago it is likelier another number.
const recentMinutes = 10

// Dated reports whether a part of a name reads as a window of these hours: a calendar's, the number of a usual window, the second
// or millisecond at which one starts or ends, or the minute of a day. A program that reads the key as a counter until its expiry
// would be wrong. Where length, that of its windows, is not 0 the words for days and months, the weeks of a year and numbers to a
// base above ten are read as well.
func Dated(name string, length time.Duration, now limiter.Instant) bool {
	t := now.Time().UTC()
	for _, at := range numbers().FindAllString(name, -1) {
		if n, err := strconv.ParseInt(at, 10, 64); err == nil && instantNear(n, now) || Recent(n, now) || numberOf(n, length, now, 12) ||
			at == t.Format("00215") || at == t.Add(-time.Hour).Format("00215") {
			return true
		}
	}
	for _, c := range dates {
		for _, found := range c.shape().FindAllStringSubmatch(name, -1) {
			if date, err := time.Parse(c.layout, strings.Join(found[1:], "")); err == nil && t.Sub(date).Abs() < c.within {
				return true
			}
		}
	}
	for _, found := range minutes().FindAllStringSubmatch(name, -1) {
		hour, _ := strconv.Atoi(found[1])
		minute, _ := strconv.Atoi(found[2])
		since := (t.Hour()*60 + t.Minute() - hour*60 - minute + 24*60) % (24 * 60)
		if hour < 24 && minute < 60 && since <= recentMinutes {
			return true
		}
	}
	return weeks().MatchString(name) || months().MatchString(name) || length > 0 && named(name, length, now)
}

// instantNear says whether a number is the time, in seconds or milliseconds, of a window of these two days.
func instantNear(n int64, now limiter.Instant) bool {
	return slices.ContainsFunc([]int64{1_000_000, 1_000}, func(unit int64) bool {
		return n < 1<<62/unit && limiter.Instant(n*unit).Sub(now).Abs() < 2*day
	})
}

// numberOf says whether n is the number, since 1970, of one of the last windows of a length, or of the next one.
func numberOf(n int64, length time.Duration, now limiter.Instant, last int64) bool {
	if length <= 0 {
		return false
	}
	age := int64(now)/length.Microseconds() - n
	return age >= -1 && age < last
}

// named says whether a part of a name is a word for the window of that length that holds now or the one before, the number of its
// week, or the number of one of the last windows, or a time of now, to the base 16 or 36.
func named(name string, length time.Duration, now limiter.Instant) bool {
	t, before := now.Time().UTC(), now.Add(-length).Time().UTC()
	layout := map[bool]string{length == day: "Monday", length >= 28*day: "January"}[true]
	for _, at := range []time.Time{t, before} {
		if slices.ContainsFunc(halves[:], func(half [2]string) bool { return strings.Contains(name, at.Format(half[0])) }) {
			return true
		}
	}
	for w := range Words(name) {
		for _, at := range []time.Time{t, before} {
			if full := strings.ToLower(at.Format(layout)); layout != "" && (w == full || w == full[:3]) {
				return true
			}
		}
	}
	for _, found := range weekly().FindAllStringSubmatch(name, -1) {
		n, _ := strconv.Atoi(found[1])
		_, week := t.ISOWeek()
		if since := (week - n + 53) % 53; length == 7*day && since <= 2 {
			return true
		}
	}
	for _, at := range numerals().FindAllString(strings.ToLower(name), -1) {
		for _, base := range [...]int{16, 36} {
			n, err := strconv.ParseInt(at, base, 64)
			if err == nil && (numberOf(n, length, now, 120) || len(at) > 6 && instantNear(n, now)) {
				return true
			}
		}
	}
	return false
}

// Over returns the part of a name that reads as a window which ended at most three of its lengths ago.
func Over(name string, now limiter.Instant) (Window, bool) {
	const ago, least = 3, 5 // shorter numbers come round
	lengths := Lengths[:]
	if !counted(name, now) {
		lengths = []time.Duration{time.Second, time.Minute, time.Hour, day} // those of calendars
	}
	for _, length := range lengths {
		for n := range ago {
			if w, ok := WindowOf(name, now.Add(-time.Duration(n+1)*length)); ok && w.Length == length && w.To-w.From >= least {
				return w, true
			}
		}
	}
	return Window{}, false
}

// counted says whether a number in a name, to whatever base, may be that of one of the last windows of a usual length.
func counted(name string, now limiter.Instant) bool {
	recent := func(at string, base int) bool {
		n, err := strconv.ParseInt(at, base, 64)
		return err == nil && Recent(n, now)
	}
	return slices.ContainsFunc(numbers().FindAllString(name, -1), func(at string) bool { return recent(at, 10) }) ||
		slices.ContainsFunc(numerals().FindAllString(name, -1), func(at string) bool { return recent(at, 16) || recent(at, 36) })
}

// Shows says how much a name tells of the form of its windows: the more the better. The end of one lies ahead until it is over, when
// it reads as a beginning, and the name of any that is over tells no form.
func Shows(name string, now limiter.Instant) int {
	switch w, ok := WindowOf(name, now); {
	case !ok:
		return 0
	case w.Start == 0 && w.End > 0:
		return 2
	}
	return 1
}
