package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// Key is one key at one instant, in the fields and the order of the JSON output. A
// nil pointer is a null: not known.
type Key struct {
	Key         Text     `json:"key"`
	KeyBase64   []byte   `json:"key_base64,omitempty"` // the bytes of a name that is not valid UTF-8, for --key-base64
	Type        Text     `json:"type"`                 // as TYPE says; "none" for a key that does not exist
	Algorithm   *string  `json:"algorithm"`
	Limit       *int64   `json:"limit"`
	Window      *int64   `json:"window_ms"`
	Used        *int64   `json:"used"`
	Remaining   *int64   `json:"remaining"`
	Utilization *float64 `json:"utilization"`
	Previous    *Window  `json:"previous"`
	Current     *Window  `json:"current"`
	Weight      *float64 `json:"weight"` // of previous, 0..1
	Estimate    *float64 `json:"estimate"`
	Exact       *int64   `json:"exact"`
	// Next is how long until a request of cost 1 is admitted: 0 now, -1 never.
	Next   *int64   `json:"next_admission_ms"`
	Rate   *float64 `json:"rate_per_s"`
	Denied Denied   `json:"denied"`
	TTL    *int64   `json:"ttl_ms"` // -1: the key never expires
	Notes  []Text   `json:"notes"`

	Library   *string `json:"library"`
	Evidence  string  `json:"evidence"`   // known, told or likely
	LimitFrom *string `json:"limit_from"` // rule, key, name, sibling or inferred
	Members   []Text  `json:"members"`    // the Redis keys that are this limiter
}

// Window is what was counted in one clock-aligned window.
type Window struct {
	Count int64 `json:"count"`
}

// Denied is how many denials the store recorded in the window, if it records them.
type Denied struct {
	Known bool   `json:"known"`
	Count *int64 `json:"count"`
}

// Options say how names are shown.
type Options struct {
	Mask   bool // hide the middle of every name
	Likely bool // list keys, too, that are limiters by their value and behaviour alone
}

func (o Options) Name(key string) Text {
	if o.Mask {
		key = safetext.Mask(key)
	}
	return Text(key)
}

// List writes the names of keys; it is not nil.
func (o Options) List(keys []string) []Text {
	return append([]Text{}, collect.Map(keys, o.Name)...)
}

// KeyOf works r out at the given instant.
func KeyOf(r *model.Reading, at limiter.Instant, o Options) Key {
	g := r.Gauge(at)
	t := r.Target
	counted, weighed := g.Current.Known, g.Previous.Known && g.Current.Known
	members := r.Members
	if !slices.Contains(members, r.Key) { // also where that is only what the names of its windows have in common
		members = append([]string{r.Key}, members...)
	}
	notes := append([]Text{}, collect.Map(r.Notes, func(n model.Note) Text { return Text(n) })...)
	if r.Err != "" {
		notes = append(notes, Text(r.Err))
	}
	if Text(r.Key).lossy() {
		notes = append(notes, "name is not valid UTF-8")
	}
	k := Key{
		Key:         o.Name(r.Key),
		Type:        Text(r.Type),
		Algorithm:   collect.Known(t.Algorithm != limiter.Unknown, t.Algorithm.String()),
		Limit:       collect.Known(t.LimitKnown, t.Limit.Count),
		Window:      collect.Known(t.Window > 0, Millis(t.Window)),
		Used:        collect.Known(g.Used.Known, g.Used.N),
		Remaining:   collect.Known(g.Remaining.Known, g.Remaining.N),
		Utilization: finite(g.Remaining.Known, g.Utilization),
		Previous:    collect.Known(g.Previous.Known, Window{g.Previous.N}),
		Current:     collect.Known(counted, Window{g.Current.N}),
		Weight:      finite(counted, g.Weight),
		Estimate:    finite(weighed, g.Estimate),
		Exact:       collect.Known(g.Exact.Known, g.Exact.N),
		Next:        collect.Known(g.NextKnown, Millis(g.Next)),
		Rate:        finite(g.RateKnown, g.Rate),
		Denied:      Denied{r.Denied.Known, collect.Known(r.Denied.Known, r.Denied.N)},
		TTL:         collect.Known(r.TTL != 0 && r.Type != "none", Millis(r.TTL)),
		Notes:       notes,
		Library:     collect.Known(t.Library != "", t.Library),
		Evidence:    t.Evidence.String(),
		LimitFrom:   collect.Known(t.LimitFrom != model.NoLimit, t.LimitFrom.String()),
		Members:     o.List(members),
	}
	if !o.Mask && k.Key.lossy() {
		k.KeyBase64 = []byte(r.Key)
	}
	return k
}

