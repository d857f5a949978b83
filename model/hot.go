package model

import (
	"cmp"
	"slices"
	"strings"

	"ratescope/limiter"
)

// HotKeys is what is known of how hot keys are beside the readings, for there may be far more
// keys than are read. A zero At means that nothing is known.
type HotKeys struct {
	At   limiter.Instant
	Keys []HotKey // in no order; at most one a key

	Writes Measure // writes a second, of all keys that match what is watched
	// Missed is the most writes a second that a key outside Keys may have.
	Missed Measure
	// Sources says, one phrase each, where the figures come from: "writes, heard 3 % of the
	// time", "HOTKEYS of Redis, by cpu, for 12 s".
	Sources []string
}

// HotKey is how hot one key is. Each figure comes from another source and is not Known where
// that one does not speak of the key.
type HotKey struct {
	Key string // the limiter's name, or a Redis key that is none; raw, not for a terminal

	// Writes a second that were heard of, a lower bound of the requests, and by how much
	// the figure may be off either way.
	Writes   Measure
	WritesBy float64
	CPU      Measure // share of the server's time in commands, 0 to 1, as Redis's HOTKEYS has it
	Net      Measure // share of the bytes in and out, 0 to 1, of the same
	Accesses Measure // a second, reads too, as Valkey's HOTKEYS has it
	Counter  Measure // accesses that the LFU counter stands for, since it last decayed
}

// Hottest is a key of the ranking: what the board reads of it and what is heard of it.
type Hottest struct {
	HotKey
	Watched     bool    // the board has it, and Rate and Utilization are of its reading
	Rate        Measure // requests a second
	Utilization Measure
	// Share orders the ranking: the largest share of anything that the key has, of the
	// requests of all keys that are read, of the writes that were heard, of the server's
	// time, of its bytes, of the accesses in Valkey's list or of those that the LFU counters
	// stand for.
	Share float64
}

// Hottest returns the n hottest keys, the hottest first: those with the largest shares, of
// equal ones the fullest. Gauges are taken as
// they were last worked out.
func (b *Board) Hottest(n int) []Hottest {
	var all, accesses, counted float64
	list := make([]Hottest, 0, len(b.keys)+len(b.HotKeys.Keys))
	at := make(map[string]int, len(b.keys))
	for name, k := range b.keys {
		if k.Gone || k.Reading.Err != "" {
			continue
		}
		h := Hottest{HotKey: HotKey{Key: name}, Watched: true, Rate: Measure{k.Gauge.RateKnown, k.Gauge.Rate}}
		if k.Gauge.Remaining.Known {
			h.Utilization = Measure{true, k.Gauge.Utilization}
		}
		if h.Rate.Known {
			all += h.Rate.V
		}
		at[name] = len(list)
		list = append(list, h)
	}
	for _, hot := range b.HotKeys.Keys {
		if i, ok := at[hot.Key]; ok {
			list[i].HotKey = hot
		} else {
			list = append(list, Hottest{HotKey: hot})
		}
		if hot.Accesses.Known {
			accesses += hot.Accesses.V
		}
		if hot.Counter.Known {
			counted += hot.Counter.V
		}
	}
	for i := range list {
		h := &list[i]
		h.Share = max(share(h.Rate, max(all, b.HotKeys.Writes.V)), share(h.Writes, b.HotKeys.Writes.V), share(h.CPU, 1), share(h.Net, 1), share(h.Accesses, accesses), share(h.Counter, counted))
	}
	slices.SortFunc(list, func(x, y Hottest) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(y.Utilization.V, x.Utilization.V), strings.Compare(x.Key, y.Key))
	})
	return list[:min(max(n, 0), len(list))]
}

// share returns which part of a whole m is, 0 where either is not known.
func share(m Measure, whole float64) float64 {
	if !m.Known || !(whole > 0) || !(m.V > 0) {
		return 0
	}
	return min(m.V/whole, 1)
}
