package format

import (
	"time"

	"ratescope/model/format"
)

// Span writes a duration in at most six columns, rounded up.
func Span(d time.Duration) string { return format.Span(d) }

// SpanIn writes a duration as Span does, shorter where that takes more than so many columns.
func SpanIn(d time.Duration, columns int) string { return format.SpanIn(d, columns) }

// Length writes a configured duration as people say it: 10s, 1m, 1h30m, 250ms.
func Length(d time.Duration) string { return format.Length(d) }

// Latency writes a short duration with three digits: 180µs, 1.24ms, 340ms, 1.2s.
func Latency(d time.Duration) string { return format.Latency(d) }

// Signed writes a short duration with its sign.
func Signed(d time.Duration) string { return format.Signed(d) }