// finite returns f, or nil where it is not known or JSON has no number for it.
func finite(known bool, f float64) *float64 {
	return collect.Known(known && !math.IsNaN(f) && !math.IsInf(f, 0), f)
}

// Millis is d in whole milliseconds, rounded up. What is below 0 stands for never or
// for none, and is -1.
func Millis(d time.Duration) int64 {
	switch {
	case d < 0, d == limiter.Never:
		return -1
	case d%time.Millisecond == 0:
		return int64(d / time.Millisecond)
	}
	return int64(d/time.Millisecond) + 1
}

// Snapshot is one reading of every watched key.
type Snapshot struct {
	At     int64 `json:"at_ms"` // milliseconds since the epoch on the server's clock
	Server Text  `json:"server"`
	Keys   []Key `json:"keys"` // sorted by key
	Seen   Seen  `json:"seen"`
}

// Seen is how much of the keyspace was looked at. What is not complete is no verdict: a key
// that is not listed may be a limiter that is full.
type Seen struct {
	Complete bool  `json:"complete"`
	Keys     int64 `json:"keys"` // looked at, limiters or not
	// Sampled are those that were passed over because of very many keys that are named alike, and
	// likely limiters, only some are looked at. Where likely ones are listed, the list is not complete.
	Sampled int64 `json:"sampled,omitempty"`
	// Behind are listed keys that may have been written since they were read, more than a second before the end of the look.
	Behind int `json:"behind,omitempty"`
}

// SnapshotOf works every reading of b out at b's instant, so that the keys can be
// compared with one another.
func SnapshotOf(b model.Batch, o Options) Snapshot {
	readings := slices.DeleteFunc(slices.Clone(b.Readings), func(r model.Reading) bool {
		return r.Target.Evidence == model.Likely && !o.Likely
	})
	slices.SortFunc(readings, func(x, y model.Reading) int { return strings.Compare(x.Key, y.Key) })
	s := Snapshot{At: b.At.Millis(), Server: Text(b.Server.Target), Keys: make([]Key, 0, len(readings))}
	whole := b.Sweep.Complete() && b.Sweep.Dropped == 0 && len(b.Server.Lacks) == 0
	s.Seen = Seen{Complete: whole && !(o.Likely && b.Sweep.Sampled > 0), Keys: cmp.Or(b.Sweep.Seen(), b.Sweep.Scanned),
		Sampled: b.Sweep.Sampled, Behind: b.Sweep.Behind}
	for i := range readings {
		s.Keys = append(s.Keys, KeyOf(&readings[i], b.At, o))
	}
	return s
}

// NameCells is the room that the table gives to a name.
const NameCells = 48

// String returns s for people: a line about the server, then one line a key.
func (s Snapshot) String() string {
	c := NewColumns("key", "algorithm", ">used", ">limit", "per", ">full", ">rate/s", ">next", ">denied", ">ttl", "notes")
	for _, k := range s.Keys {
		c.Add(k.Row()...)
	}
	part := ""
	if !s.Seen.Complete && s.Seen.Keys > 0 {
		part = fmt.Sprintf(", not all: %s looked at", format.Plural(int(s.Seen.Keys-s.Seen.Sampled), "key"))
	}
	return fmt.Sprintf("%s, %s by its clock, %s%s\n\n%s", s.Server.Clean(), Instant(s.At), format.Plural(len(s.Keys), "key"), part, c)
}

// Row returns the cells of k under the heads of Snapshot.String.
func (k Key) Row() []string {
	row := []string{
		safetext.Shorten(k.Key.Clean(), NameCells, safetext.Ellipsis),
		Word(k.Algorithm),
		Number(k.Used), Number(k.Limit), Each(k.Window), percent(k.Utilization), Dash,
		Wait(k.Next, "now", "never"),
		Number(k.Denied.Count),
		Wait(k.TTL, "now", "none"),
		k.notes(),
	}
	if k.Evidence == model.Likely.String() { // a limiter by its value and behaviour alone
		row[0] = "~ " + row[0]
	}
	if k.Rate != nil {
		row[6] = strconv.FormatFloat(*k.Rate, 'f', 2, 64)
	}
	return row
}

func (k Key) notes() string {
	return strings.Join(collect.Map(k.Notes, Text.Clean), "; ")
}
