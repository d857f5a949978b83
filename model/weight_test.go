package model_test

import (
	"math"
	"strconv"
	"testing"

	"ratescope/model"
)

// TestTheShownWeightGivesTheShownProduct multiplies as a reader does.
func TestTheShownWeightGivesTheShownProduct(t *testing.T) {
	for _, tc := range []struct {
		previous int64
		weight   float64
		decimals int
		want     string
	}{
		{10, 0.7379, 3, "0.7379"}, {10, 0.738, 3, "0.738"}, {2, 0.5, 0, "0.50"}, {19300, 0.966, 0, "0.966"}, {0, 0.123456, 1, "0.12"}, {7, 1, 1, "1.00"},
	} {
		if got := model.ShownWeight(tc.previous, tc.weight, tc.decimals); got != tc.want {
			t.Errorf("the weight %v of %d is shown as %s, want %s", tc.weight, tc.previous, got, tc.want)
		}
	}
	for i := range 20_000 {
		previous, weight, decimals := int64(i)*37%100_003, float64(i*7919%10_007)/10_007, i%4
		shown, err := strconv.ParseFloat(model.ShownWeight(previous, weight, decimals), 64)
		if err != nil {
			t.Fatal(err)
		}
		got, want := strconv.FormatFloat(float64(previous)*shown, 'f', decimals, 64), strconv.FormatFloat(float64(previous)*weight, 'f', decimals, 64)
		if got != want || math.Abs(shown-weight) > 0.01 {
			t.Fatalf("%d × %v gives %s, and %s stands beside it", previous, shown, got, want)
		}
	}
}
