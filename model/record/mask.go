package record

import (
	"slices"
	"strconv"
	"strings"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// Masker hides the middle of the names of keys, by the same names in every batch, also for streams
// of which each begins with a Writer of its own. Keys that would look alike then are told apart by a
// number, so that each stays a key of its own. Make one with NewMasker. Not safe for concurrent use.
type Masker struct {
	names map[string]string
	taken map[string]int // how many keys look like that
}

// NewMasker returns a Masker that has seen no key.
func NewMasker() *Masker { return &Masker{map[string]string{}, map[string]int{}} }

// Keys returns of how many keys it remembers the names.
func (m *Masker) Keys() int { return len(m.names) }

// of returns what stands for a key, the same one in the whole recording.
func (m *Masker) of(key string) string {
	if name, known := m.names[key]; known {
		return name
	}
	name := safetext.Mask(key)
	m.taken[name]++
	if n := m.taken[name]; n > 1 {
		name += "~" + strconv.Itoa(n)
	}
	m.names[key] = name
	return name
}

func (m *Masker) all(keys []string) []string {
	return collect.Map(keys, m.of)
}

// hide returns a sentence with the key that it names hidden.
func (m *Masker) hide(text, key string) string {
	if key == "" || !strings.Contains(text, key) {
		return text
	}
	return strings.ReplaceAll(text, key, m.of(key))
}

// Batch returns a copy of b that names no key in full, and b itself where m is nil. What explains
// how a key was recognized is left out: it quotes names.
func (m *Masker) Batch(b model.Batch) model.Batch {
	if m == nil {
		return b
	}
	b.Readings = slices.Clone(b.Readings)
	for i := range b.Readings {
		r := &b.Readings[i]
		r.Err = m.hide(r.Err, r.Key)
		r.Key, r.Members, r.Why, r.Pattern = m.of(r.Key), m.all(r.Members), nil, ""
		r.Unsettled = nil
		for _, name := range [...]*string{&r.Target.Base, &r.Target.LimitKey} {
			if *name != "" {
				*name = m.of(*name)
			}
		}
	}
	b.Gone, b.LeftOut, b.Sweep.Patterns = m.all(b.Gone), m.all(b.LeftOut), m.Patterns(b.Sweep.Patterns)
	b.Sweep.Beyond, b.Sweep.Candidates = m.groups(b.Sweep.Beyond), m.groups(b.Sweep.Candidates)
	b.Fired = collect.Map(b.Fired, func(f model.Fired) model.Fired {
		f.Err, f.Key = m.hide(f.Err, f.Key), m.of(f.Key)
		return f
	})
	if b.Health != nil {
		h := *b.Health
		h.Slow = collect.Map(h.Slow, func(s model.SlowCommand) model.SlowCommand { s.Keys = m.all(s.Keys); return s })
		b.Health = &h
	}
	if b.HotKeys != nil {
		h := *b.HotKeys
		h.Keys = collect.Map(h.Keys, func(k model.HotKey) model.HotKey { k.Key = m.of(k.Key); return k })
		b.HotKeys = &h
	}
	return b
}

// Patterns returns patterns of keys, each hidden where it is the name of a single one.
func (m *Masker) Patterns(list []string) []string {
	return collect.Map(list, func(p string) string {
		if !strings.ContainsAny(p, "*?[") {
			p = m.of(p)
		}
		return p
	})
}

// groups returns groups of keys without names: their patterns are made of names, and their reasons quote them.
func (m *Masker) groups(list []model.KeyGroup) []model.KeyGroup {
	return collect.Map(list, func(g model.KeyGroup) model.KeyGroup {
		g.Pattern, g.Example, g.Why = m.of(g.Pattern), m.of(g.Example), nil
		return g
	})
}
