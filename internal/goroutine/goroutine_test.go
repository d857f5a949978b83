package goroutine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ratescope/internal/goroutine"
)

func TestCall(t *testing.T) {
	mine := errors.New("mine")
	if err := goroutine.Call(func() error { return mine }); err != mine {
		t.Errorf("it returns %v", err)
	}
	err := goroutine.Call(func() error { return errors.New(string(make([]byte, len(err0())-9))) })
	if p := (*goroutine.Error)(nil); !errors.As(err, &p) || !strings.Contains(err.Error(), "makeslice") || !strings.Contains(string(p.Stack), "goroutine_test.go") {
		t.Errorf("a panic is %v", err)
	}
}

// err0 is shorter than any compiler can know.
func err0() string { return strings.Repeat("x", 3) }

// TestGroupEndsTogether: one panic ends the others, and is what Wait returns.
func TestGroupEndsTogether(t *testing.T) {
	g, ctx := goroutine.NewGroup(context.Background())
	for range 3 {
		g.Go(func() { <-ctx.Done() })
	}
	g.Go(func() { panic("first") })
	err := g.Wait()
	if p := (*goroutine.Error)(nil); !errors.As(err, &p) || p.Value != "first" {
		t.Errorf("it ends with %v", err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is no sentence", err)
	}
	quiet, _ := goroutine.NewGroup(context.Background())
	quiet.Go(func() {})
	if err := quiet.Wait(); err != nil {
		t.Errorf("without a panic it ends with %v", err)
	}
}
