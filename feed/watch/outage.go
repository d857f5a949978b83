package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/internal/backoff"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/format"
)

// outage is a node of a cluster that does not answer. Its keys are stale, and the keys of the
// other nodes are read without waiting for it. A goroutine pings the node until it answers.
type outage struct {
	err      error
	trackers int         // limiters whose keys the node holds
	over     atomic.Bool // the node answers again
	stop     context.CancelFunc
}

// noteOutage leaves a node out of all rounds until it answers.
func (l *link) noteOutage(ctx context.Context, addr string, node *redis.Client, trackers int, err error) {
	if o := l.outages[addr]; o != nil {
		if !o.over.Load() {
			o.err = err
			return
		}
		o.stop()
	}
	o := &outage{err: err, trackers: trackers}
	ctx, o.stop = context.WithCancel(ctx)
	l.outages[addr] = o
	l.nodes.Avoid(addr)
	if c, ok := l.client.(*redis.ClusterClient); ok {
		c.ReloadState(context.WithoutCancel(ctx)) // a replica may have taken its place
	}
	limit := l.answerLimit()
	l.beside.Go(func() {
		defer o.stop()
		var wait backoff.Exponential
		for backoff.Sleep(ctx, wait.Next()) == nil {
			limited, cancel := context.WithTimeout(ctx, limit)
			err := node.Ping(limited).Err()
			cancel()
			if !connect.Away(err) {
				o.over.Store(true)
				return
			}
		}
	})
}

// keysAt counts the limiters whose keys a node of a cluster holds.
func (l *link) keysAt(ctx context.Context, addr string, trackers map[string]*tracked) (n int) {
	for _, t := range trackers {
		if node, err := l.nodes.For(ctx, layout.DeniedKey(t.Name)); err == nil && node.Options().Addr == addr {
			n++
		}
	}
	return n
}

// reviewOutages forgets the outages of nodes that no longer hold keys, because other nodes have
// taken their place.
func (l *link) reviewOutages(ctx context.Context, trackers map[string]*tracked) {
	for addr, o := range l.outages {
		if n := l.keysAt(ctx, addr, trackers); n > 0 {
			o.trackers = n
		} else if o.trackers > 0 || o.over.Load() {
			o.stop()
			delete(l.outages, addr)
		}
	}
}

// anyNodeAnswers reports whether at least one node of the cluster is not known to be away.
func (l *link) anyNodeAnswers() bool {
	for addr := range l.clocks {
		if o := l.outages[addr]; o == nil || o.over.Load() {
			return true
		}
	}
	return false
}

// away returns the nodes that do not answer, sorted by address.
func (l *link) away() (nodes []model.Node) {
	for _, addr := range slices.Sorted(maps.Keys(l.outages)) {
		if o := l.outages[addr]; !o.over.Load() {
			nodes = append(nodes, model.Node{Addr: addr, Keys: o.trackers, Err: fmt.Sprintf("%s; %s stale", connect.Explain(o.err, addr), format.Are(o.trackers, "key"))})
		}
	}
	return nodes
}
