package metrics

import "github.com/prometheus/client_golang/prometheus"

func ofSource(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("ratescope_"+name, help, nil, nil)
}

// The metrics.
var (
	up      = ofSource("up", "Whether the server answers.")
	age     = ofSource("source_age_seconds", "Time since the server last answered; absent before it did.")
	rtt     = ofSource("round_trip_seconds", "Round trip time of the last reading; absent when it is not known.")
	keys    = ofSource("keys", "Limiters that are watched.")
	leftOut = ofSource("keys_without_series",
		"Limiters that are watched and have no series, for there are too many or their names look alike.")
	dropped  = ofSource("keys_not_watched", "Limiters that were found beyond the most that are watched.")
	commands = ofSource("watch_commands_total", "Commands that watching sent to the server.")
	states   = prometheus.NewDesc("ratescope_keys_by_state",
		"Limiters by state: throttled, near (80 percent of the limit or more), ok, no_limit (the limit is not known), unreadable, likely (not "+
			"certain to be limiters).", []string{"state"}, nil)
	faultyKeys = ofSource("keys_sick", "Limiters that cannot be read, never free or hold what is no time.")
	scanned    = ofSource("sweep_scanned_keys", "Keys of the server that the search for limiters has looked at in this pass.")
	size       = ofSource("sweep_keys", "Keys of the server; absent when it is not known.")
	passes     = ofSource("sweep_passes_total",
		"Passes of the search for limiters that are complete; until the first one is, keys may be missing.")
	allowed = ofSource("watch_allowed_ratio",
		"Share of the server's time that watching may take now: the budget, and more for the first search while nobody else uses the server.")
	slots = ofSource("slots", "Hash slots whose limiters are watched, of 16384; absent where all are.")
	build = prometheus.NewDesc("ratescope_build_info", "Version of ratescope, and of the Go that built it.",
		[]string{"version", "goversion"}, nil)
	firing = prometheus.NewDesc("ratescope_alert_firing",
		"Alerts of the configuration that fire now; the key is empty for one about the server.", []string{"alert", "severity", "key"}, nil)
	deliveries = prometheus.NewDesc("ratescope_alert_deliveries_total", "Alerts by what became of delivering them: delivered, retried, refused, failed.", []string{"alert", "outcome"}, nil)
	spent      = ofSource("watch_server_seconds_total", "Time of the server that watching took, estimated.")
)

// Figures of the server, as it tells them.
var (
	redisOps     = ofSource("redis_commands_per_second", "Commands that the server processes a second.")
	redisCPU     = ofSource("redis_cpu_cores", "Processors that the server uses, 1 is one core.")
	redisMemory  = ofSource("redis_memory_used_bytes", "Memory that the server uses.")
	redisMax     = ofSource("redis_memory_max_bytes", "Memory that the server may use; 0 has no limit.")
	redisClients = ofSource("redis_clients", "Clients of the server.")
	redisEvicted = ofSource("redis_evicted_keys_per_second", "Keys that the server evicts a second.")
	redisExpired = ofSource("redis_expired_keys_per_second", "Keys that expire on the server a second.")
	redisLag     = ofSource("redis_replica_lag_bytes", "Bytes that the slowest replica is behind.")
	redisScript  = prometheus.NewDesc("ratescope_redis_script_seconds", "Mean time of a call that runs a script.", []string{"command"}, nil)
	redisErrors  = prometheus.NewDesc("ratescope_redis_errors_per_second", "Error replies of the server a second.", []string{"error"}, nil)
	redisOffset  = ofSource("redis_clock_offset_seconds", "How far the server's clock is ahead of this machine's.")
)

// described are all metrics but the figures of keys.
var described = []*prometheus.Desc{
	up, age, rtt, keys, leftOut, dropped, commands, spent, allowed, slots, states, faultyKeys, scanned, size, passes, build, firing, deliveries,
	redisOps, redisCPU, redisMemory, redisMax, redisClients, redisEvicted, redisExpired, redisLag, redisScript, redisErrors, redisOffset,
}
