package feed_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratescope/feed"
	"ratescope/limiter"
	"ratescope/model"
)

// conformCase is a source under test.
type conformCase struct {
	// Open makes a source that has not run yet, and what ends it.
	Open func(t *testing.T) (s feed.Source, end func())
	// Refresh is the time between batches that the source was opened with.
	Refresh time.Duration
	// Keys is the least number of keys that the source will read.
	Keys int
}

// patience is how long a source may take for what should be prompt.
//
// It costs nothing where it is, and is long because the machine may be busy.
const patience = time.Minute

// conform holds a source to what feed.Source promises, but for what it leaves at its end.
func (c conformCase) conform(t *testing.T) {
	t.Run("emits at every refresh", c.emits)
	t.Run("batches are well formed", c.wellFormed)
	t.Run("arrivals are told once", c.tellsOnce)
	t.Run("does not begin after its context ended", c.stillborn)
	t.Run("focus may come at any time", c.focuses)
}

// run collects batches until enough says so, and fails when the source ends by itself.
func (c conformCase) run(t *testing.T, s feed.Source, enough func([]model.Batch) bool) []model.Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	var all []model.Batch
	done := false
	err := s.Run(ctx, func(b model.Batch) {
		if done {
			return
		}
		all = append(all, b)
		if enough(all) {
			done = true
			cancel()
		}
	})
	if err != nil {
		t.Fatalf("Run returned %v", err)
	}
	if !done {
		t.Fatalf("%d batches in %v were not enough", len(all), 3*patience)
	}
	return all
}

func (c conformCase) emits(t *testing.T) {
	s, end := c.Open(t)
	defer end()
	const n = 12
	all := c.run(t, s, func(all []model.Batch) bool { return len(all) == n })
	took := all[n-1].Local.Sub(all[2].Local)
	if least := c.Refresh * (n - 3) / 4; took < least {
		t.Errorf("%d batches came in %v: a source must not flood", n-3, took)
	}
	if most := c.Refresh*(n-3)*3 + patience; took > most {
		t.Errorf("%d batches took %v at a refresh of %v", n-3, took, c.Refresh)
	}
}

func (c conformCase) wellFormed(t *testing.T) {
	s, end := c.Open(t)
	defer end()
	seen := map[string]model.Reading{}
	all := c.run(t, s, func(all []model.Batch) bool {
		for _, r := range all[len(all)-1].Readings {
			seen[r.Key] = r
		}
		return len(all) > 20 && len(seen) >= c.Keys
	})
	last := map[string]model.Reading{}
	for i, b := range all {
		if i > 0 && b.At < all[i-1].At {
			t.Errorf("batch %d is %v before the one before it", i, all[i-1].At.Sub(b.At))
		}
		if !slices.IsSortedFunc(b.Readings, func(x, y model.Reading) int { return strings.Compare(x.Key, y.Key) }) {
			t.Errorf("batch %d is not sorted by key", i)
		}
		for j, r := range b.Readings {
			if j > 0 && b.Readings[j-1].Key == r.Key {
				t.Errorf("batch %d has two readings of %q", i, r.Key)
			}
			checkReading(t, i, r, last[r.Key])
			last[r.Key] = r
		}
	}
}

func checkReading(t *testing.T, i int, r, before model.Reading) {
	t.Helper()
	if before.Key != "" {
		if r.Since != before.At {
			t.Errorf("batch %d, %q: since is %d, but the reading before was at %d", i, r.Key, r.Since, before.At)
		}
		if r.At < before.At {
			t.Errorf("batch %d, %q: time runs backwards", i, r.Key)
		}
	}
	if r.Type == "" {
		t.Errorf("batch %d, %q: no type", i, r.Key)
	}
	ordered := slices.IsSortedFunc(r.State.Log, func(x, y limiter.Entry) int { return int(x.At - y.At) })
	if !ordered {
		t.Errorf("batch %d, %q: the log is not in order of time", i, r.Key)
	}
	for j, a := range r.Arrivals {
		if j > 0 && a.At < r.Arrivals[j-1].At {
			t.Errorf("batch %d, %q: arrivals are not in order of time", i, r.Key)
		}
		if a.N <= 0 {
			t.Errorf("batch %d, %q: an arrival of %d units", i, r.Key, a.N)
		}
	}
	for _, e := range r.State.Log {
		if e.Count <= 0 {
			t.Errorf("batch %d, %q: a log entry of %d units", i, r.Key, e.Count)
		}
	}
}

// remains is how long on the server's clock nothing that has come leaves the windows of the suite.
const remains = 3 * time.Second

// tellsOnce watches for a second, and compares what arrived with what the logs hold, without what is reported again because
// another window was found: every entry that came while the source was watching has to be told, and none twice.
func (c conformCase) tellsOnce(t *testing.T) {
	s, end := c.Open(t)
	defer end()
	all := c.run(t, s, func(all []model.Batch) bool {
		return all[len(all)-1].Local.Sub(all[0].Local) > time.Second
	})
	reported := map[string]int64{}
	from := map[string]model.Reading{}
	latest := map[string]model.Reading{}
	for _, b := range all {
		for _, r := range b.Readings {
			if _, ok := from[r.Key]; !ok {
				from[r.Key], latest[r.Key] = r, r
				continue
			}
			if r.At.Sub(from[r.Key].At) > remains { // entries may have left
				continue
			}
			old := latest[r.Key]
			repeats := r.Repeats(&old)
			for _, a := range r.Arrivals {
				if !a.Denied && !(repeats && a.At <= old.At) {
					reported[r.Key] += a.N
				}
			}
			latest[r.Key] = r
		}
	}
	for key, r := range latest {
		if r.Approximate || len(r.State.Log) == 0 {
			continue
		}
		var came int64
		newest := from[key].At
		if log := from[key].State.Log; len(log) > 0 {
			newest = log[len(log)-1].At
		}
		for _, e := range r.State.Log {
			if e.At > newest {
				came += e.Count
			}
		}
		if reported[key] != came {
			t.Errorf("%q: %d units were told and %d came", key, reported[key], came)
		}
	}
}

// ends holds a source to end with its context and to leave nothing.
func (c conformCase) ends(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s, end := c.Open(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	first := make(chan struct{}, 1)
	go func() {
		done <- s.Run(ctx, func(model.Batch) {
			select {
			case first <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-first:
	case <-time.After(patience):
		t.Fatal("no batch came")
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run returned %v at the end of its context", err)
		}
	case <-time.After(patience):
		t.Fatal("Run did not return")
	}
	end()
	goleak.VerifyNone(t, before)
}

func (c conformCase) stillborn(t *testing.T) {
	s, end := c.Open(t)
	defer end()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	begun := time.Now()
	if err := s.Run(ctx, func(model.Batch) {}); err != nil || time.Since(begun) > patience {
		t.Errorf("Run returned %v after %v", err, time.Since(begun))
	}
}

func (c conformCase) focuses(t *testing.T) {
	s, end := c.Open(t)
	defer end()
	f, ok := s.(feed.Focuser)
	if !ok {
		t.Skip("this source reads all keys alike")
	}
	f.Focus([]string{"nobody"})
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		for range 50 {
			f.Focus([]string{"a", "b"})
		}
	}()
	c.run(t, s, func(all []model.Batch) bool { return len(all) > 3 })
	<-stop
}
