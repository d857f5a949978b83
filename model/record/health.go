package record

import (
	"encoding/json"
	"time"

	"ratescope/model"
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
	out := &health{At: h.At, Over: int64(h.Over), Measures: map[string]real{}, Policy: text(h.Policy), LinkUp: h.LinkUp, Saving: h.Saving, Unwritten: texts(h.SaveFailed), Missing: texts(h.Missing)}
	for name, m := range measures(h) {
		if m.Known {
			out.Measures[name] = real(m.V)
		}
	}
	for _, c := range h.Commands {
		out.Commands = append(out.Commands, command{text(c.Name), real(c.Calls), int64(c.Mean), int64(c.P99), real(c.Failed), c.Total, c.Scripts})
	}
	for _, e := range h.Errors {
		out.Errors = append(out.Errors, failure{text(e.Name), real(e.Rate), e.Total})
	}
	for _, s := range h.Slow {
		out.Slow = append(out.Slow, slow{s.ID, s.At, int64(s.Took), text(s.Command), texts(s.Keys), s.Rest})
	}
	for _, s := range h.Spikes {
		out.Spikes = append(out.Spikes, spike{text(s.Event), s.At, int64(s.Latest), int64(s.Most)})
	}
	return out
}

// HealthJSON returns h as a recording has it, with the names of keys hidden where so said.
func HealthJSON(h *model.Health, hide bool) ([]byte, error) {
	b := model.Batch{Health: h}
	if hide {
		b = newMask().batch(b)
	}
	return json.MarshalIndent(healthOf(b.Health), "", "  ")
}

func (h *health) model() *model.Health {
	if h == nil {
		return nil
	}
	out := &model.Health{At: h.At, Over: time.Duration(h.Over), Policy: string(h.Policy), LinkUp: h.LinkUp, Saving: h.Saving, SaveFailed: plain[string](first(h.Unwritten)), Missing: plain[string](first(h.Missing))}
	for name, m := range measures(out) {
		if v, known := h.Measures[name]; known {
			*m = model.Measure{Known: true, V: float64(v)}
		}
	}
	for _, c := range first(h.Commands) {
		out.Commands = append(out.Commands, model.CommandStat{
			Name: string(c.Name), Calls: float64(c.Calls), Mean: time.Duration(c.Mean), P99: time.Duration(c.P99), Failed: float64(c.Failed), Total: c.Total, Scripts: c.Scripts,
		})
	}
	for _, e := range first(h.Errors) {
		out.Errors = append(out.Errors, model.ErrorStat{Name: string(e.Name), Rate: float64(e.Rate), Total: e.Total})
	}
	for _, s := range first(h.Slow) {
		out.Slow = append(out.Slow, model.SlowCommand{ID: s.ID, At: s.At, Took: time.Duration(s.Took), Command: string(s.Command), Keys: plain[string](first(s.Keys)), Rest: s.Rest})
	}
	for _, s := range first(h.Spikes) {
		out.Spikes = append(out.Spikes, model.Spike{Event: string(s.Event), At: s.At, Latest: time.Duration(s.Latest), Most: time.Duration(s.Most)})
	}
	return out
}

func measured(m model.Measure) *real {
	if !m.Known {
		return nil
	}
	v := real(m.V)
	return &v
}

func (r *real) measure() model.Measure {
	if r == nil {
		return model.Measure{}
	}
	return model.Measure{Known: true, V: float64(*r)}
}

func hotOf(h *model.HotKeys) *hot {
	if h == nil {
		return nil
	}
	out := &hot{At: h.At, Heard: measured(h.Writes), Missed: measured(h.Missed), Sources: texts(h.Sources)}
	for _, k := range h.Keys {
		out.Heats = append(out.Heats, heat{text(k.Key), measured(k.Writes), real(k.WritesBy), measured(k.CPU), measured(k.Net), measured(k.Accesses), measured(k.Counter)})
	}
	return out
}

func (h *hot) model() *model.HotKeys {
	if h == nil {
		return nil
	}
	out := &model.HotKeys{At: h.At, Writes: h.Heard.measure(), Missed: h.Missed.measure(), Sources: plain[string](first(h.Sources))}
	for _, k := range h.Heats[:min(len(h.Heats), maxBatch)] {
		out.Keys = append(out.Keys, model.HotKey{
			Key: string(k.Key), Writes: k.Writes.measure(), WritesBy: float64(k.WritesBy), CPU: k.CPU.measure(), Net: k.Net.measure(),
			Accesses: k.Accesses.measure(), Counter: k.Counter.measure(),
		})
	}
	return out
}

// first returns the beginning of a list that is too long to be meant.
func first[T any](list []T) []T { return list[:min(len(list), maxHealthRows)] }
