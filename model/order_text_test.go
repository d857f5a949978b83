package model

import (
	"strings"
	"testing"
	"time"
)

func TestParseOrder(t *testing.T) {
	for text, want := range map[string]struct {
		n     int
		cost  int64
		rate  float64
		shape string
		phase float64
	}{
		"60":                            {60, 1, 0, "even", -1},
		"5/s":                           {0, 1, 5, "even", -1},
		"60 5/s poisson cost:2":         {60, 2, 5, "poisson:0", -1},
		" ramp:50/s:30s 2/s  100 ":      {100, 1, 2, "ramp:50/s:30s", -1},
		"on-off:2s:8s 10/s phase:0.25":  {0, 1, 10, "on-off:2s:8s", 0.25},
		"cost:3":                        {1, 3, 0, "even", -1},
		"10000 1000/s poisson:7 cost:1": {10000, 1, 1000, "poisson:7", -1},
	} {
		s, phase, err := ParseOrder(text)
		if err != nil || s.N != want.n || s.Cost != want.cost || s.Rate != want.rate || s.Shape.String() != want.shape || phase != want.phase {
			t.Errorf("%q is %+v, phase %v, %v", text, s, phase, err)
		}
	}
	if s, _, err := ParseOrder("5 scratch"); err != nil || !s.Scratch || s.N != 5 {
		t.Errorf("a scratch copy: %+v, %v", s, err)
	}
	if s, _, err := ParseOrder("from:busy.jsonl cost:2"); err != nil || s.Shape.From != "busy.jsonl" || s.Shape.Kind != Recorded || s.N != 0 || s.Cost != 2 {
		t.Errorf("a recording: %+v, %v", s, err)
	}
	for text, cause := range map[string]string{
		"from:": "no recording", "5 from:busy.jsonl": "leave out the number", "from:busy.jsonl 5/s": "leave out the number",
		"": "there is no order", "0": "no number", "-3": "no number", "5x": "no number", "10001": "out of range", "2000/s": "out of range",
		"cost:0": "cost of 0", "cost:": "no cost", "phase:1 5/s": "no phase", "poisson": "needs a rate", "5 saw": "no shape", "ramp:5 1/s": "no shape",
	} {
		if s, _, err := ParseOrder(text); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%q is %+v, %v, want %q", text, s, err, cause)
		}
	}
}

// FuzzParseOrder: what is read is in range, and printed again it is the same order.
func FuzzParseOrder(f *testing.F) {
	f.Add("60 5/s poisson:3 cost:2 phase:0.5")
	f.Add("ramp:50/s:30s 2/s")
	f.Fuzz(func(t *testing.T, text string) {
		s, phase, err := ParseOrder(text)
		if err != nil {
			return
		}
		if s.N < 0 || s.N > MaxRequests || s.Rate > MaxRate || s.Cost < 1 || phase >= 1 || s.Shape.Wait != 0 {
			t.Errorf("%q is %+v, phase %v", text, s, phase)
		}
		for at := range s.Due() {
			if at < 0 || at > 24*365*time.Hour {
				t.Errorf("%q: a request is due after %v", text, at)
			}
			break
		}
	})
}
