package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/scenario"
	"ratescope/model/collect"
)

// ID names a finding.
type ID string

// The findings.
const (
	OverAdmits    ID = "over-admits"
	UnderAdmits   ID = "under-admits"
	NoExpiry      ID = "no-expiry"
	ExpiresEarly  ID = "expires-early"
	SameInstant   ID = "same-instant"
	UndeclaredKey ID = "undeclared-key"
	ClientClock   ID = "client-clock"
	ClockBack     ID = "clock-back"
	Grows         ID = "grows"
	CostIgnored   ID = "cost-ignored"
	Fails         ID = "error" // from outside, a header that was not so
)

// Finding is something that a limiter does and should not, or that its user should know.
type Finding struct {
	ID        ID     `json:"id"`
	Fault     bool   `json:"-"`
	Severity  string `json:"severity"` // "fault", or "note"
	Text      string `json:"text"`
	Steps     []Step `json:"steps"`               // the shortest traffic found that shows it; none where none is needed
	Confirmed string `json:"confirmed,omitempty"` // what a real server said to it; "" where none was asked
}

// Worst is the most that was admitted in one window.
type Worst struct {
	Admitted  int64   `json:"admitted"`
	AtLeast   bool    `json:"at_least,omitempty"` // no bound was seen: where more requests come, more are admitted
	WithinMS  float64 `json:"within_ms"`          // set in JSON alone
	Steps     []Step  `json:"steps"`
	Searched  int     `json:"-"`                   // traffics among which it was searched
	Confirmed string  `json:"confirmed,omitempty"` // as of a Finding
}

// Trim is how many entries the last request of a traffic removes in one call, while the server answers no other client.
type Trim struct {
	Entries int64  `json:"entries"`
	Steps   []Step `json:"steps"`
}

// Apart is another call of an application, by its path or a header, and whether it has a limit of its own.
type Apart struct {
	What     string `json:"what"`
	Separate *bool  `json:"separate"` // nil where its answers do not tell
}

// Report is everything that was found out.
type Report struct {
	Told     limiter.Limit // what the limiter is told, or said to keep
	Identity Identity
	Alike    []limiter.Algorithm // from outside: those that the answers do not tell apart
	Limit    limiter.Limit       // as measured; a Count or Window of 0 is not known
	Worst    Worst
	Findings []Finding
	Trim     *Trim // nil where no request removes much in one call, or none was looked for
	Apart    []Apart
	Requests int64 // sent in all
	Traffics int   // by which it was identified
	Commands int   // of one admitted request; 0 where there are none to see
	Keys     []Key
}

// OK reports whether there is no fault.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fault })
}

// Lies adds what headers of an application said and was not so; a header that is not there is a note.
func (r *Report) Lies(said bool, what string) {
	r.find(Fails, said, nil, "%s", what)
}

func (r *Report) find(id ID, fault bool, steps []Step, text string, a ...any) {
	r.Findings = append(r.Findings, Finding{ID: id, Fault: fault, Steps: append([]Step{}, joined(steps)...), Text: fmt.Sprintf(text, a...),
		Severity: collect.If(fault, "fault", "note")})
}

// sort puts faults first, each kind in the order of its discovery, and keeps one of each id.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	seen := map[ID]bool{}
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		twice := seen[f.ID]
		seen[f.ID] = true
		return twice
	})
}

// MarshalJSON writes a step as reports and scenario files have it.
func (s Step) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		T    float64 `json:"t_ms"`
		N    int64   `json:"n"`
		Cost int64   `json:"cost,omitempty"`
	}{millis(s.At), s.N, s.Cost})
}

// MarshalJSON writes the algorithm by its name, and the limit of the candidate.
func (a Against) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"algorithm": a.Algorithm.String(), "limit": a.Limit.Count, "window_ms": millis(a.Limit.Window),
		"steps": a.Steps, "text": a.Text})
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// known is a number, or null where it is not known.
func known[T int64 | float64](v T) *T { return collect.Known(v != 0, v) }

// others are the limits beside one, each with those beside it.
func (c Candidate) others() map[string]any {
	if c.Beside == nil {
		return nil
	}
	all := map[string]any{"algorithm": c.Beside.Algorithm.String(), "limit": c.Beside.Limit.Count,
		"window_ms": millis(c.Beside.Limit.Window)}
	if o := c.Beside.others(); o != nil {
		all["beside"] = o
	}
	return all
}

