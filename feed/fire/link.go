package fire

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
	"ratescope/model/arming"
	"ratescope/model/collect"
)

// link is the Injector's connection to its server, which may write: it decides requests with
// redisstore, and reads, saves and changes keys. The client is made when it is first used. A
// link is safe for concurrent use.
type link struct {
	endpoint *connect.Endpoint
	offset   func() time.Duration // how far the server's clock is ahead of this machine's
	timeout  time.Duration        // bounds one request
	denials  bool                 // denied requests are recorded beside the key
	marked   bool                 // the configuration says production: true

	mu     sync.Mutex
	opened redis.UniversalClient // nil before its first use

	asked sync.Map // digests of scripts that the server was asked for
}

const (
	firePool  = InFlight
	ownNames  = "ratescope" // prefix of the names of all ratescope's connections
	writeName = ownNames + "-fire"
)

// storeOn returns a new Store that decides requests at t over a client.
func (l *link) storeOn(c redisstore.Client, t model.Target) (*redisstore.Store, error) {
	opts := []redisstore.Option{redisstore.WithConvention(t.Convention), redisstore.WithLayout(t.Layout), redisstore.WithPrefix(""),
		redisstore.WithBatches(0)}
	if l.denials {
		opts = append(opts, redisstore.WithDenials())
	}
	store, err := redisstore.New(c, t.Algorithm, opts...)
	if err != nil {
		return nil, fmt.Errorf("it cannot be fired at: %w", err)
	}
	return store, nil
}

func (l *link) client() redis.UniversalClient {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened = l.endpoint.Waiting(l.timeout).Open(writeName, firePool, nil)
	}
	return l.opened
}

// now returns the present instant by the server's clock.
func (l *link) now() limiter.Instant { return limiter.InstantOf(time.Now().Add(l.offset())) }

// close closes the connections; the next use of the link makes new ones.
func (l *link) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		return nil
	}
	err := l.opened.Close()
	l.opened = nil
	l.asked.Clear()
	return err
}

// sender sends commands over the client that writes. It asks a server whether it knows a script before the
// script is first called by its digest: the server would count the call of an unknown digest as an error
// (errorstat_NOSCRIPT, failed_calls), which may alarm those who monitor it. It is safe for concurrent use.
type sender struct {
	link *link
	send func(ctx context.Context, cmd redis.Cmder) error
}

// plainly returns the sender that sends commands as they are.
func (l *link) plainly() sender {
	return sender{l, func(ctx context.Context, cmd redis.Cmder) error { return l.client().Process(ctx, cmd) }}
}

// errNoScript has the text of the server's own reply, so that the caller sends the script's text.
var errNoScript = errors.New("NOSCRIPT the server does not know the script yet")

// unknown reports whether a command calls a script by a digest that the server does not know. It asks once for each digest.
func (l *link) unknown(ctx context.Context, cmd redis.Cmder) bool {
	name := cmd.Name()
	if name != "evalsha" && name != "evalsha_ro" || len(cmd.Args()) < 2 {
		return false
	}
	digest := fmt.Sprint(cmd.Args()[1])
	if _, asked := l.asked.LoadOrStore(digest, true); asked {
		return false
	}
	known, err := l.client().ScriptExists(ctx, digest).Result()
	return err == nil && len(known) == 1 && !known[0]
}

// Process implements redisstore.Client. It sends a command, or fails with errNoScript instead.
func (s sender) Process(ctx context.Context, cmd redis.Cmder) error {
	if s.link.unknown(ctx, cmd) {
		cmd.SetErr(errNoScript)
		return errNoScript
	}
	return s.send(ctx, cmd)
}

// script is a Lua script with its digest.
type script struct{ text, digest string }

func newScript(text string) script { return script{text, redis.NewScript(text).Hash()} }

//go:embed lua/*.lua
var scripts embed.FS

// The scripts of this package. What each does and takes stands at its head.
var (
	exchange, restore    = embedded("exchange"), embedded("restore")
	withdrawLog, mendLog = embedded("withdraw_log"), embedded("mend_log")
	withdrawCounts       = embedded("withdraw_counts")
)

func embedded(name string) script {
	text, _ := scripts.ReadFile("lua/" + name + ".lua") // it is in the program
	return newScript(string(text))
}

// onceCmd is a command that go-redis does not send again.
type onceCmd struct{ *redis.Cmd }

// NoRetry tells go-redis not to send the command again.
func (c onceCmd) NoRetry() bool { return true }

// run runs a script once, by its digest if the server knows it.
func (s sender) run(ctx context.Context, lua script, keys []string, args ...any) *redis.Cmd {
	words := append([]any{"evalsha", lua.digest, len(keys)}, collect.Map(keys, func(k string) any { return k })...)
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	if err := s.Process(ctx, onceCmd{cmd}); redis.HasErrorPrefix(err, "NOSCRIPT") || errors.Is(err, errNoScript) {
		words = append([]any{"eval", lua.text}, cmd.Args()[2:]...)
		cmd = redis.NewCmd(ctx, words...)
		_ = s.send(ctx, onceCmd{cmd})
	}
	return cmd
}

// identify asks the server for its identity and for the traits that mark a production server.
// The run ID is unknown if this user may not call INFO.
func (l *link) identify(ctx context.Context) (arming.Server, arming.Traits, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	server := arming.Server{Name: l.endpoint.Shown}
	traits := arming.Traits{Marked: l.marked, Loopback: l.endpoint.Loopback(), Clients: -1, Replicas: -1}
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
