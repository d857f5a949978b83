package model_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"ratescope/limiter/convention"
	"ratescope/model"
)

// TestTheShownSumAddsUp calculates as a reader does, from the printed figures alone, at random instants,
// and compares what comes out with what the limiter decides by.
func TestTheShownSumAddsUp(t *testing.T) {
	read := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		previous, current, weight := r.Int64N(1<<r.IntN(18)), r.Int64N(1000), r.Float64()
		rounding := []convention.Rounding{convention.Floor, convention.Exact, convention.Nearest}[r.IntN(3)]
		g := model.Gauge{Previous: model.Count{Known: true, N: previous}, Current: model.Count{Known: true, N: current}, Weight: weight}
		s := model.SumOf(&g, rounding)
		exact := float64(previous) * weight
		want := math.Floor(exact*10)/10 + float64(current)
		rounded := read(s.Product)
		switch rounding {
		case convention.Floor:
			want, rounded = math.Floor(exact)+float64(current), math.Floor(rounded)
		case convention.Nearest:
			want, rounded = math.Round(exact)+float64(current), math.Round(rounded)
		}
		product := math.Floor(float64(previous)*read(s.Weight)*10+1e-6) / 10
		if math.Abs(product-read(s.Product)) > 1e-9 || math.Abs(rounded-read(s.Rounded)) > 1e-9 ||
			math.Abs(read(s.Rounded)+float64(current)-read(s.Estimate)) > 1e-6 || math.Abs(read(s.Estimate)-want) > 1e-6 {
			t.Fatalf("%d × %v + %d is shown as %+v, and counts as %v", previous, weight, current, s, want)
		}
		if previous < 100 && len(s.Weight) != len("0.123") {
			t.Fatalf("the weight of %d is shown as %s", previous, s.Weight)
		}
	}
}
