package bench_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/bench"
)

// memory is a limiter of this program as a subject.
type memory struct {
	algorithm limiter.Algorithm
	terms     limiter.Convention
	limit     limiter.Limit
	now       limiter.Instant
	l         *limiter.Memory
}

func (m *memory) Reset() (err error) {
	m.l, err = limiter.NewMemory(m.algorithm, limiter.WithConvention(m.terms),
		limiter.WithClock(func() limiter.Instant { return m.now }))
	return err
}

func (m *memory) Admit(at limiter.Instant, cost int64) bench.Answer {
	m.now = at
	d, err := m.l.AllowN(context.Background(), "k", m.limit, cost)
	return bench.Answer{Admitted: d.Allowed, Err: err}
}

// TestOwn: every algorithm of this program is named with its terms, keeps what it promises, and has the worst
// case that its documentation says.
func TestOwn(t *testing.T) {
	ten := limiter.Limit{Count: 10, Window: 10 * time.Second}
	hundred := limiter.Limit{Count: 100, Window: time.Minute}
	first, exact := limiter.Convention{Alignment: convention.FirstRequest}, limiter.Convention{Rounding: convention.Exact}
	for _, c := range []struct {
		algorithm limiter.Algorithm
		terms     limiter.Convention
		limit     limiter.Limit
		name      limiter.Algorithm
		worst     int64
	}{
		{limiter.FixedWindow, limiter.Convention{}, ten, limiter.FixedWindow, 20},
		{limiter.FixedWindow, first, ten, limiter.FixedWindow, 19},
		{limiter.SlidingLog, limiter.Convention{}, ten, limiter.SlidingLog, 10},
		{limiter.SlidingLog, limiter.Convention{Edge: convention.Closed}, ten, limiter.SlidingLog, 10},
		{limiter.SlidingLog, limiter.Convention{Denied: convention.Charged}, ten, limiter.SlidingLog, 10},
		{limiter.StreamCounter, limiter.Convention{}, ten, limiter.SlidingLog, 10}, // its answers are a log's
		{limiter.SlidingWindow, exact, hundred, limiter.SlidingWindow, 199},
		{limiter.SlidingWindow, limiter.Convention{}, hundred, limiter.SlidingWindow, 200},
		{limiter.SlidingWindow, limiter.Convention{Rounding: convention.Nearest}, ten, limiter.SlidingWindow, 20},
		{limiter.GCRA, limiter.Convention{}, ten, limiter.GCRA, 19},
		{limiter.TokenBucket, limiter.Convention{}, ten, limiter.GCRA, 19},
		{limiter.LeakyBucket, limiter.Convention{}, ten, limiter.GCRA, 19},
		{limiter.TokenBucket, limiter.Convention{Refill: convention.Interval}, ten, limiter.FixedWindow, 19}, // anchored anew when full
	} {
		t.Run(fmt.Sprint(c.algorithm, c.terms), func(t *testing.T) {
			r, err := bench.Check(&memory{algorithm: c.algorithm, terms: c.terms, limit: c.limit}, bench.Options{Limit: c.limit, Cost: true})
			if err != nil {
				t.Fatal(err)
			}
			id := r.Identity
			if id.Algorithm != c.name || !id.Exact || r.Limit.Count != c.limit.Count || r.Limit.Window != c.limit.Window {
				t.Errorf("named %v %+v", r.Name(), id)
			}
			if id.Algorithm == c.algorithm && id.Terms.Edge != c.terms.Edge {
				t.Errorf("edge %v", id.Terms)
			}
			if r.Worst.Admitted != c.worst {
				t.Errorf("worst %d: %s, want %d", r.Worst.Admitted, bench.Words(r.Worst.Steps), c.worst)
			}
			if !r.OK() {
				t.Errorf("%+v", r.Findings)
			}
		})
	}
}

