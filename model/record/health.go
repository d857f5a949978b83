package record

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"ratescope/model"
	"ratescope/model/collect"
)

// measures are the figures of a Health by their names in the file.
func measures(h *model.Health) map[string]*model.Measure {
	return map[string]*model.Measure{
		"ops": &h.Ops, "cpu": &h.CPU, "memory_used": &h.MemoryUsed, "memory_max": &h.MemoryMax, "keys": &h.Keys, "clients": &h.Clients,
		"blocked": &h.Blocked, "net_in": &h.NetIn, "net_out": &h.NetOut, "evicted": &h.Evicted, "expired": &h.Expired,
		"replicas": &h.Replicas, "lag": &h.Lag, "unheard": &h.Unheard, "scripts": &h.Scripts, "scripts_evicted": &h.ScriptsEvicted,
		"unsaved": &h.Unsaved, "fruitless": &h.Fruitless,
	}
}

// Bounds of a Health, more than any source tells.
const maxHealthRows = 256

func healthOf(h *model.Health) *health {
	if h == nil {
		return nil
	}
	out := &health{Health: *h, Measures: map[string]real{}}
	for name, m := range measures(h) {
		if m.Known {
			out.Measures[name] = real(m.V)
		}
	}
	out.Slow = collect.Map(h.Slow, func(s model.SlowCommand) slow {
		return slow{s.ID, s.At, int64(s.Took), text(s.Command), as[text](s.Keys), s.Rest}
	})
	return out
}

// HealthJSON returns h as a recording has it, with the names of keys hidden where so said.
func HealthJSON(h *model.Health, hide bool) ([]byte, error) {
	b := model.Batch{Health: h}
	if hide {
		b = NewMasker().Batch(b)
	}
	return json.MarshalIndent(healthOf(b.Health), "", "  ")
}

func (h *health) model() *model.Health {
	if h == nil {
		return nil
	}
	out := &h.Health
	out.Commands, out.Errors, out.Spikes = first(h.Commands), first(h.Errors), first(h.Spikes)
	out.SaveFailed, out.Missing = first(h.SaveFailed), first(h.Missing)
	for name, m := range measures(out) {
		if v, known := h.Measures[name]; known {
			*m = model.Measure{Known: true, V: float64(v)}
		}
	}
	out.Slow = collect.Map(first(h.Slow), func(s slow) model.SlowCommand {
		return model.SlowCommand{ID: s.ID, At: s.At, Took: time.Duration(s.Took), Command: string(s.Command),
			Keys: as[string](first(s.Keys)), Rest: s.Rest}
	})
	return out
}

func measured(m model.Measure) *real { return collect.Known(m.Known, real(m.V)) }

func (r *real) measure() model.Measure {
	if r == nil {
		return model.Measure{}
	}
	return model.Measure{Known: true, V: float64(*r)}
}

// figures are those of a HotKey by their names in the file.
var figures = map[string]func(*model.HotKey) *model.Measure{
	"writes":  func(k *model.HotKey) *model.Measure { return &k.Writes },
	"cpu":     func(k *model.HotKey) *model.Measure { return &k.CPU },
	"net":     func(k *model.HotKey) *model.Measure { return &k.Net },
	"counter": func(k *model.HotKey) *model.Measure { return &k.Counter },
	"asked":   func(k *model.HotKey) *model.Measure { return &k.Asked },
}

// writesBy is the figure that is no Measure.
const writesBy = "writes_by"

// Digits of the figures of hot keys that are kept: they are estimates that are off by percents,
// and by how much is said beside.
const (
	digits   = 3
	digitsBy = 2
)

// hotOf puts hot keys by their ids, or after them by name where they have none. Figures are rounded.
func hotOf(h *model.HotKeys, keys map[string]*written) *hot {
	if h == nil {
		return nil
	}
	out := &hot{At: h.At, Heard: measured(h.Writes), Missed: measured(h.Missed), Sources: as[text](h.Sources)}
	type ranked struct {
		*model.HotKey
		id int
	}
	list := make([]ranked, len(h.Keys))
	for i := range h.Keys {
		list[i] = ranked{&h.Keys[i], -1}
		if k := keys[h.Keys[i].Key]; k != nil {
			list[i].id = k.id
		}
	}
	slices.SortStableFunc(list, func(x, y ranked) int { return cmp.Compare(uint(x.id), uint(y.id)) }) // -1 is last
	last := 0
	for _, k := range list {
		if k.id < 0 {
			out.Names = append(out.Names, text(k.Key))
			continue
		}
		out.Keys = append(out.Keys, int64(k.id-last))
		last = k.id
	}
	for name, of := range figures {
		column, known := make([]*real, len(list)), false
		for i, k := range list {
			if m := of(k.HotKey); m.Known {
				column[i], known = new(rounded(m.V, digits)), true
			}
		}
		if known {
			collect.Put(&out.Figures, name, column)
		}
	}
	by := collect.Map(list, func(k ranked) *real { return new(rounded(k.WritesBy, digitsBy)) })
	if slices.ContainsFunc(by, func(v *real) bool { return *v != 0 }) {
		collect.Put(&out.Figures, writesBy, by)
	}
	return out
}

// rounded returns v to so many digits.
func rounded(v float64, digits int) real {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil { // it rounds to what is no number
		r = v
	}
	return real(r)
}

// model returns hot keys; keys are those that have ids.
func (h *hot) model(keys map[int]*known) *model.HotKeys {
	if h == nil {
		return nil
	}
	out := &model.HotKeys{At: h.At, Writes: h.Heard.measure(), Missed: h.Missed.measure(), Sources: as[string](first(h.Sources))}
	for _, k := range h.Heats[:min(len(h.Heats), maxBatch)] {
		out.Keys = append(out.Keys, model.HotKey{
			Key: string(k.Key), Writes: k.Writes.measure(), WritesBy: float64(k.WritesBy), CPU: k.CPU.measure(), Net: k.Net.measure(),
			Counter: k.Counter.measure(),
		})
	}
	id := 0
	for i, gap := range h.Keys[:min(len(h.Keys), maxBatch)] {
		id += int(gap)
		if k := keys[id]; k != nil {
			out.Keys = append(out.Keys, h.key(k.reading.Key, i))
		}
	}
	for i, key := range h.Names[:min(len(h.Names), maxBatch)] {
		out.Keys = append(out.Keys, h.key(string(key), len(h.Keys)+i))
	}
	return out
}

func (h *hot) key(name string, i int) model.HotKey {
	k := model.HotKey{Key: name}
	for what, of := range figures {
		if column := h.Figures[what]; i < len(column) {
			*of(&k) = column[i].measure()
		}
	}
	if column := h.Figures[writesBy]; i < len(column) && column[i] != nil {
		k.WritesBy = float64(*column[i])
	}
	return k
}

// first returns the beginning of a list that is too long to be meant.
func first[T any](list []T) []T { return list[:min(len(list), maxHealthRows)] }
