package replay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"ratescope/limiter"
	"ratescope/model/record"
)

// Requests returns when requests came at a key while a recording was made, counted from its
// first batch: admitted ones and, where they were recorded, denied ones, a unit of cost each. It
// is an error if there are more than most. What came before the recording is left out.
func Requests(f *record.File, key string, most int) ([]time.Duration, error) {
	r, err := f.From(0)
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be read: %w", err)
	}
	var list []time.Duration
	var first, last limiter.Instant
	for {
		b, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), errors.As(err, new(*record.Damage)):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("the recording cannot be read: %w", err)
		}
		if first == 0 {
			first, last = r.Moment(), r.Moment()
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
						return nil, fmt.Errorf("the recording holds more than the %d requests of one order: record less of it", most)
					}
				}
				newest = max(newest, a.At)
			}
			last = newest
		}
	}
}
