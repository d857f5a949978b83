package cost

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// Meter measures how much of the server's processor time the commands of a pipeline take, by
// INFO cpu before and after them. A server executes all commands that it has read from one
// socket without a pause, so that normally no other client's commands come in between. If the
// network splits the pipeline some do, and therefore the median of the latest measurements
// counts. A third INFO measures the cost of INFO itself, which is left out.
//
// The zero value is ready. It is used by one goroutine.
type Meter struct {
	next    time.Time // the next measurement
	refused bool      // the server does not answer INFO cpu
	ratios  []float64 // measured time to predicted time, the latest last

	before, after, again *redis.StringCmd
}

const (
	measureEvery = 2 * time.Second
	measureFirst = 200 * time.Millisecond // between measurements until there are enoughRatios
	enoughRatios = 5
	mostRatios   = 15
	// Fewest and Most bound the number of commands of a pipeline that is measured: beyond Most
	// the server may read it in pieces.
	Fewest, Most = 30, 120
	// A ratio beyond these bounds includes commands of other clients, and is clamped.
	leastRatio, mostRatio = 0.25, 8
)

// Due reports whether it is time to measure a pipeline.
func (m *Meter) Due(now time.Time) bool { return !m.refused && !now.Before(m.next) }

// Begin adds the first INFO to a pipeline that is still empty.
func (m *Meter) Begin(ctx context.Context, p redis.Pipeliner) { m.before = p.Info(ctx, "cpu") }

// End adds the last two INFO to a pipeline.
func (m *Meter) End(ctx context.Context, p redis.Pipeliner) {
	m.after, m.again = p.Info(ctx, "cpu"), p.Info(ctx, "cpu")
}

// Take takes the answers of a pipeline that was executed. It returns t with the Factor that it
// has measured, and the price of the pipeline.
func (m *Meter) Take(now time.Time, cmds []redis.Cmder, t Model) (Model, time.Duration) {
	own := make([]redis.Cmder, 0, len(cmds))
	for _, c := range cmds {
		if c.Name() != "info" {
			own = append(own, c)
		}
	}
	price := t.Pipeline(own)
	if m.next = now.Add(measureEvery); len(m.ratios) < enoughRatios {
		m.next = now.Add(measureFirst)
	}
	var at [3]time.Duration
	for i, c := range [...]*redis.StringCmd{m.before, m.after, m.again} {
		text, err := c.Result()
		if err != nil {
			m.refused = m.refused || !connect.Away(err)
			return t, price
		}
		at[i], _ = Used(text)
	}
	asking := max(at[2]-at[1], 0)
	took := at[1] - at[0] - asking
	expected := Model{Exec: t.Exec}.commands(own)
	if len(own) >= Fewest && took > 0 {
		r := float64(took) / float64(expected)
		m.ratios = append(m.ratios, min(max(r, leastRatio), mostRatio))
		if len(m.ratios) > mostRatios {
			m.ratios = slices.Delete(m.ratios, 0, 1)
		}
	}
	if len(m.ratios) >= enoughRatios {
		sorted := slices.Sorted(slices.Values(m.ratios))
		t.Factor = sorted[len(sorted)/2]
	}
	return t, price + 3*asking
}

// Used returns the processor time in the text of INFO cpu: of all the server's threads, without
// the child processes that save its data. known is false when the text has none.
func Used(info string) (sum time.Duration, known bool) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				continue
			}
			sum, known = sum+time.Duration(math.Round(v*1e6))*time.Microsecond, true
		}
	}
	return sum, known
}
