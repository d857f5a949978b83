package redisstore

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// nodes finds the nodes of a cluster or a ring. A cluster's map of slots is fetched by the first look,
// in a goroutine: until it is there no node is known, and no decision waits for it.
type nodes struct {
	find     func(name string) (*redis.Client, error)
	ready    atomic.Bool
	fetching atomic.Bool
}

// nodesOf returns nil for a client of one server.
func nodesOf(c Client) *nodes {
	n := &nodes{}
	switch c := c.(type) {
	case *redis.ClusterClient:
		n.find = func(name string) (*redis.Client, error) { return c.MasterForKey(context.Background(), name) }
	case *redis.Ring:
		n.find = c.GetShardClientForKey
		n.ready.Store(true)
	default:
		return nil
	}
	return n
}

// of returns the node that holds a key, by its name on the server; nil if that is not known.
func (n *nodes) of(name string) *redis.Client {
	if n == nil || name == "" {
		return nil
	}
	if !n.ready.Load() {
		if n.fetching.CompareAndSwap(false, true) {
			go func() {
				_, err := n.find(name)
				n.ready.Store(err == nil)
				n.fetching.Store(false)
			}()
		}
		return nil
	}
	node, err := n.find(name)
	if err != nil {
		return nil
	}
	return node
}

// Node returns the address of the node of a cluster or a ring that decides about a key; "" for one
// server, and while it is not known. A limiter.Breaker leaves each node alone by it.
func (s *Store) Node(key string) string {
	if !s.made() {
		return ""
	}
	if node := s.nodes.of(s.plan.named(key)); node != nil {
		return node.Options().Addr
	}
	return ""
}
