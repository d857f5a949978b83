package metrics

import "ratescope/model"

// states tells how many keys are in which state.
func (p *page) states(t model.Totals) {
	ok := t.Keys - t.Throttled - t.Eased - t.Near - t.Unknown - t.Broken - t.Likely
	for _, s := range []struct {
		name string
		keys int
	}{{"throttled", t.Throttled}, {"was_throttled", t.Eased}, {"near", t.Near}, {"ok", ok}, {"no_limit", t.Unknown}, {"unreadable", t.Broken},
		{"likely", t.Likely}} {
		p.tell("keys_by_state", float64(s.keys), s.name)
	}
	p.tell("keys_sick", float64(t.Sick))
}

// sweep tells how far the search for limiters is.
func (p *page) sweep(s *model.Sweep) {
	p.tell("keys_not_watched", float64(s.Dropped))
	p.tell("sweep_passes_total", float64(s.Passes))
	p.tell("sweep_scanned_keys", float64(s.Scanned))
	if s.Total > 0 {
		p.tell("sweep_keys", float64(s.Total))
	}
	if s.Share > 0 {
		p.tell("watch_allowed_ratio", s.Share)
	}
}

// health tells how the server does, which answers.
func (p *page) health(h *model.Health, s model.Server) {
	for name, m := range map[string]model.Measure{
		"commands_per_second": h.Ops, "cpu_cores": h.CPU, "memory_used_bytes": h.MemoryUsed, "memory_max_bytes": h.MemoryMax,
		"clients": h.Clients, "evicted_keys_per_second": h.Evicted, "expired_keys_per_second": h.Expired, "replica_lag_bytes": h.Lag,
	} {
		if m.Known {
			p.tell("redis_"+name, m.V)
		}
	}
	if s.RTT > 0 {
		p.tell("round_trip_seconds", s.RTT.Seconds())
	}
	if s.OffsetBy > 0 {
		p.tell("redis_clock_offset_seconds", s.Offset.Seconds())
	}
	for _, cmd := range h.Commands {
		if cmd.Scripts {
			p.tell("redis_script_seconds", cmd.Mean.Seconds(), label(cmd.Name))
		}
	}
	for _, e := range h.Errors {
		p.tell("redis_errors_per_second", e.Rate, label(e.Name))
	}
}
