package session

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/shell"
)

// TermsText formats a limit in the form of the what-if prompt.
func TermsText(t model.Target) string {
	text := fmt.Sprintf("%s %d/%s", t.Algorithm, t.Limit.Count, format.Length(t.Window))
	if t.Limit.Burst > 0 {
		text += fmt.Sprintf(" burst %d", t.Limit.Burst)
	}
	return text
}

// ParseTerms parses an algorithm, a limit and a burst in any order; a term that is left out is that of
// as. A factor, such as x2, multiplies the limit before it and its burst, with a space before it or
// without. ok is false if the text is incomplete or a word is none of these.
func ParseTerms(text string, as model.Target) (t model.Target, ok bool) {
	t = model.Target{Algorithm: as.Algorithm, Limit: as.Limit, LimitKnown: true, Window: as.Window}
	words := strings.Fields(factored.ReplaceAllString(text, "$1 x"))
	for i, word := range words {
		if a, err := limiter.ParseAlgorithm(word); err == nil {
			t.Algorithm, ok = a, true
			continue
		}
		if l, err := limiter.ParseLimit(word); err == nil {
			l.Burst = t.Limit.Burst
			t.Limit, t.Window, ok = l, l.Window, true
			continue
		}
		if factor, err := strconv.ParseFloat(strings.TrimPrefix(word, "x"), 64); word[0] == 'x' && err == nil && factor > 0 &&
			factor <= mostFactor {
			t.Limit.Count, t.Limit.Burst = times(t.Limit.Count, factor), times(t.Limit.Burst, factor)
			ok = true
			continue
		}
		var burst int64
		if n, err := fmt.Sscan(word, &burst); i > 0 && words[i-1] == "burst" && n == 1 && err == nil && burst > 0 {
			t.Limit.Burst, ok = burst, true
			continue
		}
		if word != "burst" || i+1 == len(words) {
			return t, false
		}
	}
	return t, ok && t.Limit.Count > 0 && t.Window > 0 && t.Algorithm != limiter.Unknown
}

// factored finds a factor that follows a limit without a space, as where it is typed after the limit that
// stands in the prompt.
var factored = regexp.MustCompile(`(\d(?:ns|us|µs|ms|s|m|h|d)?)x`)

// mostFactor is the greatest factor.
const mostFactor = 1000

// times multiplies a count and rounds the product. A count whose product could overflow is returned
// unchanged.
func times(count int64, factor float64) int64 {
	if count > math.MaxInt64/mostFactor/2 {
		return count
	}
	return int64(math.Round(float64(count) * factor))
}

// TermsNear lists the same limit under every algorithm.
func TermsNear(t model.Target) (list []string) {
	limit := strings.TrimPrefix(TermsText(t), t.Algorithm.String()+" ")
	for _, a := range limiter.Algorithms() {
		list = append(list, a.String()+" "+limit)
	}
	return list
}

// OtherTerms are the terms of a question "what if". The zero OtherTerms ask nothing.
type OtherTerms struct {
	On    bool // the terms are understood
	Terms model.Target

	text string // as typed
}

// AskWhatIf opens the prompt for other terms in place of those of as, and calls changed whenever o changes.
// Text that is not understood asks nothing, so that an answer on screen is always to the text in the prompt.
func (s *Session) AskWhatIf(o *OtherTerms, as model.Target, note string, changed func()) {
	if o.text == "" {
		o.text = TermsText(as)
	}
	var p *shell.Prompt
	try := func(text string) {
		o.text = text
		o.Terms, o.On = ParseTerms(text, as)
		if p != nil {
			p.Complain("")
		}
		if p != nil && !o.On {
			p.Complain("not understood: as in gcra 100/1m")
		}
		changed()
	}
	p = s.Shell.NewPrompt("what if ", o.text, note, try, func(_ string, kept bool) tea.Cmd {
		if !kept || !o.On {
			*o = OtherTerms{}
			changed()
		}
		return nil
	}, nil)
	try(o.text)
	p.Suggest(TermsNear(as))
	s.Shell.Open(p)
}
