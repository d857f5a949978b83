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

// identify asks the server for its identity and for the traits that mark a production server.
// The run ID is unknown if this user may not call INFO.
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

// mostListed bounds the number of connections that are listed to find ratescope's own: a longer
// list keeps a server busy, and ratescope's own connections are then not the reason for it.
const mostListed = 1000

// others returns how many connections to a node are of other programs. Ratescope's own
// connections are left out, since a script that fires in many processes at once is no sign of
// production; they are looked for only if there are enough connections to matter. If this user
// may not list connections, all of them count.
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

// number parses a whole number in INFO; -1 if there is none.
func number(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// clustered reports whether the client has been made, and is connected to a cluster.
func (l *link) clustered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, yes := l.opened.(*redis.ClusterClient)
	return yes
}
