package replay

import (
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// Requests returns when requests came at a key while a recording was made, counted from its
// first batch: admitted ones and, where they were recorded, denied ones, a unit of cost each. It
// is an error if there are more than most. What came before the recording is left out.
func Requests(f *record.File, key string, most int) ([]time.Duration, error) {
	var list []time.Duration
	var first, last limiter.Instant
	err := batches(f.From, 0, func(b model.Batch, at limiter.Instant) error {
		if first == 0 {
			first, last = at, at
		}
		for i := range b.Readings {
			if b.Readings[i].Key != key {
				continue
			}
			newest := last
			for _, a := range b.Readings[i].Arrivals {
				if a.At <= last {
					continue
				}
				for range a.N {
					if list = append(list, a.At.Sub(first)); len(list) > most {
						return fmt.Errorf("the recording holds more than the %d requests of one order: record less of it", most)
					}
				}
				newest = max(newest, a.At)
			}
			last = newest
		}
		return nil
	})
	return list, err
}
