package model

import (
	"math"
	"strconv"

	"ratescope/limiter"
)

// WeightedSum is the arithmetic of a weighted counter as text, in which every figure follows from
// those before it as they are printed.
type WeightedSum struct {
	Weight   string // of the previous window, three decimals or more
	Product  string // previous × Weight, one decimal, rounded down
	Rounded  string // Product by the convention; the same where that keeps fractions
	Estimate string // Rounded + current
}

// Whole reports whether the convention leaves Product as it is.
func (s WeightedSum) Whole() bool { return s.Rounded == s.Product || s.Rounded+".0" == s.Product }

// SumOf returns the arithmetic of a gauge, whose Previous and Current are known.
func SumOf(g *Gauge, r limiter.Rounding) WeightedSum {
	exact := float64(g.Previous.N) * g.Weight
	const least, most = 3, 15
	for digits := least; digits <= most; digits++ {
		scale := math.Pow10(digits)
		for _, round := range [...]func(float64) float64{math.Round, math.Floor, math.Ceil} {
			weight := round(g.Weight*scale) / scale
			tenths := math.Floor(float64(g.Previous.N)*weight*10 + 1e-6)
			same := r == limiter.RoundExact && tenths == math.Floor(exact*10) ||
				r == limiter.RoundFloor && math.Floor(tenths/10) == math.Floor(exact) ||
				r == limiter.RoundNearest && math.Round(tenths/10) == math.Round(exact)
			if same || digits == most {
				return sumOf(strconv.FormatFloat(weight, 'f', digits, 64), tenths, g.Current.N, r)
			}
		}
	}
	return WeightedSum{}
}

func sumOf(weight string, tenths float64, current int64, r limiter.Rounding) WeightedSum {
	text := func(tenths float64) string { return strconv.FormatFloat(tenths/10, 'f', 1, 64) }
	s := WeightedSum{Weight: weight, Product: text(tenths)}
	whole := math.Floor(tenths / 10)
	switch r {
	case limiter.RoundExact:
		s.Rounded, s.Estimate = s.Product, text(tenths+float64(current)*10)
		return s
	case limiter.RoundNearest:
		whole = math.Round(tenths / 10)
	}
	s.Rounded, s.Estimate = strconv.FormatFloat(whole, 'f', 0, 64), strconv.FormatFloat(whole+float64(current), 'f', 0, 64)
	return s
}
