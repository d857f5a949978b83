package naming

import (
	"regexp"
	"strings"
	"time"

	"ratescope/limiter"
)

// wildcards finds the parts of a glob of Patterns: a character that stands for itself, and a *.
var wildcards = regexp.MustCompile(`(?s)\\.|\*`)

// Template returns a name as a rule with name writes it: {window:FORM} where a window of now stands, {who} for
// the last other part that pattern, a glob of Patterns, leaves open, and * for the rest of these. Where the
// pattern leaves none open, or one that is a word of limits, the subject is the last part that is none. A window of a length
// that is not 0 may stand there as Rounds reads it. w.To is 0
// where the name holds no window. ok is false for a name that no rule can write.
func Template(name, pattern string, length time.Duration, now limiter.Instant) (text string, w Window, ok bool) {
	w, windowed := WindowOf(name, now)
	if !windowed {
		w, windowed = Rounds(name, length, now)
	}
	if !windowed {
		w = Window{}
	}
	expr, from := `(?s)^`, 0
	for _, at := range append(wildcards.FindAllStringIndex(pattern, -1), []int{len(pattern), len(pattern)}) {
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
	return SenseOf(part) != (Sense{}) && !strings.ContainsAny(part, "0123456789")
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
