package limiter

import "context"

// AllowAt is AllowN at an explicit instant. What AllowN refuses is denied for ever.
func (m *Memory) AllowAt(now Instant, key string, limit Limit, n int64) (d Decision) {
	if !m.takes(limit, n) {
		return Decision{At: now, Limit: limit, Cost: n, RetryAfter: Never}
	}
	var q request
	q.fill(&d, now, limit, &m.convention, n, m.algorithm)
	m.decide(&d, &q, key, n > 0)
	return d
}

// PeekAt is Peek at an explicit instant, as AllowAt is AllowN.
func (m *Memory) PeekAt(now Instant, key string, limit Limit, n int64) (d Decision) {
	if !m.takes(limit, n) {
		return Decision{At: now, Limit: limit, Cost: n, RetryAfter: Never}
	}
	var q request
	q.fill(&d, now, limit, &m.convention, n, m.algorithm)
	m.decide(&d, &q, key, false)
	return d
}

// takes reports whether AllowN would take a request, whatever its key.
func (m *Memory) takes(limit Limit, n int64) bool {
	return m.check(context.Background(), "key", limit, n) == nil
}
