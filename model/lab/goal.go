package lab

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"ratescope/limiter"
)

// GoalKind names what a lesson asks for.
type GoalKind string

// The kinds. "Of" is the candidate that the goal is about; requests are those fired by
// hand unless said otherwise. The texts of a goal name numbers as facts.fill says.
const (
	GoalLargest    GoalKind = "largest"              // Of admits Value in one true window, fired by hand or not
	GoalFates      GoalKind = "fates"                // the last requests met these Fates at Of, in this order
	GoalSilence    GoalKind = "denied-after-silence" // Of denies a request though nothing came for SilenceMS
	GoalLockout    GoalKind = "locked-out"           // Of denies Value requests in a row, over WithinMS or longer
	GoalEstimate   GoalKind = "estimate"             // the latest request leaves Of with the estimate Values[0], and Value in the current window
	GoalReadings   GoalKind = "readings"             // what Of has used becomes these Values one after the other
	GoalDisagree   GoalKind = "disagree"             // Of admits what Other denies, Value times
	GoalFalseDeny  GoalKind = "wrongly-denied"       // Of denies a request though its true window has room, Value times
	GoalUnderLoad  GoalKind = "under-load"           // Of admits a request after Value denials in the last window
	GoalJustInTime GoalKind = "just-in-time"         // Of denies one, and admits the next within WithinMS of its slot
	GoalSmallest   GoalKind = "smallest-limit"       // the limit is the smallest, Value, under which Of denies nothing that comes by itself
	GoalMost       GoalKind = "most-admitted"        // the selected candidate admits more in a true window than any other; Value is 1
	GoalCheapest   GoalKind = "cheapest"             // the selected one takes least of those that admit Value in a true window at most
)

// Goal is what a person has to bring about in a lesson. A file has beside it tries that miss it, which tests play.
type Goal struct {
	Kind      GoalKind  `json:"kind"`
	Of        string    `json:"of"`
	Other     string    `json:"other,omitempty"`
	Value     int64     `json:"value,omitempty"`
	ValueOf   string    `json:"value_of,omitempty"` // what Value is of a limit: "2*limit-1", "burst+limit-1"; "" it is the same under all
	Values    []float64 `json:"values,omitempty"`
	Fates     []string  `json:"fates,omitempty"` // allow or deny
	SilenceMS float64   `json:"silence_ms,omitempty"`
	WithinMS  float64   `json:"within_ms,omitempty"`
	Say       string    `json:"say"`            // the task, one sentence
	Hint      string    `json:"hint,omitempty"` // for who is stuck
	Then      string    `json:"then,omitempty"` // what it shows, once reached
}

// valueOf reads what a value is of a limit.
var valueOf = regexp.MustCompile(`^(?:(burst)\+|(\d)\*)?limit([+-]\d)?$`)

// under returns the goal with its value for a limit.
func (g Goal) under(l limiter.Limit) Goal {
	if n, ok := ofLimit(g.ValueOf, l); ok {
		g.Value = max(n, 1)
	}
	return g
}

// ofLimit returns a value of a limit, as valueOf reads it.
func ofLimit(text string, l limiter.Limit) (n int64, ok bool) {
	m := valueOf.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n = l.Count
	switch {
	case m[1] != "":
		n += cmp.Or(l.Burst, l.Count)
	case m[2] != "":
		n *= int64(m[2][0] - '0')
	}
	more, _ := strconv.ParseInt(m[3], 10, 64)
	return n + more, true
}

// check says what is wrong with a goal, for a comparison of these candidates.
func (g Goal) check(into []Candidate) error {
	of, other, err := g.candidates(into)
	if err != nil {
		return err
	}
	kind, known := goalKinds[g.Kind]
	if !known {
		return fmt.Errorf("there is no goal %q", g.Kind)
	}
	for _, f := range g.Fates {
		if f != "allow" && f != "deny" {
			return fmt.Errorf("goal: fate %q is neither allow nor deny", f)
		}
	}
	if g.Kind == GoalDisagree && (other < 0 || other == of) {
		return fmt.Errorf("goal disagree: %q is not another one of the algorithms compared", g.Other)
	}
	if g.ValueOf != "" && !valueOf.MatchString(g.ValueOf) {
		return fmt.Errorf("goal %s: %q is no value of the limit: use 2*limit, burst+limit and the like", g.Kind, g.ValueOf)
	}
	if !kind.told(g) {
		return fmt.Errorf("goal %s: it does not say how much", g.Kind)
	}
	if g.Say == "" {
		return fmt.Errorf("goal %s: it has no task for the reader (say)", g.Kind)
	}
	return nil
}

// candidates finds which candidates the goal is about; other is -1 where none is named.
func (g Goal) candidates(into []Candidate) (of, other int, err error) {
	find := func(name string) int {
		return slices.IndexFunc(into, func(c Candidate) bool { return c.String() == name })
	}
	of, other = find(g.Of), find(g.Other)
	if of < 0 {
		return 0, 0, fmt.Errorf("goal: %q is not one of the algorithms compared", g.Of)
	}
	return of, other, nil
}
