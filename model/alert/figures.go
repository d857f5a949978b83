package alert

import (
	"slices"

	"ratescope/limiter"
	"ratescope/model"
)

// ofKey returns a figure of a key.
func ofKey(m Metric, k *model.Watched, now limiter.Instant) (v float64, known bool) {
	g := k.Reading.Gauge(now)
	switch m {
	case Utilization:
		return g.Utilization, g.Remaining.Known
	case DeniedRate:
		return g.DeniedPerSec, g.DeniedInW.Known && k.Reading.Err == ""
	}
	if !g.RateKnown { // the rate of a key whose store keeps no counts is that of its arrivals
		return k.Gauge.Rate, k.Gauge.RateKnown
	}
	return g.Rate, true
}

// ofServer returns a figure of the server.
func (e *Engine) ofServer(m Metric) (v float64, known bool, ev Event) {
	h, s := &e.board.Health, &e.board.Server
	switch m {
	case NoData:
		ev.Reason = s.Err
		return number(s.Link == model.Down || s.Err != ""), true, ev
	case Forgotten:
		n, total := e.board.Forgotten(e.clock.now)
		ev.Total = total
		return float64(n), true, ev
	}
	if !e.live {
		return 0, false, ev
	}
	switch m {
	case Evictions:
		return h.Evicted.V, h.Evicted.Known, ev
	case Skew:
		off := max(s.Offset, -s.Offset) - s.OffsetBy
		return max(off.Seconds()*1000, 0), s.OffsetBy > 0 || s.Offset != 0, ev
	case Errors:
		for _, one := range h.Errors {
			if !slices.Contains(redirections, one.Name) {
				v += one.Rate
			}
		}
		return v, h.Over > 0, ev
	}
	for _, c := range h.Commands {
		if c.Scripts && c.Calls > 0 {
			v, known = max(v, c.Mean.Seconds()*1000), true
		}
	}
	return v, known, ev
}

// redirections are answers that a cluster gives while slots move, counted as errors by the server: the client
// asks the node that they name.
var redirections = []string{"MOVED", "ASK", "TRYAGAIN"}

func number(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
