package scenario_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"ratescope/limiter/scenario"
)

// FuzzLoad reads any file: it is refused in a sentence, or it runs to an end.
func FuzzLoad(f *testing.F) {
	vectors, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(vectors))
	f.Add(`{"id":"a","algorithm":"token-bucket","limit":1e3,"window_ms":0.5,"steps":[{"t_ms":1e300}]}`)
	f.Add(`{"id":"a","algorithm":"gcra","limit":7,"window_ms":1000,"burst":-1,"steps":[{"t_ms":0,"repeat":2000000}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := scenario.Load(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, s := range all {
			for i := range s.Steps {
				s.Steps[i].Repeat = min(s.Steps[i].Repeat, 10)
			}
			if _, err := scenario.Run(context.Background(), s, nil); err != nil && !strings.Contains(err.Error(), s.ID) {
				t.Errorf("%v does not say which scenario", err)
			}
		}
	})
}
