package fire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/internal/goroutine"
)

// Conditions that stop firing, in addition to failed requests.
const (
	slowAnswer  = time.Second // an answer that takes longer is slow
	slowInARow  = 5           // consecutive slow answers
	followEvery = time.Second // interval at which the server is checked while an order lasts
)

// follow checks the server while an order is carried out. It returns an error if the rest must not
// be sent, because a different server answers or keys are being evicted, and nil once ctx ends.
func (l *link) follow(ctx context.Context) error {
	first, evicted, known := l.glance(ctx)
	for known {
		if goroutine.Sleep(ctx, followEvery) != nil {
			return nil
		}
		now, more, ok := l.glance(ctx)
		switch {
		case !ok: // the requests themselves report what is wrong
		case now != first:
			return errors.New("firing stopped because the server was started anew, or another one took its place")
		case more > evicted:
			return fmt.Errorf("firing stopped because the server began to evict keys, %d since the order began: its memory is full", more-evicted)
		}
	}
	return nil
}

// glance returns the server's run ID and how many keys it has evicted; ok is false if it does not
// say, and for a cluster.
func (l *link) glance(ctx context.Context) (run string, evicted int, ok bool) {
	c, single := l.client().(*redis.Client)
	if !single {
		return "", 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	pipe := c.Pipeline() // one section for each command, because Redis before 7 takes no more
	server, stats := pipe.Info(ctx, "server"), pipe.Info(ctx, "stats")
	if _, err := pipe.Exec(ctx); err != nil {
		return "", 0, false
	}
	run = connect.ParseInfo(server.Val())["run_id"]
	return run, max(number(connect.ParseInfo(stats.Val())["evicted_keys"]), 0), run != ""
}
