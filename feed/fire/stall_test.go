package fire

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/model"
)

// TestOneStallIsOne fires a rate with many requests on the wire, of which one stall of the server delays all:
// firing goes on. Five stalls one after the other stop it.
func TestOneStallIsOne(t *testing.T) {
	for stalls, want := range map[int]bool{1: false, slowInARow: true} {
		synctest.Test(t, func(t *testing.T) {
			a := &audit{path: filepath.Join(t.TempDir(), "audit.jsonl")}
			if err := a.open(); err != nil {
				t.Fatal(err)
			}
			defer a.close()
			begun := time.Now()
			over := time.Duration(stalls)*slowAnswer - slowAnswer/2 // the requests on the wire wait together
			f := &firing{audit: a, giveUp: GiveUp, action: &action{id: "a"}, order: model.Order{Key: "k", Cost: 1, N: 400, Rate: 100}}
			f.send = func(ctx context.Context) answered {
				sent := time.Now()
				if sent.Sub(begun) < over {
					time.Sleep(slowAnswer)
				}
				return answered{Fired: model.Fired{Outcome: model.Admitted, Latency: time.Since(sent)}}
			}
			got, err := f.carryOut(t.Context(), func(model.Outcomes) error { return nil })
			if stopped := err != nil; stopped != want {
				t.Errorf("%d stalls: stopped %v (%v) after %d requests", stalls, stopped, err, got.Total())
			}
		})
	}
}
