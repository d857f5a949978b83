package naming

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

// mark stands in the text of a shape for a part that varies; no name that a person chose holds it. A window
// that is over reads as a number, so that it has the same.
const mark = "\x00"

// text returns the shape's text with part at as one that varies; at -1 is none.
func (s *shape) text(at int) string {
	var b strings.Builder
	b.WriteString(s.kind)
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
	if g != nil && g.meet(s) || changed {
		p.Version++
	}
}

func newShape(name, kind string, now limiter.Instant) *shape {
	parts, between := Split(name, now)
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
