package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

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
}

// SnapshotOf works every reading of b out at b's instant, so that the keys can be
// compared with one another.
func SnapshotOf(b model.Batch, o Options) Snapshot {
	readings := slices.DeleteFunc(slices.Clone(b.Readings), func(r model.Reading) bool {
		return r.Target.Evidence == model.Likely && !o.Likely
	})
	slices.SortFunc(readings, func(x, y model.Reading) int { return strings.Compare(x.Key, y.Key) })
	s := Snapshot{At: b.At.Millis(), Server: Text(b.Server.Target), Keys: make([]Key, 0, len(readings))}
	s.Seen = Seen{Complete: b.Sweep.Complete() && b.Sweep.Dropped == 0 && len(b.Server.Lacks) == 0,
		Keys: cmp.Or(b.Sweep.Seen(), b.Sweep.Scanned), Sampled: b.Sweep.Sampled}
	s.Seen.Complete = s.Seen.Complete && !(o.Likely && s.Seen.Sampled > 0)
	for i := range readings {
		s.Keys = append(s.Keys, KeyOf(&readings[i], b.At, o))
	}
	return s
}

// JSON prints s as one object.
func (s Snapshot) JSON(w io.Writer) error { return WriteJSON(w, s) }

// NameCells is the room that the table gives to a name.
const NameCells = 48

// Text prints s for people: a line about the server, then one line a key.
func (s Snapshot) Text(w io.Writer) error {
	c := NewColumns("key", "algorithm", ">used", ">limit", "per", ">full", ">rate/s", ">next", ">denied", ">ttl", "notes")
	for _, k := range s.Keys {
		c.Add(k.Row()...)
	}
	part := ""
	if !s.Seen.Complete && s.Seen.Keys > 0 {
		part = fmt.Sprintf(", not all: %s looked at", format.Plural(int(s.Seen.Keys-s.Seen.Sampled), "key"))
	}
	_, err := fmt.Fprintf(w, "%s, %s by its clock, %s%s\n\n%s",
		s.Server.Clean(), Instant(s.At), format.Plural(len(s.Keys), "key"), part, c)
	return err
}

// Row returns the cells of k under the heads of Snapshot.Text.
func (k Key) Row() []string {
	row := []string{
		k.mark() + safetext.Shorten(k.Key.Clean(), NameCells, safetext.Ellipsis),
		k.algorithm(),
		Number(k.Used), Number(k.Limit), Dash, Dash, Dash,
		Wait(k.Next, "now", "never"),
		Number(k.Denied.Count),
		Wait(k.TTL, "now", "none"),
		k.notes(),
	}
	if k.Window != nil {
		row[4] = Each(*k.Window)
	}
	if k.Utilization != nil {
		row[5] = strconv.FormatFloat(*k.Utilization*100, 'f', 0, 64) + " %"
	}
	if k.Rate != nil {
		row[6] = strconv.FormatFloat(*k.Rate, 'f', 2, 64)
	}
	return row
}

// mark is before the name of a key that is a limiter by its value and behaviour alone.
func (k Key) mark() string {
	if k.Evidence == model.Likely.String() {
		return "~ "
	}
	return ""
}

func (k Key) algorithm() string {
	if k.Algorithm == nil {
		return Dash
	}
	return *k.Algorithm
}

func (k Key) notes() string {
	words := make([]string, len(k.Notes))
	for i, n := range k.Notes {
		words[i] = n.Clean()
	}
	return strings.Join(words, "; ")
}
