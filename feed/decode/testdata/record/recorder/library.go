package recorder

import (
	"encoding/json"
	"fmt"
)

// Library is what the scenarios of one library and one algorithm have in common.
type Library struct {
	Name, Version, Client, Source string
	Algorithm, Denied, Call       string
	InRedis                       []string
	Notes                         []string
	Alone                         bool
	Open                          func(c Configured, addr string, db int) (Ask, error)
}

// Variant is one scenario of a Library; what it leaves out is the library's.
type Variant struct {
	Name       string
	Configured Configured
	Story      func(r *Run) error
	Call       string
	Denied     string
	InRedis    []string
	Notes      []string
	Open       func(c Configured, addr string, db int) (Ask, error)
}

// Scenarios returns the scenarios of a library.
func (l Library) Scenarios(variants ...Variant) []Scenario {
	var all []Scenario
	for _, v := range variants {
		if v.Configured.Cost == 0 {
			v.Configured.Cost = 1
		}
		open := or(v.Open != nil, v.Open, l.Open)
		configured := v.Configured
		all = append(all, Scenario{
			Fixture: Fixture{
				Library: l.Name, Version: l.Version, Client: l.Client, Source: or(l.Source != "", l.Source, "real"),
				Scenario: v.Name, Algorithm: l.Algorithm, Configured: configured,
				InRedis: or(v.InRedis != nil, v.InRedis, l.InRedis),
				Denied:  or(v.Denied != "", v.Denied, l.Denied),
				Notes:   append(append([]string{}, l.Notes...), v.Notes...),
			},
			Call: or(v.Call != "", v.Call, l.Call), Story: v.Story, Alone: l.Alone,
			Open: func(addr string, db int) (Ask, error) { return open(configured, addr, db) },
		})
	}
	return all
}

func or[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// Per returns a limit in a window of so many milliseconds.
func Per(limit, windowMS float64) Configured {
	return Configured{Limit: limit, WindowMS: windowMS, Cost: 1}
}

// With returns the limit with an option of the library set.
func (c Configured) With(option string, value any) Configured {
	other := map[string]any{option: value}
	for k, v := range c.Other {
		other[k] = v
	}
	c.Other = other
	return c
}

// WithBurst returns the limit with a burst.
func (c Configured) WithBurst(burst float64) Configured {
	c.Burst = &burst
	return c
}

// Said returns an answer with the library's own words as JSON.
func Said(allowed bool, raw any) Answer {
	b, err := json.Marshal(raw)
	if err != nil {
		b = []byte(fmt.Sprintf("%q", fmt.Sprint(raw)))
	}
	return Answer{Allowed: &allowed, Raw: string(b)}
}
