package lab

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"text/template"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/limiter/scenario"
	"ratescope/model"
	"ratescope/model/collect"
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
	arrivals, name := t.busiest(mostIncident), safetext.Clip(safetext.Clean(t.Keys[0].Name), 28, safetext.Ellipsis)
	if len(arrivals) == 0 {
		return nil, fmt.Errorf("no request of %s is remembered", name)
	}
	file := scenario.NewFile("", algorithm, limit, target.Convention)
	for _, a := range arrivals { // the first in the first window of the story, at its own place in that window
		file.Add(a.At.Sub(arrivals[0].At.Floor(limit.Window)), a.Cost, "")
	}
	into := besides(algorithm, 4)
	file.Traffic = coming{Given: len(file.Steps), Within: float64(t.Keys[0].Within.Microseconds()) / 1000, Into: into}
	var smallest int64
	if t.Keys[0].Denied {
		smallest = smallestLimit(Candidate{Algorithm: algorithm}, limit, target.Convention, arrivals)
	}
	find, which := file, file
	if smallest > 0 && limit.Count == smallest { // else the lesson would be over before it begins
		find.Limit = new(cmp.Or(smallest/2, 2))
	}
	var b bytes.Buffer
	k := &t.Keys[0]
	_ = page("incident.json").Execute(&b, map[string]any{ // a Buffer takes all
		"name": name, "plain": strings.NewReplacer("{", "", "}", "").Replace(name), // a text names its numbers in braces
		"key": k, "of": into[0], "smallest": smallest > 0, "value": cmp.Or(smallest, limit.Count/2, 2),
		"within":  (k.Within + 10*time.Millisecond).Truncate(10 * time.Millisecond),
		"windows": describe.KindOf(k.Target.Algorithm) == describe.Window})
	err := json.Unmarshal(b.Bytes(), &struct{ Limit, Algorithm *scenario.File }{&find, &which})
	var lessons []Lesson
	for _, f := range []scenario.File{find, which} {
		list, failed := lessonsOf(f)
		if err = cmp.Or(err, failed); err != nil {
			return nil, fmt.Errorf("the recording cannot be taught: %w", err)
		}
		lessons = append(lessons, list...)
	}
	return lessons, nil
}

// TraceOf returns the requests of a watched key as its timeline remembers them up to an instant:
// units of cost, each a request of its own, at the beginning of their bins. name is what the key
// is called.
func TraceOf(name string, k *model.Watched, now limiter.Instant) *Trace {
	t := &Trace{Recording: true, Keys: []TraceKey{{Name: name, Target: k.Reading.Target, Denied: k.Reading.Denied.Known,
		Within: k.Reading.Target.Window / model.BinsPerWindow}}}
	for _, a := range k.Timeline.Past(now) {
		for range min(a.N, int64(maxExported-len(t.Arrivals))) {
			t.Arrivals = append(t.Arrivals, Arrival{At: a.At, Cost: 1})
		}
	}
	return t
}

// busiest returns at most so many requests of the first key: those that came within the shortest time.
func (t *Trace) busiest(most int) []Arrival {
	list := collect.Only(t.Arrivals, func(a Arrival) bool { return a.Key == 0 })
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

// smallestLimit returns the smallest limit under which a candidate denies none of the arrivals, with the burst as it is;
// 0 where it is not found.
func smallestLimit(c Candidate, limit limiter.Limit, terms limiter.Convention, list []Arrival) int64 {
	denies := func(count int64) bool {
		s := Setup{Limit: limiter.Limit{Count: count, Window: limit.Window, Burst: limit.Burst}, Convention: terms}
		l := newRunner(c, &s)
		for i, a := range list {
			if d, _ := l.take(a, i, &s); !d.Allowed {
				return true
			}
		}
		return false
	}
	n := sort.Search(len(list), func(n int) bool { return !denies(1 + int64(n)) })
	if n == len(list) {
		return 0
	}
	return 1 + int64(n)
}

//go:embed moment.md incident.json
var pages embed.FS

// page returns the template in a file: a moment of a run as a document, or what the lessons of a recording say.
func page(name string) *template.Template {
	return template.Must(template.New(name).Funcs(template.FuncMap{"seconds": Seconds, "add": func(a, b int64) int64 { return a + b },
		"lines": func(list []string) string { return strings.Join(list, "\n") }, "length": format.Length,
		"in": func(text string) string { // of a string in JSON
			quoted, _ := json.Marshal(text) // no string fails
			return string(quoted[1 : len(quoted)-1])
		}}).ParseFS(pages, name))
}

// Markdown writes the moment of a run for a document: the terms, how each candidate has
// fared, and how each would decide about one more request, with what it runs on a server.
func Markdown(title string, r *Run, on Redis) string {
	type lane struct {
		Name, Keeps string
		Promises    bool
		Counts
		Working
		Runs []string
	}
	s := r.setup
	var lanes []lane
	for i, c := range s.Candidates {
		m := r.Ask(i, s.cost())
		keeps := strings.ReplaceAll(strings.Join(m.KeptBefore(), ", "), ":, ", ": ")
		lanes = append(lanes, lane{c.String(), keeps, c.promises(), r.Counts(i), m.Explain(), m.CommandLines(on)})
	}
	var b strings.Builder
	_ = page("moment.md").Execute(&b, map[string]any{ // a Builder takes all
		"title": strings.ReplaceAll(title, "\n", " "), "at": r.Elapsed(), "s": s, "cost": s.cost(), "lanes": lanes})
	return b.String()
}

// maxExported is how many requests a scenario file of a moment may have.
const maxExported = 20_000

// ScenarioFile writes everything that has happened in a run as a scenario that `verify`
// and the lab read: each request with the fate that the first candidate without a fault
// gave it. Equal requests of one moment are one step.
func ScenarioFile(id string, r *Run) ([]byte, error) {
	s := r.setup
	at := -1
	var into []string
	for i, c := range s.Candidates {
		if c.Yours() {
			continue
		}
		into = append(into, c.String())
		if at < 0 && c.Fault == NoFault && !c.Scripted() {
			at = i
		}
	}
	switch {
	case at < 0:
		return nil, errors.New("every algorithm here has a fault or is a script: add a right one before exporting")
	case r.at == 0:
		return nil, errors.New("nothing has happened yet: let some requests come before exporting")
	case r.at > maxExported:
		return nil, fmt.Errorf("%d requests are too many for a scenario file: restart, and export within the first %d", r.at, maxExported)
	}
	f := scenario.NewFile(id, s.Candidates[at].Algorithm, s.Limit, s.Candidates[at].Convention(s.Convention))
	f.Traffic = coming{Into: into}
	for i := range r.at {
		if a, v := r.Arrival(i); v.Sent(at) {
			f.Add(a.At.Sub(s.Zero), a.Cost, fate[v.Allowed(at)])
		}
	}
	return json.MarshalIndent(f, "", "  ")
}

// lessonsOf reads a file as the lessons that it makes.
func lessonsOf(f scenario.File) ([]Lesson, error) {
	content, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return Load(content)
}