// TestIDs: every finding that can be told has one of the identifiers that other programs read, and docs/check.md explains each.
func TestIDs(t *testing.T) {
	fixed := []string{"over-admits", "under-admits", "no-expiry", "expires-early", "same-instant", "undeclared-key", "client-clock", "clock-back",
		"grows", "cost-ignored", "error"}
	content, err := os.ReadFile("../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named, found, told := map[string]string{}, []string{}, 0
	var calls []*ast.CallExpr
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if of, ok := n.Type.(*ast.Ident); ok && of.Name == "ID" {
					id, err := strconv.Unquote(n.Values[0].(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					named[n.Names[0].Name], found = id, append(found, id)
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "find" {
					calls = append(calls, n)
				}
			}
			return true
		})
	}
	slices.Sort(fixed)
	slices.Sort(found)
	if !slices.Equal(found, fixed) {
		t.Errorf("the findings are %v", found)
	}
	for _, c := range calls {
		name, ok := c.Args[0].(*ast.Ident)
		if !ok || named[name.Name] == "" {
			t.Errorf("a finding has an identifier of its own: %v", c.Args[0])
		}
		told++
	}
	if told < len(fixed) {
		t.Errorf("%d places tell a finding", told)
	}
	for _, id := range fixed {
		if !strings.Contains(string(content), "\n| "+id+" | ") {
			t.Errorf("docs/check.md does not explain %s", id)
		}
	}
}

// slots is a limiter that is none of the known ones: after ten requests it is open to one that comes after a pause, in two of five
// slots of the clock.
type slots struct {
	n    int64
	last limiter.Instant
}

func (s *slots) Reset() error { *s = slots{}; return nil }

func (s *slots) Admit(at limiter.Instant, cost int64) bench.Answer {
	s.n += cost
	rested := at.Sub(s.last) > 700*time.Millisecond
	s.last = at
	return bench.Answer{Admitted: s.n <= 10 || rested && int64(at)/1_700_000*7919%5 < 2}
}

// TestAgainst: of a limiter that is none of the known ones each algorithm is told by the first step that speaks against it, and
// of one that is known each other one.
func TestAgainst(t *testing.T) {
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	gcra := bench.Candidate{Algorithm: limiter.GCRA, Limit: limiter.Limit{Count: 10, Window: 10 * time.Second, Burst: 10}}
	for _, c := range []struct {
		subject bench.Subject
		name    string
		against int
	}{{&slots{}, "unknown", 5}, {gcra.Subject(), "gcra", 3}} {
		r, err := bench.Check(c.subject, bench.Options{Limit: limit})
		if err != nil || r.Name() != c.name || len(r.Identity.Against) < c.against {
			t.Errorf("%s, %+v, %v", r.Name(), r.Identity, err)
		}
		for _, a := range r.Identity.Against {
			if len(a.Steps) == 0 || !strings.Contains(a.Text, ", and it would ") || a.Algorithm == r.Identity.Algorithm {
				t.Errorf("against %s: %+v", a.Algorithm, a)
			}
		}
		content, err := r.MarshalJSON()
		if err != nil || !strings.Contains(string(content), `"against":[{"algorithm":"`) {
			t.Errorf("%s, %v", content, err)
		}
	}
}

// TestRounding: what no traffic tells apart is not said to be the one or the other.
func TestRounding(t *testing.T) {
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	for rounding, want := range map[convention.Rounding]string{convention.Floor: "rounded down or exact", convention.Nearest: "rounded"} {
		c := bench.Candidate{Algorithm: limiter.SlidingWindow, Limit: limit, Terms: limiter.Convention{Rounding: rounding}}
		r, err := bench.Check(c.Subject(), bench.Options{Limit: limit})
		if said, _, _ := strings.Cut(r.Identity.Rounding(), ":"); err != nil || said != want {
			t.Errorf("%v: %s, %v", rounding, r.Identity.Rounding(), err)
		}
	}
}
