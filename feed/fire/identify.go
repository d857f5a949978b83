package fire

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/model/arming"
)

// identify asks the server which life of it this is, and what of it tells whether it is one of
// production. A user that may not see INFO leaves the run id unknown.
func (l *link) identify(ctx context.Context) (arming.Server, arming.Traits, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	server := arming.Server{Name: l.endpoint.Shown}
	traits := arming.Traits{Loopback: l.endpoint.Loopback(), Clients: -1, Replicas: -1}
	nodes := []*redis.Client{}
	switch c := l.client().(type) {
	case *redis.Client:
		nodes = append(nodes, c)
	case *redis.ClusterClient:
		masters, err := connect.Masters(ctx, c)
		if err != nil {
			return server, traits, err
		}
		nodes = masters
	}
	var runs []string
	for _, n := range nodes {
		text, err := n.Info(ctx).Result()
		if err != nil && !replied(err) {
			return server, traits, err
		}
		f := connect.ParseInfo(text)
		runs = append(runs, f["run_id"])
		traits.Clients = max(traits.Clients, others(ctx, n, number(f["connected_clients"])))
		traits.Replicas = max(traits.Replicas, number(f["connected_slaves"]))
	}
	slices.Sort(runs)
	if !slices.Contains(runs, "") {
		server.RunID = strings.Join(runs, " ")
	}
	return server, traits, nil
}

// mostListed is the number of connections up to which our own are looked for among them: a list of
// more keeps a server busy, and ours are then not what makes them many.
const mostListed = 1000

// others returns how many of the connections to a node are of other programs. Those of ours are
// looked for only where there are so many that it matters: a script that fires in many processes at
// once is no sign of production. Where the user may not list them all are counted.
func others(ctx context.Context, n *redis.Client, clients int) int {
	if clients <= arming.ManyClients || clients > mostListed {
		return clients
	}
	list, err := n.ClientList(ctx).Result()
	if err != nil {
		return clients
	}
	return clients - strings.Count(list, " name="+ownNames)
}

// number reads a whole number of INFO, -1 where it has none.
func number(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// clustered reports whether the client that was made is one of a cluster.
func (l *link) clustered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, yes := l.opened.(*redis.ClusterClient)
	return yes
}
