package lab

import (
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// Every screen and text of the lab writes numbers and times with the functions of this
// file, so that one number has one rounding and sums that are written out add up.

// usualDecimals is how many decimals a number has at most, unless a comparison needs more.
const usualDecimals = 3

// mostDecimals is how many decimals a comparison may need.
const mostDecimals = 12

// Number writes a value with as few decimals as tell it, at most three.
func Number(v float64) string { return decimals(v, usualDecimals) }

// decimals writes a value with at most so many decimals, halves rounded up. A value that is
// a half but for the last bits of a double counts as one, so that v, and v and a whole
// number, are rounded alike.
func decimals(v float64, most int) string {
	if scaled := v * math.Pow10(most); math.Abs(scaled) < 1<<50 {
		v = math.Floor(scaled+0.5+1e-6) / math.Pow10(most)
	}
	s := strconv.FormatFloat(v, 'f', most, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// telling returns how many decimals, three or more, v needs so that what is written
// compares with a limit as v itself does.
func telling(v, limit float64) int {
	for d := usualDecimals; d < mostDecimals; d++ {
		shown, err := strconv.ParseFloat(decimals(v, d), 64)
		if err == nil && (shown < limit) == (v < limit) && (shown > limit) == (v > limit) {
			return d
		}
	}
	return mostDecimals
}

// Weighted writes the weight of the previous window and what previous × weight comes to,
// so that a reader who multiplies comes to the same.
func Weighted(previous int64, weight float64) (factor, product string) {
	return weightedTo(previous, weight, usualDecimals)
}

func weightedTo(previous int64, weight float64, most int) (factor, product string) {
	product = decimals(float64(previous)*weight, most)
	for digits := most; digits < mostDecimals; digits++ {
		factor = decimals(weight, digits)
		if short, err := strconv.ParseFloat(factor, 64); err == nil && decimals(float64(previous)*short, most) == product {
			break
		}
	}
	return factor, product
}

// Seconds writes a time in seconds, to the microsecond and without what is zero. Instants
// and waits of the lab are whole microseconds, so nothing is rounded but a fraction of one.
func Seconds(d time.Duration) string {
	return decimals(float64(d.Round(time.Microsecond)/time.Microsecond)/1e6, 6) + " s"
}

// clock writes an instant as the time of the story.
func (s *Setup) clock(t limiter.Instant) string { return Seconds(t.Sub(s.Zero)) }
