package connect

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// ErrOneNode is in the error of Join where the URL says ?cluster=false.
var ErrOneNode = errors.New("the URL asks for this node alone")

// Join makes an endpoint of a single server, which turned out to be a node of a cluster, the
// way to the whole cluster, if every master of it answers: clients that are opened from then
// on, those that fire too, find each key on the node that holds it. It returns how many
// masters there are. Where a node cannot be reached under the address that the cluster
// announces, as behind a tunnel, the error says so and the endpoint stays as it was.
func (e *Endpoint) Join(ctx context.Context) (masters int, err error) {
	if e.joined == nil {
		return 0, ErrOneNode
	}
	whole := *e
	whole.joined = new(atomic.Bool)
	whole.joined.Store(true)
	c, ok := whole.Open("ratescope-join", 1, &Guard{}).(*redis.ClusterClient)
	if !ok {
		return 0, ErrOneNode
	}
	defer c.Close()
	var n atomic.Int64
	err = c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		n.Add(1)
		if err := node.Ping(ctx).Err(); Away(err) {
			return errors.New(Explain(err, node.Options().Addr))
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case n.Load() == 0:
		return 0, fmt.Errorf("%s serves no slots yet", e.Shown)
	}
	e.joined.Store(true)
	return int(n.Load()), nil
}
