package record

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// Version is the version of the format that a Writer writes, and the newest that a
// Reader reads.
const Version = 2

// Bounds of what is written and read.
const (
	MaxLine    = 4 << 20    // bytes of a line, its end included
	maxEntries = 1 << 18    // of a log, of arrivals or of levels
	maxIDs     = 20_000     // keys between two frames, twice what a source watches
	maxBatch   = 20_000     // readings of a batch
	maxFresh   = 1 << 20    // arrivals and levels of a batch together: 24 MB
	maxHeld    = 16 << 20   // log entries held of all keys together: 256 MB
	maxFired   = 20_000     // requests fired of a batch
	maxHold    = maxIDs / 2 // keys that are told again where a frame begins
	maxFrames  = 50_000     // places to begin at, 17 days; of more every second one is dropped
)

// A compressed recording is a tenth to a hundredth as large. What grows beyond these two
// together is made to fill the memory or the time of its reader.
const (
	maxGrowth  = 100     // uncompressed bytes for each compressed one
	freeGrowth = 8 << 20 // uncompressed bytes in any case
)

// line is one line; exactly one field is set.
type line struct {
	Recording *opening `json:"recording,omitempty"`
	Anew      *int     `json:"anew,omitempty"`
	Reading   *reading `json:"r,omitempty"`
	Pack      *pack    `json:"p,omitempty"`
	Held      *batch   `json:"held,omitempty"`
	Batch     *batch   `json:"b,omitempty"`
	End       *ending  `json:"end,omitempty"`
}

type opening struct {
	Version int             `json:"version"`
	By      text            `json:"by"`
	At      limiter.Instant `json:"at"`
	Server  *model.Server   `json:"server,omitempty"`
	Watch   []text          `json:"watch,omitempty"`
	Rules   []text          `json:"rules,omitempty"`
	Masked  bool            `json:"masked,omitempty"`
}

type ending struct {
	Batches int `json:"batches"`
}

type batch struct {
	At     limiter.Instant `json:"at"`
	Local  int64           `json:"local,omitempty"` // nanoseconds since the epoch on the recorder's own clock
	Link   uint8           `json:"link,omitempty"`
	Err    text            `json:"err,omitzero"`
	RTT    int64           `json:"rtt,omitempty"` // nanoseconds
	Offset int64           `json:"offset,omitempty"`
	OffBy  int64           `json:"offset_by,omitempty"`
	Down   int64           `json:"down,omitempty"`
	Silent bool            `json:"silent,omitempty"`
	Server *model.Server   `json:"server,omitempty"`
	Sweep  *sweep          `json:"sweep,omitempty"`
	Behind int             `json:"behind,omitempty"` // of the sweep, which changes less often
	Cost   [3]int64        `json:"cost,omitzero"`    // commands, nanoseconds of the server, nanoseconds covered
	Gone   []text          `json:"gone,omitempty"`
	Left   []text          `json:"left_out,omitempty"`
	Fired  []fired         `json:"fired,omitempty"`
	Health *health         `json:"health,omitempty"`
	Hot    *hot            `json:"hot,omitempty"`
}

type sweep struct {
	model.Sweep
	Patterns   []text     `json:"patterns,omitempty"`
	Beyond     []keyGroup `json:"beyond,omitempty"`
	Candidates []keyGroup `json:"candidates,omitempty"`
}

