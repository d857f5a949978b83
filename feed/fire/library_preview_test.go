package fire_test

import (
	"strings"
	"testing"

	"ratescope/internal/servertest"
	"ratescope/model"
)

// TestPreviewAtALibrary: the ticket of a key that another library keeps shows the commands that are
// then sent, with the value that follows from what the key holds, and of a request that would be
// denied no command.
func TestPreviewAtALibrary(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	key, r, i := seededInjector(t, s, libraryKeys["redis-rate"])
	target, err := r.Aim()
	if err != nil {
		t.Fatal(err)
	}
	order := model.Order{Key: key, Target: target, Cost: 1, N: 1}
	commands, err := i.Preview(t.Context(), order)
	if err != nil || len(commands) != 2 {
		t.Fatalf("%q, %v", commands, err)
	}
	if got, err := i.Fire(t.Context(), order, nil); err != nil || got.Admitted != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if held := strings.TrimSpace(s.CLI("GET", key)); commands[0] != "SET "+key+" "+held {
		t.Errorf("shown %q, written %s", commands[0], held)
	}
	order.N = 5
	if _, err := i.Fire(t.Context(), order, nil); err != nil {
		t.Fatal(err)
	}
	if commands, err := i.Preview(t.Context(), order); err != nil || len(commands) != 0 {
		t.Errorf("at a full key %q, %v", commands, err)
	}
}
