package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"ratescope/model"
)

// gaugeFunc adds a gauge to what is exported.
type gaugeFunc func(d *prometheus.Desc, v float64, labels ...string)

// states counts the keys by state.
func (c *Collector) states(tell gaugeFunc) {
	n := map[string]int{"throttled": 0, "near": 0, "ok": 0, "no_limit": 0, "unreadable": 0, "likely": 0}
	faulty := 0
	for _, k := range c.board.Keys() {
		if k.Gone {
			continue
		}
		likely := k.Reading.Target.Evidence == model.Likely
		if !likely && k.Reading.Fault() != "" {
			faulty++
		}
		switch g := &k.Gauge; {
		case likely:
			n["likely"]++
		case k.Reading.Err != "":
			n["unreadable"]++
		case g.Throttled():
			n["throttled"]++
		case g.Near():
			n["near"]++
		case !g.Remaining.Known:
			n["no_limit"]++
		default:
			n["ok"]++
		}
	}
	for state, keys := range n {
		tell(states, float64(keys), state)
	}
	tell(faultyKeys, float64(faulty))
}

// sweep tells how far the search for limiters is.
func (c *Collector) sweep(tell gaugeFunc) {
	s := &c.board.Sweep
	tell(scanned, float64(s.Scanned))
	if s.Total > 0 {
		tell(size, float64(s.Total))
	}
	if s.Share > 0 {
		tell(allowed, s.Share)
	}
}

// health tells how the server does.
func health(h *model.Health, s model.Server, tell gaugeFunc) {
	for d, m := range map[*prometheus.Desc]model.Measure{
		redisOps: h.Ops, redisCPU: h.CPU, redisMemory: h.MemoryUsed, redisMax: h.MemoryMax, redisClients: h.Clients,
		redisEvicted: h.Evicted, redisExpired: h.Expired, redisLag: h.Lag,
	} {
		if m.Known {
			tell(d, m.V)
		}
	}
	if s.OffsetBy > 0 {
		tell(redisOffset, s.Offset.Seconds())
	}
	for _, cmd := range h.Commands {
		if cmd.Scripts {
			tell(redisScript, cmd.Mean.Seconds(), label(cmd.Name))
		}
	}
	for _, e := range h.Errors {
		tell(redisErrors, e.Rate, label(e.Name))
	}
}