type keyGroup struct {
	Pattern   text   `json:"pattern"`
	Example   text   `json:"example,omitzero"`
	Keys      int    `json:"keys,omitempty"`
	Library   text   `json:"library,omitzero"`
	Evidence  uint8  `json:"evidence,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Why       []text `json:"why,omitempty"`
}

type key struct {
	Name       text   `json:"name"`
	Type       text   `json:"type,omitzero"`
	Algorithm  string `json:"algorithm,omitempty"`
	State      string `json:"state,omitempty"` // the algorithm in whose terms the state is, where that is another
	Inferred   bool   `json:"inferred,omitempty"`
	Limit      *int64 `json:"limit,omitempty"` // known, however large
	Unproven   int64  `json:"unproven,omitempty"`
	Per        int64  `json:"per,omitempty"` // the limit's own window, nanoseconds
	Burst      int64  `json:"burst,omitempty"`
	Window     int64  `json:"window,omitempty"` // nanoseconds
	Convention string `json:"convention,omitempty"`
	Tick       int64  `json:"tick,omitempty"` // nanoseconds
	Unit       int64  `json:"unit,omitempty"`
	Suffixed   bool   `json:"suffixed,omitempty"`
	NoTotals   bool   `json:"untotalled,omitempty"`
	Units      bool   `json:"units,omitempty"`
	Ruled      bool   `json:"ruled,omitzero"`
	Described  bool   `json:"described,omitzero"`
	Library    text   `json:"library,omitzero"`
	Evidence   uint8  `json:"evidence,omitempty"`
	LimitFrom  uint8  `json:"limit_from,omitempty"`
	Exact      bool   `json:"exact,omitempty"`
	Base       text   `json:"base,omitzero"`
	LimitKey   text   `json:"limit_key,omitzero"`
	Members    []text `json:"members,omitempty"`
	Why        []text `json:"why,omitempty"`
	Unsettled  []text `json:"unsettled,omitempty"`
	Pattern    text   `json:"pattern,omitzero"`
	Notes      []text `json:"notes,omitempty"`
	Err        text   `json:"err,omitzero"`
}

type reading struct {
	ID       int             `json:"id"`
	Key      *key            `json:"key,omitempty"`
	At       limiter.Instant `json:"at"`
	Since    limiter.Instant `json:"since,omitempty"`
	Flags    uint8           `json:"flags,omitempty"` // 1 approximate, 2 previous known, 4 exact known, 8 has a log, 16 partial
	Start    limiter.Instant `json:"start,omitempty"`
	Previous int64           `json:"previous,omitempty"`
	Current  int64           `json:"current,omitempty"`
	Before   limiter.Instant `json:"before,omitempty"` // where the previous window began
	TAT      limiter.Instant `json:"tat,omitempty"`
	Level    real            `json:"level,omitempty"`
	Filled   limiter.Instant `json:"filled,omitempty"`
	Part     int64           `json:"part,omitempty"`
	Parts    int64           `json:"parts,omitempty"`
	Blocked  limiter.Instant `json:"blocked,omitempty"`
	Ends     limiter.Instant `json:"ends,omitempty"`
	Drop     int             `json:"drop,omitempty"`
	Keep     int             `json:"keep,omitempty"`
	Log      []int64         `json:"log,omitempty"`      // pairs
	Arrivals []int64         `json:"arrivals,omitempty"` // pairs: instant before at, and twice the units, one more when denied
	Trace    []int64         `json:"trace,omitempty"`    // triples: instant before at, since before that (-1: 0), used
	Denied   *int64          `json:"denied,omitempty"`
	TTL      int64           `json:"ttl,omitempty"` // nanoseconds; -1 for ever
}

const (
	flagApproximate = 1 << iota
	flagPrevious
	flagExact
	flagLog
	flagPartial
)

type health struct {
	model.Health
	Measures map[string]real `json:"measures,omitempty"` // what is known
	Slow     []slow          `json:"slow,omitempty"`
}

type slow struct {
	ID      int64           `json:"id"`
	At      limiter.Instant `json:"at"`
	Took    int64           `json:"took"`
	Command text            `json:"command"`
	Keys    []text          `json:"keys,omitempty"`
	Rest    int             `json:"rest,omitempty"`
}

type hot struct {
	At      limiter.Instant    `json:"at"`
	Heats   []heat             `json:"heats,omitempty"`   // of version 1
	Keys    []int64            `json:"keys,omitempty"`    // ids in ascending order, each less the one before
	Names   []text             `json:"names,omitempty"`   // of the keys that have no id, after those that do
	Figures map[string][]*real `json:"figures,omitempty"` // of the keys, by their names in heat; null is unknown
	Heard   *real              `json:"heard,omitempty"`
	Missed  *real              `json:"missed,omitempty"`
	Sources []text             `json:"sources,omitempty"`
}

type heat struct {
	Key      text  `json:"key"`
	Writes   *real `json:"writes,omitempty"`
	WritesBy real  `json:"writes_by,omitempty"`
	CPU      *real `json:"cpu,omitempty"`
	Net      *real `json:"net,omitempty"`
	Counter  *real `json:"counter,omitempty"`
}

// text is a string with any bytes.
type text string

// MarshalJSON writes a string, or the bytes of one that is not valid UTF-8.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(struct {
		Bytes []byte `json:"b64"`
	}{[]byte(t)})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, (*string)(t))
	}
	var raw struct {
		Bytes []byte `json:"b64"`
	}
	err := json.Unmarshal(b, &raw)
	*t = text(raw.Bytes)
	return err
}

// real is any float64: JSON has no word for what is not finite, so that is a string.
type real float64

// MarshalJSON writes a number, or "NaN", "+Inf" or "-Inf".
func (r real) MarshalJSON() ([]byte, error) {
	if f := float64(r); math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(float64(r))
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *real) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*r = real(f)
	return err
}

// as returns the same strings as another type.
func as[To, From ~string](list []From) []To {
	return collect.Map(list, func(s From) To { return To(s) })
}

// fired is a request that was fired while the recording went on. Lengths of time are
// nanoseconds.
type fired struct {
	model.Fired
	Key        text            `json:"key"`
	Err        text            `json:"err,omitzero"`
	Limit      int64           `json:"limit,omitempty"`
	Window     int64           `json:"window,omitempty"`
	Burst      int64           `json:"burst,omitempty"`
	Used       int64           `json:"used,omitempty"`
	Remaining  int64           `json:"remaining,omitempty"`
	RetryAfter int64           `json:"retry_after,omitempty"`
	ResetAfter int64           `json:"reset_after,omitempty"`
	Previous   int64           `json:"previous,omitempty"`
	Current    int64           `json:"current,omitempty"`
	Weight     real            `json:"weight,omitempty"`
	Estimate   real            `json:"estimate,omitempty"`
	Start      limiter.Instant `json:"start,omitempty"`
	End        limiter.Instant `json:"end,omitempty"`
	Answer     *answer         `json:"answer,omitempty"` // of an application, where one was fired at
}

// answer is what an application said. Lengths of time are nanoseconds.
type answer struct {
	Status     int    `json:"status,omitempty"`
	RetryAfter *int64 `json:"retry_after,omitempty"`
	Reset      *int64 `json:"reset,omitempty"`
	Remaining  *int64 `json:"remaining,omitempty"`
	XReset     bool   `json:"x_reset,omitempty"`
}

func answerOf(a *model.Answer) *answer {
	if a == nil {
		return nil
	}
	return &answer{a.Status, collect.Known(a.RetryAfter.Known, int64(a.RetryAfter.D)), collect.Known(a.Reset.Known, int64(a.Reset.D)),
		collect.Known(a.Remaining.Known, a.Remaining.N), a.XReset}
}

func (a *answer) model() *model.Answer {
	if a == nil {
		return nil
	}
	out := &model.Answer{Status: a.Status, XReset: a.XReset, RetryAfter: wait(a.RetryAfter), Reset: wait(a.Reset)}
	if a.Remaining != nil {
		out.Remaining = model.Count{Known: true, N: *a.Remaining}
	}
	return out
}

func wait(d *int64) model.Wait {
	if d == nil {
		return model.Wait{}
	}
	return model.Wait{Known: true, D: time.Duration(*d)}
}

func firedOf(list []model.Fired) []fired {
	var out []fired
	for _, f := range list {
		d := &f.Decision
		out = append(out, fired{
			Fired: f, Key: text(f.Key), Err: text(f.Err),
			Limit: d.Limit.Count, Window: int64(d.Limit.Window), Burst: d.Limit.Burst, Used: d.Used, Remaining: d.Remaining,
			RetryAfter: int64(d.RetryAfter), ResetAfter: int64(d.ResetAfter), Previous: d.Previous, Current: d.Current,
			Weight: real(d.Weight), Estimate: real(d.Estimate), Start: d.Start, End: d.End, Answer: answerOf(f.Answer),
		})
	}
	return out
}

func modelOf(list []fired) []model.Fired {
	var out []model.Fired
	for _, f := range list[:min(len(list), maxFired)] {
		m := f.Fired
		m.Key, m.Err, m.Outcome, m.Answer = string(f.Key), string(f.Err), min(f.Outcome, model.Unanswered), f.Answer.model()
		if m.Outcome == model.Admitted || m.Outcome == model.Denied {
			m.Decision = limiter.Decision{
				Allowed: m.Outcome == model.Admitted, At: f.At, Cost: f.Cost,
				Limit: limiter.Limit{Count: f.Limit, Window: time.Duration(f.Window), Burst: f.Burst},
				Used:  f.Used, Remaining: f.Remaining, RetryAfter: time.Duration(f.RetryAfter), ResetAfter: time.Duration(f.ResetAfter),
				Previous: f.Previous, Current: f.Current, Weight: float64(f.Weight), Estimate: float64(f.Estimate),
				Start: f.Start, End: f.End,
			}
		}
		out = append(out, m)
	}
	return out
}
