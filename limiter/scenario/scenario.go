// Package scenario reads and runs scenario files: a limit, a convention and steps in
// time with what has to come out. The same files are checked against every store and
// taught from.
package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// Scenario is one story: requests at given moments and their fate.
type Scenario struct {
	ID         string
	Title      string // what it is called on screen; the ID where the file has none
	Source     string
	Notes      string
	Algorithm  limiter.Algorithm
	Limit      limiter.Limit
	Convention limiter.Convention
	Steps      []Step
	Raw        json.RawMessage // as it was read, without spaces between
}

// Step is a number of equal requests at one moment. What is not expected is nil.
type Step struct {
	At     time.Duration // since the epoch-aligned zero of the story
	Cost   int64         // of each; 0 is a peek
	Repeat int
	Expect *bool // allowed or not, for each of them

	// These hold after the last of them.
	Remaining  *int64
	Count      *int64 // units charged to the key
	RetryAfter *time.Duration
	ResetAfter *time.Duration
}

// File is a scenario as it is on disk. Fields that teach, or say where a story comes from, are
// read as they come.
type File struct {
	ID                 string         `json:"id"`
	Title              string         `json:"title,omitempty"`
	Source             string         `json:"source,omitempty"`
	Algorithm          string         `json:"algorithm"`
	Limit              *int64         `json:"limit"`
	WindowMS           *float64       `json:"window_ms"`
	Burst              int64          `json:"burst,omitempty"`
	EmissionIntervalMS float64        `json:"emission_interval_ms,omitempty"`
	Capacity           int64          `json:"capacity,omitempty"`
	RefillTokens       int64          `json:"refill_tokens,omitempty"`
	RefillIntervalMS   float64        `json:"refill_interval_ms,omitempty"`
	Convention         conventionFile `json:"convention"`
	Text               any            `json:"text,omitempty"`
	Goal               any            `json:"goal,omitempty"`
	Traffic            any            `json:"traffic,omitempty"`
	Steps              []FileStep     `json:"steps"`
	Notes              any            `json:"notes,omitempty"`
	Tags               any            `json:"tags,omitempty"`
}

// FileStep is a Step as it is on disk.
type FileStep struct {
	T          *float64 `json:"t_ms"`
	N          *int64   `json:"n,omitempty"`
	Repeat     *int     `json:"repeat,omitempty"`
	Expect     string   `json:"expect,omitempty"`
	Remaining  *int64   `json:"remaining,omitempty"`
	Count      *int64   `json:"count,omitempty"`
	RetryAfter *float64 `json:"retry_after_ms,omitempty"`
	ResetAfter *float64 `json:"reset_after_ms,omitempty"`
	Text       any      `json:"text,omitempty"`
	Notes      any      `json:"notes,omitempty"`
}

// NewFile returns a file without steps.
func NewFile(id string, a limiter.Algorithm, l limiter.Limit, c limiter.Convention) File {
	f := File{ID: id, Algorithm: a.String(), Limit: &l.Count, WindowMS: new(float64(l.Window) / 1e6), Burst: l.Burst,
		Convention: conventionFile{}}
	for name, word := range Words(c) {
		f.Convention[name] = word
	}
	if c.Block > 0 {
		f.Convention["block_ms"] = float64(c.Block) / 1e6
	}
	return f
}

// Add appends a request, which is expected to "allow" or "deny", or "". Equal ones of one moment are one step.
func (f *File) Add(at time.Duration, cost int64, expect string) {
	t := float64(at) / 1e6
	if n := len(f.Steps) - 1; n >= 0 && *f.Steps[n].T == t && *f.Steps[n].N == cost && f.Steps[n].Expect == expect {
		*f.Steps[n].Repeat++
		return
	}
	f.Steps = append(f.Steps, FileStep{T: &t, N: &cost, Repeat: new(1), Expect: expect})
}

