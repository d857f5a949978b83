package connect

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Masters returns the nodes of a cluster that are written to, by address. The error is for
// a cluster of which no node tells who they are.
func Masters(ctx context.Context, c *redis.ClusterClient) ([]*redis.Client, error) {
	var mu sync.Mutex
	var all []*redis.Client
	err := c.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, node)
		return nil
	})
	slices.SortFunc(all, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	return all, err
}
