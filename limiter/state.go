package limiter

// Entry is a run of requests recorded at one instant.
type Entry struct {
	At    Instant
	Count int64
}

// State is what a store holds about one key: enough to decide, to explain and to
// forecast without the store. A copy shares its Log with the original: Clone before
// taking from both. Which fields count depends on Algorithm; the zero
// values of the others are ignored. The zero State of an algorithm is a new key.
type State struct {
	Algorithm Algorithm

	// Fixed and sliding window. Start is the beginning of the window that Current
	// counts; Previous is the count of the window just before it. A state read a
	// while ago is brought forward by its methods, not by its reader.
	Start             Instant
	Previous, Current int64
	// PreviousStart is where the window that Previous counts began, for a sliding window
	// aligned to the first request, whose windows lie apart. Clock-aligned windows touch,
	// so it is not used there.
	PreviousStart Instant

	// Sliding log and stream counter: what was charged, oldest first. It may reach
	// back further than one window; what is too old is not counted. A decision looks at
	// all entries of two windows; the stores keep running sums instead.
	Log []Entry

	// GCRA: the theoretical arrival time of the next request, Part/Parts of a microsecond
	// later than TAT. Emission intervals are seldom whole microseconds, and a rest that is
	// dropped on every request adds up to a wrong rate.
	TAT Instant

	// Buckets: whole tokens left (token bucket) or whole units of water (leaky bucket) at
	// Filled, which is also Part/Parts of a microsecond later. A fraction of a token is
	// held as the time that has passed since Filled, so Level has no fraction.
	Level  float64
	Filled Instant

	// Part and Parts are that fraction of a microsecond, 0 <= Part < Parts; Parts 0 means none.
	Part, Parts int64

	// BlockedUntil is when a key that overran is heard again; zero when it is not blocked.
	BlockedUntil Instant
}