// MarshalJSON writes the report as the command prints it.
func (r *Report) MarshalJSON() ([]byte, error) {
	var v struct {
		Algorithm string         `json:"algorithm"`
		Exact     bool           `json:"exact"`
		Limit     *int64         `json:"limit"`
		WindowMS  *float64       `json:"window_ms"`
		Burst     *int64         `json:"burst"`
		BlockMS   float64        `json:"block_ms,omitempty"`    // for which a denial keeps all others out; -1 is for ever
		After     int64          `json:"block_after,omitempty"` // denials that bring it about; unsaid: each one
		Charged   *bool          `json:"charged"`
		Beside    map[string]any `json:"beside,omitempty"`
		Edge      string         `json:"edge"`
		Rounding  string         `json:"rounding,omitempty"` // of the share of the window before
		Against   []Against      `json:"against"`
		Worst     Worst          `json:"worst"`
		Findings  []Finding      `json:"findings"`
		Trim      *Trim          `json:"trim,omitempty"`
		Apart     []Apart        `json:"apart,omitempty"`
		Requests  int64          `json:"requests"`
		OK        bool           `json:"ok"`
	}
	v.Algorithm, v.Exact, v.Limit, v.WindowMS = r.Name(), r.Identity.Exact, known(r.Limit.Count), known(millis(r.Limit.Window))
	v.Burst, v.BlockMS, v.Charged = known(r.Limit.Burst), millis(r.Identity.Block), r.Identity.Charged
	v.After, v.Rounding, v.Against = r.Identity.After, r.Identity.Rounding(), append([]Against{}, r.Identity.Against...)
	v.Beside, v.Edge = r.Identity.others(), scenario.Words(r.Identity.Terms)["edge"]
	if r.Identity.Block == Forever {
		v.BlockMS = -1
	}
	v.Worst, v.Findings = r.Worst, append([]Finding{}, r.Findings...)
	v.Worst.WithinMS, v.Worst.Steps = millis(r.Told.Window), append([]Step{}, r.Worst.Steps...)
	v.Trim, v.Apart, v.Requests, v.OK = r.Trim, r.Apart, r.Requests, r.OK()
	return json.Marshal(v)
}

// Name is the algorithm's name, or unknown.
func (r *Report) Name() string { return r.Identity.Algorithm.String() }

// Scenario returns a counter-example as a scenario file, which expects what the algorithm that the limiter
// is would answer under the limit that it was told: nil where there is no traffic or no algorithm.
func (r *Report) Scenario(f Finding) *scenario.File {
	c := r.promise()
	if len(f.Steps) == 0 || c.Algorithm == limiter.Unknown {
		return nil
	}
	if c.Algorithm.Bursts() {
		c.Terms.Denied = convention.Free // those of scenarios charge nothing that they deny
	}
	p := player{subject: c.alone(), zero: Zero(r.Told.Window)}
	_ = p.subject.Reset()
	story := scenario.NewFile(string(f.ID), c.Algorithm, limiter.Limit{Count: r.Told.Count, Window: r.Told.Window,
		Burst: max(c.Limit.Burst, r.Told.Count)}, c.Terms)
	for _, s := range f.Steps {
		for range s.N {
			expect := collect.If(p.subject.Admit(p.zero.Add(s.At), s.cost()).Admitted, "allow", "deny")
			story.Add(s.At, s.cost(), expect)
		}
	}
	story.Title, story.Source, story.Notes = "What breaks it: "+string(f.ID), "ratescope check", f.Text
	story.Text = []string{f.Text, "→ steps through the requests, D shows what a decision is made of. The algorithms here " +
		"answer as they should: ratescope lab --script FILE shows the script in a lane beside them."}
	return &story
}

// promise is what the limiter would be if it kept the limit that it was told.
func (r *Report) promise() Candidate {
	c := r.Identity.Candidate
	burst := c.Limit.Burst
	c.Limit, c.Grain, c.Renewed = r.Told, 0, false
	if c.Algorithm.Bursts() {
		c.Limit.Burst = cmp.Or(r.Told.Burst, max(min(burst, r.Told.Count), 1))
	}
	return c
}

// rate is the count in so long, of a limit that comes back evenly.
func rate(l limiter.Limit, w time.Duration) float64 {
	return float64(l.Count) * float64(w) / float64(l.Window)
}
