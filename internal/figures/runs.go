package main

// runs are the benchmarks of the page, those of what a person sees first.
func runs() []run {
	return []run{
		{".", "./tui/e2e", "FirstFrame|^BenchmarkScreen$", "1x", 3, []figure{
			{"first frame, the lab, times a bare Bubble Tea program", "FirstFrame", "lab/bare", "≤ 2"},
			{"first frame, the demo", "FirstFrame", "demo/bare", "≤ 4"},
			{"first frame, a server of 30 keys", "FirstFrame", "server/bare", "≤ 4"},
			{"the dashboard at rest", "Screen/idle", "%core", "< 1"},
			{"the memory of the dashboard", "Screen/idle", "MB", "32"},
			{"the dashboard of ten live keys", "Screen/ten_live_keys", "%core", "< 4"},
			{"the demo, traffic and Lua included", "Screen/the_demo", "%core", "< 3"},
		}},
		{".", "./feed", "MillionKeys|OthersLatency|Masters", "1x", 1, []figure{
			{"the first search of a million keys, an idle server", "MillionKeys", "s-first-pass", "≤ 60"},
			{"what the first search takes of an idle server", "MillionKeys", "%server", "≤ 10"},
			{"p99 of others' requests beside a search", "OthersLatency", "%p99", "< 5"},
			{"its interval of 95 %, the lower end", "OthersLatency", "%p99-lo", ""},
			{"its interval of 95 %, the upper end", "OthersLatency", "%p99-hi", ""},
			{"what watching takes of each of 4 masters", "Masters/4", "server-µs/s/master", ""},
			{"what watching takes of each of 100 masters", "Masters/100", "server-µs/s/master", "no more"},
		}},
		{".", "./model/record", "Hour|TailMemory", "1x", 1, []figure{
			{"an hour of 1,000 keys", "Hour", "MB", "< 20"},
			{"the longest of 20 seeks in it", "Hour", "ms-longest-seek", "< 50"},
		}},
		{".", "./feed/replay", "Seek", "20x", 3, []figure{
			{"a seek of a player, the median", "Seek", "ms-median", "< 50"},
			{"the longest of 20 seeks of a player", "Seek", "ms-longest", "< 50"},
		}},
		{"limiter/bench", ".", "Throughput|Server", "1x", 1, []figure{
			{"50 goroutines, times the best peer, fixed window", "Throughput", "fixed-50/peer", "≥ 1.3"},
			{"50 goroutines, times the best peer, GCRA", "Throughput", "gcra-50/peer", "≥ 1.3"},
			{"500 goroutines, times the best peer, fixed window", "Throughput", "fixed-500/peer", "≥ 1.8"},
			{"500 goroutines, times the best peer, GCRA", "Throughput", "gcra-500/peer", "≥ 1.8"},
			{"50 goroutines, times rueidis, GCRA", "Throughput", "gcra-50/rueidis", "≥ 0.9"},
			{"alone, times a plain EVALSHA, GCRA", "Throughput", "gcra-1/EVALSHA", "≥ 0.95"},
			{"allocations of a decision, GCRA", "Throughput", "gcra-50-allocations", "≤ 8"},
			{"allocations of a decision, fixed window", "Throughput", "fixed-50-allocations", "≤ 8"},
		}},
	}
}
