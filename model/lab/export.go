package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
)

// Markdown writes the moment of a run for a document: the terms, how each candidate has
// fared, and how each would decide about one more request, with what it runs on a server.
func Markdown(title string, r *Run, on Redis) string {
	s := r.setup
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, at %s\n\n", strings.ReplaceAll(title, "\n", " "), Seconds(r.Elapsed()))
	fmt.Fprintf(&b, "Limit %d in %s", s.Limit.Count, Seconds(s.Limit.Window))
	if s.Limit.Burst > 0 {
		fmt.Fprintf(&b, ", burst %d", s.Limit.Burst)
	}
	fmt.Fprintf(&b, ", cost %d. %d requests so far.\n\n", s.cost(), r.at)
	b.WriteString("| algorithm | admitted | denied | wrongly admitted | wrongly denied | most in a true window |\n|---|---:|---:|---:|---:|---:|\n")

	for i, c := range s.Candidates {
		t := r.Counts(i)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", c, t.Admitted, t.Denied, t.WronglyAdmitted, t.WronglyDenied, t.Largest)
	}
	b.WriteString("\nWrongly: against the true window of what each algorithm had admitted itself.\n")
	for i, c := range s.Candidates {
		m := r.Ask(i, s.cost())
		w := Explain(c, m, s)
		fmt.Fprintf(&b, "\n## %s\n\nKeeps %s.\n\n```\n%s\n%s\n%s\n```\n\n```\n%s\n```\n", c,
			strings.Join(Keeps(c, m.Before, r.now, s), ", "), w.Rule, strings.Join(w.Numbers, "\n"), w.Verdict, strings.Join(CommandLines(on, c, m, s), "\n"))
	}
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
		if c.Scripted() {
			continue
		}
		into = append(into, c.String())
		if at < 0 && c.Fault == NoFault {
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
	f := newScenarioFile(id, s.Candidates[at].Algorithm, s.Limit, s.Candidates[at].Convention(s.Convention))
	f.Traffic.Into = into
	for i := range r.at {
		if a, v := r.Arrival(i); v.Sent(at) {
			f.add(a, s.Zero, fate(v.Allowed(at)))
		}
	}
	return json.MarshalIndent(f, "", "  ")
}

// scenarioFile is a scenario file with what a lesson holds beside it.
type scenarioFile struct {
	ID         string            `json:"id"`
	Title      string            `json:"title,omitempty"`
	Algorithm  string            `json:"algorithm"`
	Limit      int64             `json:"limit"`
	WindowMS   float64           `json:"window_ms"`
	Burst      int64             `json:"burst,omitempty"`
	Convention map[string]string `json:"convention"`
	Text       []string          `json:"text,omitempty"`
	Goal       *Goal             `json:"goal,omitempty"`
	Traffic    struct {
		Into    []string  `json:"into"`
		Streams []Traffic `json:"streams,omitempty"`
		Given   int       `json:"given,omitempty"`
	} `json:"traffic"`
	Steps []fileStep `json:"steps"`
}

type fileStep struct {
	T      float64 `json:"t_ms"`
	N      int64   `json:"n"`
	Repeat int     `json:"repeat,omitempty"`
	Expect string  `json:"expect,omitempty"`
}

func newScenarioFile(id string, a limiter.Algorithm, l limiter.Limit, terms limiter.Convention) scenarioFile {
	return scenarioFile{ID: id, Algorithm: a.String(), Limit: l.Count, WindowMS: float64(l.Window) / 1e6, Burst: l.Burst,
		Convention: scenario.Words(terms)}
}

// add appends an arrival of a story that begins at zero. Equal ones of one moment are one step.
func (f *scenarioFile) add(a Arrival, zero limiter.Instant, expect string) {
	one := fileStep{T: float64(a.At-zero) / 1000, N: a.Cost, Repeat: 1, Expect: expect}
	if n := len(f.Steps) - 1; n >= 0 && f.Steps[n].T == one.T && f.Steps[n].N == one.N && f.Steps[n].Expect == expect {
		f.Steps[n].Repeat++
		return
	}
	f.Steps = append(f.Steps, one)
}

// lessons reads the file as the lessons that it makes.
func (f *scenarioFile) lessons() ([]Lesson, error) {
	content, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return Load(content)
}
