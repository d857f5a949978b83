package lab

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model/collect"
)

// sharePrefix begins a line that opens the lab on a moment.
const sharePrefix = "s:"

// Bounds of what a line may hold: it comes from a chat or a mail.
const (
	maxShareText    = 64 << 10
	maxShareContent = 1 << 20
	maxShareFired   = maxExported
	maxShareTime    = 400 * 24 * time.Hour
)

// Shared is a moment of the lab that can be sent to another person.
type Shared struct {
	Lesson   Lesson
	Setup    Setup
	Traffic  []Traffic
	Recorded bool // the requests come from a trace and not from Traffic
	Seed     uint64
	Fired    []Arrival // by hand, in the order of time
	Now      limiter.Instant
	Left     []int  // requests of the same instant that were still to come, at each of Fired and now; nil for none
	View     string // which picture is on screen
	Selected int    // the candidate in focus
}

// shareForm is a Shared as it is written. Names are short: the line is pasted.
type shareForm struct {
	ID         string          `json:"i,omitempty"` // of a lesson that comes with the program
	File       json.RawMessage `json:"f,omitempty"` // or the scenario itself
	Into       []string        `json:"a"`
	Limit      int64           `json:"l"`
	Window     int64           `json:"w"` // microseconds, as all times here
	Burst      int64           `json:"b,omitempty"`
	Cost       int64           `json:"n,omitempty"`
	Skew       int64           `json:"k,omitempty"`
	Convention []string        `json:"c"`
	Traffic    []Traffic       `json:"t,omitempty"`
	Seed       uint64          `json:"s,omitempty"`
	Fired      [][2]int64      `json:"r,omitempty"` // after the one before, and its cost
	Now        int64           `json:"m"`
	Left       []int           `json:"u,omitempty"`
	View       string          `json:"v,omitempty"`
	Selected   int             `json:"o,omitempty"`
}

// MomentOf returns what has come to pass in a run: what was fired, until when, and which requests
// of one instant came before which.
func MomentOf(r *Run) Shared {
	m := Shared{Setup: r.Setup(), Now: r.Now()}
	later, at := len(r.Coming(r.Now())), r.Now()
	m.Left = []int{later}
	for i := r.Decided() - 1; i >= 0; i-- {
		a, _ := r.Arrival(i)
		if a.At != at {
			later, at = 0, a.At
		}
		if !a.Fired {
			later++
			continue
		}
		m.Fired, m.Left = append(m.Fired, a), append(m.Left, later)
	}
	slices.Reverse(m.Fired)
	slices.Reverse(m.Left)
	if !slices.ContainsFunc(m.Left, func(n int) bool { return n > 0 }) {
		m.Left = nil
	}
	return m
}

// Play brings a run that has just begun to the moment.
func (m Shared) Play(r *Run) {
	left := m.Left
	if left == nil {
		left = make([]int, len(m.Fired)+1)
	}
	for i, a := range m.Fired {
		r.reach(a.At, left[i])
		r.Fire(a.Cost)
	}
	r.reach(m.Now, left[len(m.Fired)])
}

// IsShared reports whether a text looks like a line of Shared.
func IsShared(text string) bool { return strings.HasPrefix(text, sharePrefix) }

// Line writes the moment as one line without spaces.
func (m Shared) Line() (string, error) {
	if m.Recorded {
		return "", errors.New("recorded traffic cannot be put into a line: export it as a scenario file")
	}
	if len(m.Fired) > maxShareFired {
		return "", fmt.Errorf("%d requests fired by hand are too many to share: restart, and share within the first %d",
			len(m.Fired), maxShareFired)
	}
	f := shareForm{
		Limit: m.Setup.Limit.Count, Window: m.Setup.Limit.Window.Microseconds(), Burst: m.Setup.Limit.Burst, Cost: m.Setup.Cost,
		Skew: m.Setup.Skew.Microseconds(), Convention: slices.Sorted(maps.Values(scenario.Words(m.Setup.Convention))),
		Traffic: m.Traffic, Seed: m.Seed, Now: int64(m.Now - m.Setup.Zero), Left: m.Left, View: m.View, Selected: m.Selected,
	}
	same := func(l Lesson) bool { return l.ID == m.Lesson.ID && bytes.Equal(l.Raw, m.Lesson.Raw) }
	if slices.ContainsFunc(embedded(), same) {
		f.ID = m.Lesson.ID
	} else {
		f.File = m.Lesson.Raw
	}
	setup, ok := m.Setup.Algorithms()
	if !ok {
		return "", errors.New("a script cannot be shared in a line: compare it with an algorithm")
	}
	f.Into = collect.Map(setup.Candidates, Candidate.String)
	at := m.Setup.Zero
	for _, a := range m.Fired {
		f.Fired = append(f.Fired, [2]int64{int64(a.At - at), a.Cost})
		at = a.At
	}
	content, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestCompression) // there is such a level
	_, _ = w.Write(content)                                 // a Buffer takes all
	_ = w.Close()
	line := sharePrefix + base64.RawURLEncoding.EncodeToString(packed.Bytes())
	if len(line) > maxShareText {
		return "", errors.New("this moment is too long for a line: export it as a scenario file")
	}
	return line, nil
}

