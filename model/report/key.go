package report

import (
	"math"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
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
	list := make([]Text, len(keys))
	for i, k := range keys {
		list[i] = o.Name(k)
	}
	return list
}

// KeyOf works r out at the given instant.
func KeyOf(r *model.Reading, at limiter.Instant, o Options) Key {
	g := r.Gauge(at)
	t := r.Target
	k := Key{
		Key:    o.Name(r.Key),
		Type:   Text(r.Type),
		Used:   count(g.Used),
		Exact:  count(g.Exact),
		Denied: Denied{r.Denied.Known, count(r.Denied)},
		Notes:  notes(r),

		Evidence: t.Evidence.String(),
		Members:  members(r, o),
	}
	if t.Library != "" {
		k.Library = new(t.Library)
	}
	if t.LimitFrom != model.NoLimit {
		k.LimitFrom = new(t.LimitFrom.String())
	}
	if !o.Mask && k.Key.lossy() {
		k.KeyBase64 = []byte(r.Key)
	}
	if t.Algorithm != limiter.Unknown {
		k.Algorithm = new(t.Algorithm.String())
	}
	if t.LimitKnown {
		k.Limit = new(t.Limit.Count)
	}
	if t.Window > 0 {
		k.Window = new(Millis(t.Window))
	}
	if g.Remaining.Known {
		k.Remaining = count(g.Remaining)
		k.Utilization = finite(g.Utilization)
	}
	if g.Previous.Known {
		k.Previous = &Window{g.Previous.N}
	}
	if g.Current.Known {
		k.Current = &Window{g.Current.N}
		k.Weight = finite(g.Weight)
	}
	if g.Previous.Known && g.Current.Known {
		k.Estimate = finite(g.Estimate)
	}
	if g.NextKnown {
		k.Next = new(Millis(g.Next))
	}
	if g.RateKnown {
		k.Rate = finite(g.Rate)
	}
	if r.TTL != 0 && r.Type != "none" {
		k.TTL = new(Millis(r.TTL))
	}
	return k
}

// members returns the names of the Redis keys that are the limiter, and its own name among them,
// also where that is only what the names of its windows have in common.
func members(r *model.Reading, o Options) []Text {
	list := make([]Text, 0, len(r.Members)+1)
	if !slices.Contains(r.Members, r.Key) {
		list = append(list, o.Name(r.Key))
	}
	for _, m := range r.Members {
		list = append(list, o.Name(m))
	}
	return list
}

// notes are what the reading says about itself, and why it could not be made.
func notes(r *model.Reading) []Text {
	list := make([]Text, 0, len(r.Notes)+2)
	for _, n := range r.Notes {
		list = append(list, Text(n))
	}
	if r.Err != "" {
		list = append(list, Text(r.Err))
	}
	if Text(r.Key).lossy() {
		list = append(list, "name is not valid UTF-8")
	}
	return list
}

func count(c model.Count) *int64 {
	if !c.Known {
		return nil
	}
	return new(c.N)
}

// finite is f, or nil where JSON has no number for it.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return new(f)
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
