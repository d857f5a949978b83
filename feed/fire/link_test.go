package fire_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/feed/connect"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestFirstFireRaisesNoAlarm fires at a server that does not know the script: the request is
// decided, and the server has no error to count.
func TestFirstFireRaisesNoAlarm(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	e, err := connect.Parse([]string{s.URL()}, connect.TLSFiles{})
	if err != nil {
		t.Fatal(err)
	}
	i := fire.New(e, fire.Options{Armed: true, Timeout: servertest.Patience, AuditPath: filepath.Join(t.TempDir(), "audit.jsonl")}, func() time.Duration { return 0 })
	t.Cleanup(func() { i.Close() })
	limit := limiter.Limit{Count: 5, Window: time.Minute}
	for _, a := range []limiter.Algorithm{limiter.SlidingLog, limiter.GCRA} {
		order := model.Order{Key: "k" + a.String(), N: 3, Cost: 1, Target: model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}}
		if outcomes, err := i.Fire(context.Background(), order, nil); err != nil || outcomes.Admitted != 3 {
			t.Errorf("%v: %+v, %v", a, outcomes, err)
		}
	}
	if stats := s.CLI("INFO", "errorstats"); strings.Contains(stats, "errorstat_") {
		t.Errorf("the server counted errors: %s", stats)
	}
}
