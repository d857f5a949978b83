package cmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/limiter/scenario"
)

// TestVerify prints every kind of result; the runs themselves are made up.
func TestVerify(t *testing.T) {
	all := []scenario.Scenario{
		{ID: "log-edge", Algorithm: limiter.SlidingLog},
		{ID: "log-\x1b[31m", Algorithm: limiter.SlidingLog},
		{ID: "bucket", Algorithm: limiter.TokenBucket},
		{ID: "late", Algorithm: limiter.GCRA},
	}
	stores := []redisstore.Client{nil, nil}
	broken := errors.New("the server went away")
	for _, tc := range []struct {
		name   string
		result func(s scenario.Scenario, n int) (scenario.Result, error)
		says   string // in the error
	}{
		{"all well", func(s scenario.Scenario, n int) (scenario.Result, error) {
			switch {
			case s.Algorithm == limiter.TokenBucket:
				return scenario.Result{Store: "redis", Status: scenario.NotOnStore, Got: "no Lua for it"}, nil
			case s.Algorithm == limiter.GCRA:
				return scenario.Result{Store: "memory", Status: scenario.NotImplemented}, nil
			}
			return scenario.Result{Store: "memory", Status: scenario.Pass}, nil
		}, ""},
		{"mismatch", func(s scenario.Scenario, n int) (scenario.Result, error) {
			if n == 4 {
				return scenario.Result{Store: "memory", Status: scenario.Mismatch, Step: 3, Want: "allow", Got: "deny"}, nil
			}
			return scenario.Result{Store: "memory", Status: scenario.Pass}, nil
		}, "step 3: want allow, got deny"},
		{"store fails", func(s scenario.Scenario, n int) (scenario.Result, error) {
			if n == 2 {
				return scenario.Result{}, broken
			}
			return scenario.Result{Store: "memory", Status: scenario.Pass}, nil
		}, broken.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			n := 0
			err := verifyScenarios(&b, all, stores, func(s scenario.Scenario, _ redisstore.Client) (scenario.Result, error) {
				n++
				return tc.result(s, n)
			})
			if tc.says == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("the error is %v, want %q", err, tc.says)
			}
			golden.RequireEqual(t, b.Bytes())
		})
	}
}
