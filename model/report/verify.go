package report

import (
	"fmt"
	"io"
	"strings"

	"ratescope/limiter/scenario"
	"ratescope/model/plural"
	"ratescope/model/safetext"
)

// Verify runs every scenario on every store and prints a table of what became of them
// and how many came to what. It stops at the first mismatch, and returns it as an error
// of one sentence; the table then ends with it. A store that fails ends it too.
func Verify(w io.Writer, all []scenario.Scenario, stores []scenario.Store,
	run func(scenario.Scenario, scenario.Store) (scenario.Result, error)) error {
	c := NewColumns("scenario", "algorithm", "store", "result")
	counts := map[scenario.Status]int{}
	total := len(all) * len(stores)
	var trouble error
table:
	for _, s := range all {
		for _, store := range stores {
			r, err := run(s, store)
			if err != nil {
				trouble = err
				break table
			}
			counts[r.Status]++
			c.Add(safetext.Clean(s.ID), s.Algorithm.String(), r.Store, said(r))
			if r.Status == scenario.Mismatch {
				trouble = fmt.Errorf("scenario %s on %s, step %d: want %s, got %s", s.ID, r.Store, r.Step, r.Want, r.Got)
				break table
			}
		}
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n", c, tally(counts, total)); err != nil {
		return err
	}
	return trouble
}

// said is the result in the words of the table.
func said(r scenario.Result) string {
	switch r.Status {
	case scenario.NotOnStore:
		return "not on " + r.Store
	case scenario.NotImplemented:
		return "no such algorithm yet"
	case scenario.Mismatch:
		return fmt.Sprintf("MISMATCH at step %d: want %s, got %s", r.Step, safetext.Clean(r.Want), safetext.Clean(r.Got))
	}
	return string(r.Status)
}

// tally prints how many of the runs came to what; what was not run is not left out.
func tally(counts map[scenario.Status]int, total int) string {
	left := total
	parts := make([]string, 0, 5)
	for _, one := range []struct {
		status scenario.Status
		words  string
	}{
		{scenario.Pass, "passed"}, {scenario.Mismatch, "mismatched"},
		{scenario.NotOnStore, "not on their store"}, {scenario.NotImplemented, "of algorithms that do not exist yet"},
	} {
		left -= counts[one.status]
		if n := counts[one.status]; n > 0 || one.status == scenario.Pass {
			parts = append(parts, fmt.Sprintf("%d %s", n, one.words))
		}
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", left))
	}
	return fmt.Sprintf("%s: %s", plural.Of(total, "run"), strings.Join(parts, ", "))
}
