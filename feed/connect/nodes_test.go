package connect

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestSlotsOfReplicas: of each master one replica is taken for the only node of its slots, the first by address that is
// well, and the master where there is none; a node that does not answer is not the only one that is asked.
func TestSlotsOfReplicas(t *testing.T) {
	n := &Nodes{Replicas: true, known: []string{"dead:1", "a:1"}, seeds: []string{"dead:1", "a:1"}, avoid: map[string]time.Time{}}
	asked := ""
	ask := func(_ context.Context, addr string) ([]redis.ClusterSlot, error) {
		if asked = addr; addr == "dead:1" {
			return nil, errors.New("away")
		}
		node := func(addrs ...string) (all []redis.ClusterNode) {
			for _, a := range addrs {
				all = append(all, redis.ClusterNode{Addr: a})
			}
			return all
		}
		return []redis.ClusterSlot{
			{Start: 0, End: 99, Nodes: node("a:1")}, {Start: 100, End: 199, Nodes: node("b:1", "e:1", "d:1")},
			{Start: 200, End: 299, Nodes: node("b:1", "d:1", "e:1")}, {Start: 300, End: 301},
		}, nil
	}
	chosen := func() (addrs []string) {
		t.Helper()
		all, err := n.slots(t.Context(), ask)
		if err != nil || len(all) != 4 {
			t.Fatal(all, err)
		}
		for _, s := range all[:3] {
			if len(s.Nodes) != 1 {
				t.Fatalf("%+v", s)
			}
			addrs = append(addrs, s.Nodes[0].Addr)
		}
		return addrs
	}
	const lack = "no replica of a:1 answers, so that the master is read"
	if got := chosen(); !slices.Equal(got, []string{"a:1", "d:1", "d:1"}) || asked != "a:1" || n.Lack() != lack {
		t.Errorf("%v, lack %q", got, n.Lack())
	}
	n.Avoid("d:1")
	if got := chosen(); !slices.Equal(got, []string{"a:1", "e:1", "e:1"}) {
		t.Errorf("beside one that does not answer: %v", got)
	}
	n.avoid["d:1"] = time.Now().Add(-time.Second)
	if got := chosen(); !slices.Equal(got, []string{"a:1", "d:1", "d:1"}) {
		t.Errorf("when it may be well again: %v", got)
	}
	n.known = []string{"dead:1"}
	if _, err := n.slots(t.Context(), ask); err == nil {
		t.Error("of a cluster of which no node answers, slots are told")
	}
}
