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

// Peek says what would become of a request of cost n at the instant now. It does not
// change s. Cost 0 asks for nothing and is allowed, unless the key is blocked.
func (s *State) Peek(now Instant, limit Limit, c Convention, n int64) (d Decision) {
	q := request{blocked: s.BlockedUntil}
	q.fill(&d, now, limit, &c, n, s.Algorithm)
	s.decide(&d, &q)
	return d
}

// Take decides about a request of cost n at the instant now and updates s as a store
// would. It is pure arithmetic: what a store does in its own words, in one place. A request
// that leaves no trace does not even bring the state forward, for no store would: after the
// clock jumped back, what was there still counts.
func (s *State) Take(now Instant, limit Limit, c Convention, n int64) (d Decision) {
	q := request{write: n > 0, blocked: s.BlockedUntil}
	q.fill(&d, now, limit, &c, n, s.Algorithm)
	s.decide(&d, &q)
	s.BlockedUntil = q.blocked
	return d
}

func (s *State) decide(d *Decision, q *request) {
	if q.logs {
		s.decideLog(d, q)
		return
	}
	if k, charged := q.decide(d, s.pack()); charged {
		s.unpack(k)
	}
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State {
	t := *s
	t.Log = append([]Entry(nil), s.Log...)
	return t
}

// pack returns the state of an algorithm that keeps no log.
func (s *State) pack() packed {
	switch s.Algorithm.Kind() {
	case KindWindow, KindWeighted:
		return counters{s.Start, s.Previous, s.Current, s.PreviousStart}.pack()
	case KindArrival:
		return unpack(s.TAT, s.Part, s.Parts)
	case KindBucket:
		k := unpack(s.Filled, s.Part, s.Parts)
		k.z = int64(max(min(s.Level, MaxCount), 0))
		return k
	}
	return packed{}
}

func (s *State) unpack(k packed) {
	switch s.Algorithm.Kind() {
	case KindWindow, KindWeighted:
		c := k.counters()
		s.Start, s.Previous, s.Current, s.PreviousStart = c.start, c.previous, c.current, c.previousStart
	case KindArrival:
		s.TAT, s.Part, s.Parts = k.at, k.x, k.y
	case KindBucket:
		s.Filled, s.Part, s.Parts, s.Level = k.at, k.x, k.y, float64(k.z)
	}
}
