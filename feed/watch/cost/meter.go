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

// Meter measures what the commands of a pipeline really take of the server's processor: it
// asks INFO cpu before and after them. A server executes what it has read from one socket
// without a pause, so that no other client's commands are in between; where the network cuts a
// pipeline in pieces some are, so that the median of the latest measurements counts. What it
// asks for itself is measured too, and left out.
//
// The zero value is ready. It is used by one goroutine.
type Meter struct {
	next    time.Time
	refused bool // the server does not tell
	ratios  []float64

	before, after, again *redis.StringCmd
}

const (
	measureEvery = 2 * time.Second
	measureFirst = 200 * time.Millisecond // until there are enough
	enoughRatios = 5
	mostRatios   = 15
	// Fewest is how many commands a pipeline must have to be measured, and Most how many it may
	// have: what a server reads at once.
	Fewest, Most = 30, 120
	// A ratio beyond these bounds was no measurement: others were in between.
	leastRatio, mostRatio = 0.25, 8
)

// Due says that it is time to measure a pipeline.
func (m *Meter) Due(now time.Time) bool { return !m.refused && !now.Before(m.next) }

// Begin adds the first question to a pipeline that is still empty.
func (m *Meter) Begin(ctx context.Context, p redis.Pipeliner) { m.before = p.Info(ctx, "cpu") }

// End adds the last questions to a pipeline.
func (m *Meter) End(ctx context.Context, p redis.Pipeliner) {
	m.after, m.again = p.Info(ctx, "cpu"), p.Info(ctx, "cpu")
}

// Take takes the answers for a pipeline that was executed. It returns the tariff with what
// it has learned, and the price of the pipeline.
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

// Used reads the processor time of INFO cpu, of all the server's threads but not of the
// processes that save its data. known is false for an answer without it.
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