// Load reads one scenario or an array of them. Errors name the scenario and what is
// wrong with it; a misspelt field is an error and not an expectation that never fails.
func Load(r io.Reader) ([]Scenario, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	content = bytes.TrimSpace(content)
	if len(content) == 0 {
		return nil, errors.New("the file is empty: write one scenario or an array of them")
	}
	raw := []json.RawMessage{content}
	if content[0] == '[' {
		if err := json.Unmarshal(content, &raw); err != nil {
			return nil, jsonError(err, content)
		}
	} else if err := json.Unmarshal(content, &raw[0]); err != nil {
		return nil, jsonError(err, content)
	}
	all := make([]Scenario, 0, len(raw))
	seen := map[string]bool{}
	for i, one := range raw {
		s, err := read(one)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", cmp.Or(s.ID, fmt.Sprintf("number %d", i+1)), err)
		}
		if seen[s.ID] {
			return nil, fmt.Errorf("scenario %s: the id is used twice", s.ID)
		}
		seen[s.ID] = true
		all = append(all, s)
	}
	return all, nil
}

// jsonError says where the text stops being JSON.
func jsonError(err error, content []byte) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(content[:min(syntax.Offset, int64(len(content)))], []byte("\n"))
		return fmt.Errorf("line %d is not JSON: %w", line, err)
	}
	return err
}

func read(raw json.RawMessage) (Scenario, error) {
	var compact bytes.Buffer
	_ = json.Compact(&compact, raw) // it is valid
	var f File
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&f) // which reads all the same what it knows
	s := Scenario{ID: f.ID, Title: cmp.Or(f.Title, f.ID), Source: f.Source, Raw: compact.Bytes()}
	if err != nil {
		return s, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if f.ID == "" {
		return s, errors.New("it has no id")
	}
	s.Notes, _ = f.Notes.(string)
	if s.Algorithm, err = limiter.ParseAlgorithm(f.Algorithm); err != nil {
		return s, err
	}
	if s.Convention, err = f.Convention.parse(); err != nil {
		return s, err
	}
	if s.Limit, err = f.limit(s.Algorithm, s.Convention); err != nil {
		return s, err
	}
	if len(f.Steps) == 0 {
		return s, errors.New("it has no steps")
	}
	for i, one := range f.Steps {
		step, err := one.parse()
		if err != nil {
			return s, fmt.Errorf("step %d: %w", i+1, err)
		}
		s.Steps = append(s.Steps, step)
	}
	return s, nil
}

// limit translates the ways in which a file states a limit. A bucket that fills in
// batches is given by its capacity and its refill; anything else by limit and window.
func (f *File) limit(a limiter.Algorithm, c limiter.Convention) (limiter.Limit, error) {
	if f.Limit == nil || f.WindowMS == nil {
		return limiter.Limit{}, errors.New("it needs a limit and a window_ms")
	}
	l := limiter.Limit{Count: *f.Limit, Window: millis(*f.WindowMS), Burst: f.Burst}
	if f.Capacity != 0 {
		l.Burst = f.Capacity
	}
	if f.RefillTokens != 0 || f.RefillIntervalMS != 0 {
		if a != limiter.TokenBucket || c.Refill != convention.Interval {
			return l, errors.New("refill_tokens and refill_interval_ms belong to a token bucket with the convention refill: interval")
		}
		if f.Capacity == 0 {
			l.Burst = l.Count
		}
		l.Count, l.Window = f.RefillTokens, millis(f.RefillIntervalMS)
	}
	if err := l.Validate(); err != nil {
		return l, err
	}
	if e := f.EmissionIntervalMS; e != 0 && l.Count > 0 && (millis(e)-l.Window/time.Duration(l.Count)).Abs() > time.Microsecond {
		return l, fmt.Errorf("emission_interval_ms %v is not window_ms / limit, which is %v", e, l.Window/time.Duration(l.Count))
	}
	return l, nil
}

func (f *FileStep) parse() (Step, error) {
	s := Step{Cost: 1, Repeat: 1, Remaining: f.Remaining, Count: f.Count}
	if f.T == nil {
		return s, errors.New("it has no t_ms")
	}
	s.At = millis(*f.T)
	if f.N != nil {
		s.Cost = *f.N
	}
	if f.Repeat != nil {
		s.Repeat = *f.Repeat
	}
	const most = 1_000_000
	if s.Cost < 0 || s.Repeat < 1 || s.Repeat > most || s.At < 0 {
		return s, fmt.Errorf("t_ms and n must not be negative, and repeat is 1 to %d", most)
	}
	switch f.Expect {
	case "":
	case "allow", "deny":
		allowed := f.Expect == "allow"
		s.Expect = &allowed
	default:
		return s, fmt.Errorf("expect is %q: write allow or deny", f.Expect)
	}
	s.RetryAfter, s.ResetAfter = optional(f.RetryAfter), optional(f.ResetAfter)
	return s, nil
}

