package lab

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// mostIncident bounds the requests of a lesson from a recording: those of its busiest stretch of time.
const mostIncident = maxExported

// IncidentID begins the names of lessons that Incident made.
const IncidentID = "incident-"

// defaultLimit is the limit of the first question where the recording does not tell its own.
var defaultLimit = limiter.Limit{Count: 100, Window: time.Minute}

// Incident returns the lessons of a recording: the requests of its busiest key under the
// limiter that kept it, with the question which limit would have denied nothing, and
// the same requests with the question which algorithm would have let the burst through.
// They are scenario files, as File returns them.
func Incident(t *Trace) ([]Lesson, error) {
	if len(t.Keys) == 0 {
		return nil, fmt.Errorf("the recording holds no request")
	}
	target := t.Keys[0].Target
	limit, algorithm := target.Limit, target.Algorithm
	if !target.LimitKnown || limit.Count == 0 || limit.Validate() != nil {
		limit = defaultLimit
		if target.Window >= limiter.MinWindow && target.Window <= limiter.MaxWindow {
			limit.Window = target.Window.Truncate(time.Microsecond)
		}
	}
	if algorithm == limiter.Unknown {
		algorithm = limiter.SlidingLog
	}
	arrivals, name := t.busiest(0, mostIncident), safetext.Clip(safetext.Clean(t.Keys[0].Name), 28, safetext.Ellipsis)
	if len(arrivals) == 0 {
		return nil, fmt.Errorf("no request of %s is remembered", name)
	}
	smallest, err := smallestLimit(Candidate{Algorithm: algorithm}, limit, target.Convention, arrivals)
	if err != nil {
		return nil, err
	}
	file := newScenarioFile("", algorithm, limit, target.Convention)
	for _, a := range arrivals { // the first in the first window of the story, at its own place in that window
		file.add(a, arrivals[0].At.Floor(limit.Window), "")
	}
	file.Traffic.Given = len(file.Steps)
	file.Traffic.Into = besides(algorithm, 4)
	find, which := t.findLimit(file, name, limit, smallest), file
	which.ID, which.Title = IncidentID+"algorithm", "Incident: the burst at "+name
	which.Text = []string{
		"The same {given} requests, under the same limit of {limit} in {window}, at several algorithms side by side.",
		"Some of them let more of the burst through than others. Which one admits most in one true window?",
	}
	which.Goal = &Goal{
		Kind: GoalMost, Of: file.Traffic.Into[0], Value: 1,
		Say:  "Let the story run to its end, and select (a) the algorithm that admits most in one true window.",
		Hint: "The right end of each lane's title says the most.",
		Then: "It admitted {most} in {most-span}, under a limit of {limit} in {window}.",
	}
	var lessons []Lesson
	for _, f := range []scenarioFile{find, which} {
		list, err := f.lessons()
		if err != nil {
			return nil, fmt.Errorf("the recording cannot be taught: %w", err)
		}
		lessons = append(lessons, list...)
	}
	return lessons, nil
}

// findLimit returns the lesson that asks for the smallest limit which lets in all that was recorded, of a file with
// the requests.
func (t *Trace) findLimit(find scenarioFile, name string, limit limiter.Limit, smallest int64) scenarioFile {
	find.ID, find.Title = IncidentID+"limit", "Incident: the limit for "+name
	all := t.Keys[0].Denied
	what, say := "requests", "Find the smallest limit under which nothing is denied."
	if !all {
		what, say = "admitted requests", "Find the smallest limit that lets in all that was admitted."
	}
	if t.Keys[0].Stood {
		find.Text = append(find.Text, "What counted when the recording began is among them: when exactly it came is not known.")
	}
	if find.Limit == smallest { // else the lesson would be over before it begins
		find.Limit = max(smallest/2, 1)
	}
	find.Text = append([]string{
		fmt.Sprintf("These are the %s of the key %s as they were recorded: {given} in all. The limit was %d in %s.",
			what, braceless(name), limit.Count, format.Length(limit.Window)),
		"Press g to go to a time, or p to let it run. Press w and change the limit; + and - change it by one.",
	}, find.Text...)
	find.Goal = &Goal{
		Kind: GoalSmallest, Of: find.Traffic.Into[0], Value: smallest,
		Say:  say,
		Hint: "Try one at which nothing is denied, and halve the distance to one at which something is.",
		Then: "A limit of {limit} in {window} denies nothing; one less denies.",
	}
	if !all {
		alone := "What was denied is not recorded: these are admitted requests alone."
		find.Text = append(find.Text, alone)
		find.Goal.Then = "A limit of {limit} in {window} lets in all of these; one less does not. What was denied is not known."
	}
	return find
}

// TraceOf returns the requests of a watched key as its timeline remembers them up to an instant:
// units of cost, each a request of its own, at the beginning of their bins. name is what the key
// is called.
func TraceOf(name string, k *model.Watched, now limiter.Instant) *Trace {
	t := &Trace{Recording: true, Keys: []TraceKey{{Name: name, Target: k.Reading.Target, Denied: k.Reading.Denied.Known}}}
	for _, a := range k.Timeline.Past(now) {
		for range min(a.N, int64(maxExported-len(t.Arrivals))) {
			t.Arrivals = append(t.Arrivals, Arrival{At: a.At, Cost: 1})
		}
	}
	return t
}

// braceless takes braces out of a name: a text names its numbers in braces.
func braceless(name string) string {
	return string(slices.DeleteFunc([]rune(name), func(r rune) bool { return r == '{' || r == '}' }))
}

// busiest returns at most so many requests of a key: those that came within the shortest time.
func (t *Trace) busiest(key int32, most int) []Arrival {
	var list []Arrival
	for _, a := range t.Arrivals {
		if a.Key == key {
			a.Key = 0
			list = append(list, a)
		}
	}
	if len(list) <= most {
		return list
	}
	best := 0
	for i := range len(list) - most {
		if list[i+most-1].At-list[i].At < list[best+most-1].At-list[best].At {
			best = i
		}
	}
	return list[best : best+most]
}

// smallestLimit returns the smallest limit under which a candidate denies none of the
// arrivals; the burst is as large.
func smallestLimit(c Candidate, limit limiter.Limit, terms limiter.Convention, list []Arrival) (int64, error) {
	var sum int64
	for _, a := range list {
		sum += a.Cost
	}
	if sum > limiter.MaxCount {
		return 0, fmt.Errorf("the recording counts to more than a trillion")
	}
	return 1 + int64(sort.Search(int(max(sum-1, 0)), func(n int) bool { // the sum itself is enough
		s := Setup{Limit: limiter.Limit{Count: 1 + int64(n), Window: limit.Window}, Convention: terms}
		l := newRunner(c, &s)
		for i, a := range list {
			if d, _ := l.take(a, i, &s); !d.Allowed {
				return false
			}
		}
		return true
	})), nil
}
