package record

import (
	"cmp"
	"slices"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
)

// StateAt reads on to a moment and returns where everything stood then, as one batch: the latest
// reading of every key with what arrived since the reader began, the requests that were fired
// since, and the latest look at the server. The levels in between are left out. Next returns the
// batch that comes after the moment.
func (r *Reader) StateAt(to limiter.Instant) (model.Batch, error) {
	var all model.Batch
	readings := map[string]*model.Reading{}
	for begun := false; ; begun = true {
		was := r.latest
		b, err := r.Next()
		if err != nil && !begun {
			return all, err
		}
		if err != nil || begun && r.latest.moment > to {
			if err == nil {
				r.ahead, r.latest = &told{b, r.latest.moment, r.latest.place}, was
			}
			for _, reading := range readings {
				all.Readings = append(all.Readings, *reading)
			}
			slices.SortFunc(all.Readings, func(x, y model.Reading) int { return strings.Compare(x.Key, y.Key) })
			return all, nil
		}
		for i := range b.Readings {
			reading := &b.Readings[i]
			if old := readings[reading.Key]; old != nil {
				if reading.Since != 0 && reading.Since == old.At && old.Since != 0 { // it was watched all along
					reading.Since = old.Since
				}
				reading.Arrivals = append(old.Arrivals, reading.Arrivals...)
			}
			reading.Trace = nil
			readings[reading.Key] = reading
		}
		for _, name := range slices.Concat(b.Gone, b.LeftOut) {
			delete(readings, name)
		}
		b.Fired = append(all.Fired, b.Fired...)
		b.Fired = b.Fired[max(0, len(b.Fired)-maxFired):]
		b.Health, b.HotKeys = cmp.Or(b.Health, all.Health), cmp.Or(b.HotKeys, all.HotKeys)
		b.Readings, b.Gone, b.LeftOut, b.Cost = nil, nil, nil, model.Cost{}
		all = b
	}
}