// millis reads milliseconds to the nearest nanosecond: 1.001 of them are 1,001 µs, though
// the nearest double is less. What no duration holds becomes the longest.
func millis(ms float64) time.Duration {
	const longest = math.MaxInt64 / 2
	return time.Duration(math.Round(min(max(ms*float64(time.Millisecond), -longest), longest)))
}

func optional(ms *float64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := millis(*ms)
	if *ms == -1 {
		d = limiter.Never
	}
	return &d
}

// Variant is one of the fields of a convention, and the names of its values in their order.
type Variant struct {
	Name  string
	value *uint8
	names []string
}

// Word names the value of the field as files do.
func (v Variant) Word() string { return v.names[min(int(*v.value), len(v.names)-1)] }

// Turn gives the field the value so many after its own, in a ring.
func (v Variant) Turn(by int) { *v.value = uint8((int(*v.value) + by + len(v.names)) % len(v.names)) }

// Variants returns the fields of a convention by the names that files use.
func Variants(c *limiter.Convention) []Variant {
	return []Variant{
		{"edge", (*uint8)(&c.Edge), []string{"half-open", "closed"}},
		{"alignment", (*uint8)(&c.Alignment), []string{"epoch", "first-request"}},
		{"rounding", (*uint8)(&c.Rounding), []string{"floor", "exact", "round"}},
		{"rule", (*uint8)(&c.Rule), []string{"fits", "below"}},
		{"denied", (*uint8)(&c.Denied), []string{"free", "charged"}},
		{"refill", (*uint8)(&c.Refill), []string{"greedy", "interval"}},
	}
}

// conventionFile is a convention in a file. What is not named is the default, except for the
// rounding: a story that does not mention one speaks of plain arithmetic, where no fraction is dropped.
type conventionFile map[string]any

func (f conventionFile) parse() (limiter.Convention, error) {
	c := limiter.Convention{Rounding: convention.Exact}
	fields := Variants(&c)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		value := f[name]
		if ms, ok := value.(float64); ok && name == "block_ms" {
			c.Block = millis(ms)
			continue
		}
		i := slices.IndexFunc(fields, func(v Variant) bool { return v.Name == name })
		if i < 0 {
			return c, fmt.Errorf("unknown field %q in the convention", name)
		}
		if value == "" {
			continue
		}
		at := slices.Index(fields[i].names, fmt.Sprint(value))
		if at < 0 {
			return c, fmt.Errorf("convention %s is %q: write %s", name, fmt.Sprint(value), strings.Join(fields[i].names, " or "))
		}
		*fields[i].value = uint8(at)
	}
	return c, nil
}

// SetWord gives one of the fields of a convention the value that a word names, and reports whether it names one.
func SetWord(c *limiter.Convention, word string) bool {
	for _, v := range Variants(c) {
		if at := slices.Index(v.names, word); at >= 0 {
			*v.value = uint8(at)
			return true
		}
	}
	return false
}

// Words names the values of all fields of a convention as files do.
func Words(c limiter.Convention) map[string]string {
	words := map[string]string{}
	for _, v := range Variants(&c) {
		words[v.Name] = v.Word()
	}
	return words
}

// Describe names what differs from the default, as in "closed, charged"; "" for nothing.
func Describe(c limiter.Convention) string {
	var words []string
	for _, v := range Variants(&c) {
		if *v.value > 0 && int(*v.value) < len(v.names) {
			words = append(words, v.names[*v.value])
		}
	}
	if c.Block > 0 {
		words = append(words, "block "+c.Block.String())
	}
	return strings.Join(words, ", ")
}

// ParseWords is the inverse of Describe.
func ParseWords(text string) (c limiter.Convention, err error) {
	if text == "" {
		return c, nil
	}
	for word := range strings.SplitSeq(text, ", ") {
		known := SetWord(&c, word)
		if block, found := strings.CutPrefix(word, "block "); found {
			c.Block, err = time.ParseDuration(block)
			known = err == nil && c.Block >= 0
		}
		if !known {
			return c, fmt.Errorf("convention %q is none: use words as in closed, charged", word)
		}
	}
	return c, nil
}