// ReadShared reads a line that Line wrote. It checks everything: a line may come from
// a stranger.
func ReadShared(line string) (Shared, error) {
	bad := func(why string) (Shared, error) {
		return Shared{}, fmt.Errorf("the line cannot be opened: %s: paste it whole, from %q to its end", why, sharePrefix)
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(line), sharePrefix)
	if !ok || len(text) > maxShareText {
		return bad("it does not begin as one, or is too long")
	}
	packed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return bad("it holds other letters than it should")
	}
	content, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxShareContent+1))
	if err != nil || len(content) > maxShareContent {
		return bad("it is cut, or too long")
	}
	var f shareForm
	if err := json.Unmarshal(content, &f); err != nil {
		return bad("its content is damaged")
	}
	m, err := f.shared()
	if err != nil {
		return Shared{}, fmt.Errorf("the line cannot be opened: %w", err)
	}
	return m, nil
}

// shared checks the form and returns what it tells.
func (f shareForm) shared() (Shared, error) {
	m := Shared{Traffic: f.Traffic, Seed: f.Seed, Left: f.Left, View: f.View, Selected: f.Selected}
	list, err := embedded(), error(nil)
	if f.File != nil {
		if list, err = Load(f.File); err != nil {
			return m, err
		}
	}
	i := slices.IndexFunc(list, func(l Lesson) bool { return f.File != nil || l.ID == f.ID })
	if i < 0 {
		return m, fmt.Errorf("there is no lesson %q here", f.ID)
	}
	m.Lesson = list[i]
	window := time.Duration(f.Window) * time.Microsecond
	m.Setup = m.Lesson.Setup()
	m.Setup.Limit = limiter.Limit{Count: f.Limit, Window: window, Burst: f.Burst}
	m.Setup.Cost, m.Setup.Skew = f.Cost, time.Duration(f.Skew)*time.Microsecond
	for _, word := range f.Convention {
		if !scenario.SetWord(&m.Setup.Convention, word) {
			return m, fmt.Errorf("%q is no convention", word)
		}
	}
	if m.Setup.Candidates, err = ParseCandidates(f.Into); err != nil {
		return m, err
	}
	if f.Window <= 0 || f.Skew < 0 || m.Setup.Skew > time.Hour {
		return m, errors.New("its window or its skew is out of range")
	}
	if err := cmp.Or(m.Setup.Validate(), checkAll(m.Traffic)); err != nil {
		return m, err
	}
	if m.Left != nil && len(m.Left) != len(f.Fired)+1 || slices.ContainsFunc(m.Left, func(n int) bool { return n < 0 }) {
		return m, errors.New("the order of its requests is out of range")
	}
	if f.Now < 0 || time.Duration(f.Now) > maxShareTime/time.Microsecond || len(f.Fired) > maxShareFired {
		return m, errors.New("its time or its requests are out of range")
	}
	m.Now = m.Setup.Zero + limiter.Instant(f.Now)
	at := m.Setup.Zero
	for _, r := range f.Fired {
		if r[0] < 0 || r[1] < 1 || r[1] > limiter.MaxCount || limiter.Instant(r[0]) > m.Now-at {
			return m, errors.New("a request of it is out of range")
		}
		at += limiter.Instant(r[0])
		m.Fired = append(m.Fired, Arrival{At: at, Cost: r[1], Fired: true})
	}
	m.Selected = min(max(m.Selected, 0), len(m.Setup.Candidates)-1)
	return m, nil
}
