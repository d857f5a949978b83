// Package labtest knows how the lessons can be missed, for the tests of the engine and of
// the screen.
package labtest

import (
	"time"

	"ratescope/limiter/scenario"
)

// misses are, by lesson, tries that do not reach the goal: seconds, and how many.
var misses = map[string][][2]float64{
	"fixed-edge":              {{5, 10}, {12, 9}},
	"log-one-in-two":          {{0.5, 1}, {2.6, 1}, {2.7, 1}, {4.7, 1}},
	"log-six-requests":        {{5, 3}, {66, 3}},
	"stream-five-seconds":     {{0, 3}, {9, 0}},
	"log-boundary":            {{0, 1}, {0.999, 1}, {1.001, 1}, {1.002, 1}, {1.999, 1}, {2, 1}},
	"counter-weighted-sum":    {{15, 1}, {17, 1}},
	"counter-ninety-five":     {{2.2, 15}},
	"counter-rounding":        {{66, 8}, {100, 20}},
	"counter-worst-case":      {{5, 10}, {19.8, 8}},
	"counter-false-denial":    {{9, 10}, {10.5, 1}},
	"log-silence":             {{0.5, 5}, {30, 1}, {61, 1}},
	"log-lockout":             {{0, 2}, {1, 7}, {5, 1}, {9.5, 1}},
	"gcra-next-slot":          {{1, 6}, {2.5, 1}},
	"bucket-burst-and-drip":   {{1, 10}, {5, 10}},
	"fault-colliding-members": {{0.5, 3}, {0.6, 1}},
	"fault-seconds-as-millis": {{1, 3}, {2, 1}},
	"storm-without-backoff":   {{14, 1}, {18, 3}},
	"fault-clock-skew":        {{1, 5}, {2, 5}},
}

// Missed returns requests that do not reach the goal of a lesson; nil when none are known.
// A step of cost 0 only lets time pass.
func Missed(id string) []scenario.Step {
	var steps []scenario.Step
	for _, try := range misses[id] {
		steps = append(steps,
			scenario.Step{At: time.Duration(try[0]*1e6) * time.Microsecond, Cost: min(int64(try[1]), 1), Repeat: max(int(try[1]), 1)})
	}
	return steps
}
