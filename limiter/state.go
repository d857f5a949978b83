package limiter

// Entry is a run of requests recorded at one instant.
type Entry struct {
	At    Instant
	Count int64
}

// State is what a store holds about one key: enough to decide, to explain and to
// forecast without the store. Which fields count depends on Algorithm; the zero
// values of the others are ignored. The zero State of an algorithm is a new key.
type State struct {
	Algorithm Algorithm

	// Fixed and sliding window. Start is the beginning of the window that Current
	// counts; Previous is the count of the window just before it. A state read a
	// while ago is brought forward by its methods, not by its reader.
	Start             Instant
	Previous, Current int64

	// Sliding log and stream counter: what was charged, oldest first. It may reach
	// back further than one window; what is too old is not counted.
	Log []Entry

	// GCRA: the theoretical arrival time of the next request.
	TAT Instant

	// Buckets: tokens left (token bucket) or water level (leaky bucket) at Filled.
	Level  float64
	Filled Instant

	// BlockedUntil is when a key that overran is heard again; zero when it is not blocked.
	BlockedUntil Instant
}
