package model

import (
	"math"
	"strconv"
)

// product formats the weighted count of the previous window, with so many decimals.
func product(previous int64, weight float64, decimals int) string {
	return strconv.FormatFloat(float64(previous)*weight, 'f', decimals, 64)
}

// ShownWeight formats the weight of the previous window with as few decimals as possible, two or
// more, so that a reader who multiplies it by previous gets the product that is shown beside it with
// so many decimals.
func ShownWeight(previous int64, weight float64, decimals int) string {
	want := product(previous, weight, decimals)
	for digits := 2; digits < 12; digits++ {
		scale := math.Pow10(digits)
		if short := math.Round(weight*scale) / scale; product(previous, short, decimals) == want {
			return strconv.FormatFloat(short, 'f', digits, 64)
		}
	}
	return strconv.FormatFloat(weight, 'f', -1, 64)
}
