package model

import (
	"cmp"
	"slices"
	"strings"

	"ratescope/limiter"
)

// HotKeys is the ranking of keys by how often they are used, from other sources than readings, since
// a server may have many more keys than are read. A zero At means that there is no ranking.
type HotKeys struct {
	At   limiter.Instant
	Keys []HotKey // at most one for each key, in no order

	Writes Measure // writes a second of all keys that match the watched patterns
	// Missed is the greatest possible rate of writes of a key outside Keys.
	Missed Measure
	// Sources has a phrase for each source of the figures: "writes, heard 3 % of the time",
	// "HOTKEYS of Redis, by cpu, for 12 s".
	Sources []string
}

// HotKey holds the figures of one key. Each comes from a different source, and is not Known if that
// source does not have the key.
type HotKey struct {
	Key string // the limiter's name, or a Redis key that is no limiter; raw, to be cleaned for a terminal

	// Writes is the rate of sampled writes a second, a lower bound of the requests. WritesBy is its
	// possible error in either direction.
	Writes   Measure
	WritesBy float64
	CPU      Measure // share of the server's time in commands, 0 to 1, by Redis's HOTKEYS
	Net      Measure // share of the bytes in and out, 0 to 1, by Redis's HOTKEYS
	Accesses Measure // accesses a second, also reads, by Valkey's HOTKEYS
	Counter  Measure // accesses that the LFU counter stands for
}

// Hottest is a key of the ranking, with figures of its reading and of HotKeys.
type Hottest struct {
	HotKey
	Watched     bool    // the key is on the board, and has a Rate and a Utilization
	Rate        Measure // requests a second, with those that are known to be denied
	Utilization Measure
	// Share orders the ranking. It is the largest of the key's shares: of the requests of all keys
	// on the board, of the sampled writes, of the server's time and bytes, and of all accesses by
	// Valkey's HOTKEYS and by the LFU counters.
	Share float64
}

// Hottest returns the n hottest keys, the one with the largest share first, and of equal ones the one
// with the highest utilization. It uses the latest gauges.
func (b *Board) Hottest(n int) []Hottest {
	var all, accesses, counted float64
	list := make([]Hottest, 0, len(b.keys)+len(b.HotKeys.Keys))
	at := make(map[string]int, len(b.keys))
	for name, k := range b.keys {
		if k.Gone || k.Reading.Err != "" {
			continue
		}
		h := Hottest{HotKey: HotKey{Key: name}, Watched: true, Rate: Measure{k.Gauge.RateKnown, k.Gauge.Rate + k.Gauge.DeniedPerSec}}
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

// share returns m as a part of a whole; 0 if either is not known.
func share(m Measure, whole float64) float64 {
	if !m.Known || !(whole > 0) || !(m.V > 0) {
		return 0
	}
	return min(m.V/whole, 1)
}
