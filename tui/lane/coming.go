package lane

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Coming is a column of the time to come, as it will be if no client sends another request.
type Coming struct {
	Level  float32 // used/limit at its end
	Known  bool
	Denies bool // a request of cost 1 is denied throughout it
	Frees  bool // in it a request is admitted again
}

// Future is the columns to come of one key, worked out from its last reading. The zero value is ready.
type Future struct {
	Columns []Coming
	from    limiter.Instant
	column  time.Duration
	read    limiter.Instant
}

// Update works the columns out that begin at from, where these or the reading are others than before.
func (f *Future) Update(k *model.Watched, from limiter.Instant, column time.Duration, width int) {
	if f.from == from && f.read == k.Reading.At && f.column == column && len(f.Columns) == width {
		return
	}
	f.from, f.read, f.column = from, k.Reading.At, column
	f.Columns = append(f.Columns[:0], make([]Coming, width)...)
	g := &k.Gauge
	if k.Gone || !g.NextKnown || g.Used.Known && g.Used.N == 0 {
		return
	}
	for i := range f.Columns {
		at := from.Add(time.Duration(i+1) * column)
		then := k.Reading.Gauge(at)
		if !then.NextKnown || !then.Remaining.Known {
			return
		}
		c := Coming{Level: float32(then.Utilization), Known: true, Denies: then.Next != 0}
		before := g.Next != 0
		if i > 0 {
			before = f.Columns[i-1].Denies
		}
		c.Frees = before && !c.Denies
		f.Columns[i] = c
		if c.Level == 0 && !c.Denies { // nothing is used any more
			return
		}
	}
}
