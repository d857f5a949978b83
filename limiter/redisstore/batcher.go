package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter/internal/given"
)

// batcher is a Client that sends the decisions of many goroutines together: calls that come while batches are on the
// wire wait for the next batch, as in a group commit. Many goroutines get a multiple of the decisions a second, because
// client and server wake up once for all calls of a batch. A single goroutine gains nothing. On a cluster and on a ring
// each node has batches of its own, so that nothing waits for a node that it does not need.
//
// It implements Client over any client of go-redis. It repeats nothing: a call without an answer has an unknown
// outcome. The context of a decision applies to that decision alone; if it ends before its batch is sent, the decision
// is not sent. A batcher is safe for concurrent use, and has no goroutine while there are no calls.
type batcher struct {
	client     Client
	pipeline   func() redis.Pipeliner // nil where each call is sent by itself
	concurrent int                    // greatest number of batches on the wire to one node
	nodes      *nodes                 // nil for one server
	timed      timed                  // sends a call that no other waits beside
	whole      lane                   // of a server that is one, and of calls whose node is not known
	together   together
	unreached  atomic.Pointer[error] // why a node could not be reached, the latest time
	mu         sync.Mutex
	lanes      map[*redis.Client]*lane
}

// lane holds the calls to one node.
type lane struct {
	of    *batcher
	addr  string // of the node; "" if it is not known
	mu    sync.Mutex
	queue []*call
	busy  int   // batches on the wire
	late  int   // of those, how many have kept a caller waiting beyond the end of its context
	err   error // why the latest batch could not be sent; nil after one that was
}

// maxLate is how many batches beyond the usual number a lane sends for each place while others have kept
// their callers waiting too long. Each takes a connection until the client's own timeouts end it.
const maxLate = 4

// maxBatch bounds the commands of a batch. All of them are answered together, so that in a longer
// batch they would only wait for each other. With 500 goroutines, 256 admit 1.1 to 1.25 times as many as 64, and sooner.
const maxBatch = 256

// maxLanes is how many nodes a batcher remembers before it begins anew.
const maxLanes = 256

// call is a command that waits for its batch and then for its answer.
type call struct {
	cmd  redis.Cmder
	done chan struct{} // gets a value when the answer is there
	sent bool          // its batch is on the wire; guarded by batcher.mu
}

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

// newBatcher returns a batcher; with 0 concurrent batches, or a client that cannot send one, it sends each
// call by itself and at once.
func newBatcher(c Client, concurrent int, named func(string) string) *batcher {
	b := &batcher{client: c, concurrent: concurrent, nodes: nodesOf(c), lanes: make(map[*redis.Client]*lane)}
	if batches, ok := c.(interface{ Pipeline() redis.Pipeliner }); ok && concurrent > 0 {
		b.pipeline = batches.Pipeline
	} else {
		b.concurrent = 1 << 30
	}
	b.whole.of, b.together.named = b, named
	b.together.client, _ = c.(*redis.Client)
	return b
}

func (b *batcher) lane(cmd redis.Cmder) *lane {
	node := b.nodes.of(keyOf(cmd))
	if node == nil {
		return &b.whole
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lanes[node]
	if l == nil {
		l = &lane{of: b, addr: node.Options().Addr}
		if len(b.lanes) >= maxLanes {
			clear(b.lanes) // nodes may have gone; what is under way in their lanes goes on
		}
		b.lanes[node] = l
	}
	return l
}

// keyOf returns the key by which a command finds its node: the first of a script, else the first
// argument.
func keyOf(cmd redis.Cmder) string {
	at := 1
	if strings.HasPrefix(cmd.Name(), "eval") {
		at = 3
	}
	if args := cmd.Args(); len(args) > at {
		key, _ := args[at].(string)
		return key
	}
	return ""
}

// errNotSent is the error of a command whose context ended before it was sent.
var errNotSent = errors.New("the request was not sent")

// Process implements Client. It returns when the command is answered or its context has ended.
func (b *batcher) Process(ctx context.Context, cmd redis.Cmder) error {
	l := b.lane(cmd)
	cmd.SetStepCount(1)                      // a cluster's client would ask some node for it, perhaps one that does not answer
	known := b.nodes == nil || l != &b.whole // else the client may look for the nodes first, beyond every deadline
	if c := b.timed.of(ctx, b.client); c != nil && known && l.alone() {
		return b.explain(l.next(inTime(ctx, process(ctx, c, cmd))))
	}
	c := calls.Get().(*call)
	c.cmd, c.sent = cmd, false
	l.mu.Lock()
	l.queue = append(l.queue, c)
	l.start()
	l.mu.Unlock()
	select {
	case <-c.done:
		c.cmd = nil
		calls.Put(c)
		return b.explain(cmd.Err())
	case <-ctx.Done():
		return l.abandon(ctx, c)
	}
}

// start begins to send, if calls wait and a place is free. The caller holds the lock.
func (l *lane) start() {
	if len(l.queue) > 0 && l.busy < l.of.concurrent+l.late {
		l.busy++
		go l.drain()
	}
}

// explain adds to the error of a ring that leaves all its nodes alone which these are, and why.
func (b *batcher) explain(err error) error {
	if err == nil || b.nodes == nil || !strings.Contains(err.Error(), ringDown) {
		return err
	}
	err = fmt.Errorf("%w: %s", err, strings.Join(b.nodes.addrs, ", "))
	if why := b.unreached.Load(); why != nil {
		err = fmt.Errorf("%w (%v)", err, *why)
	}
	return err
}

// alone reports whether no other call waits, and then counts the call as a batch. It is sent from its
// own goroutine in this case, if the client ends it in time: to hand it over to another one and back
// takes as long as half a round trip to a server on this machine.
func (l *lane) alone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 || l.busy >= l.of.concurrent+l.late {
		return false
	}
	l.busy++
	return true
}

// next ends a call that was sent alone, and sends the calls that have come meanwhile. It returns the error.
func (l *lane) next(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, errNoConnection) && (l.of.nodes != nil || unreached(l.err)) {
		err = l.because(err)
	}
	l.busy--
	l.settle(err)
	l.start()
	return err
}

// because adds what is known of the node to the error of a call that ended before there was an answer. The
// caller holds the lock. The reason is not wrapped: the call may be counted all the same.
func (l *lane) because(err error) error {
	switch {
	case unreached(l.err), l.err != nil && l.of.nodes == nil:
		return fmt.Errorf("%w (%v)", err, l.err)
	case l.addr != "":
		return fmt.Errorf("%w (%s has not answered)", err, l.addr)
	case l.of.nodes != nil:
		return fmt.Errorf("%w (no node has answered yet)", err)
	}
	return err
}

// abandon removes a call from the queue, because its context has ended. A command that was sent
// cannot be canceled: abandon does not wait for its answer, and the batch owns it from then on.
// In both cases the batches on the wire have taken too long, so that one of them gives its place to
// another.
func (l *lane) abandon(ctx context.Context, c *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := l.because(ctx.Err())
	if c.sent {
		select {
		case <-c.done: // the answer came at the same time
			return c.cmd.Err()
		default:
			l.giveWay()
			return late
		}
	}
	l.queue = slices.DeleteFunc(l.queue, func(other *call) bool { return other == c })
	l.giveWay()
	return fmt.Errorf("%w: %w", errNotSent, late)
}

// giveWay lets another batch be sent beside those on the wire. The caller holds the lock.
func (l *lane) giveWay() {
	if l.late < min(l.busy, maxLate*l.of.concurrent) {
		l.late++
		l.start()
	}
}

// drain sends batches until no call is waiting, or until its place is no longer there.
func (l *lane) drain() {
	var batch []*call
	for l.take(&batch) {
		err := l.of.send(batch)
		names := l.of.together.due(batch)
		for _, c := range batch {
			c.done <- struct{}{}
		}
		l.mu.Lock()
		l.settle(err)
		l.mu.Unlock()
		l.of.together.check(names)
	}
}

// take replaces a batch by the next one. Without one it gives the place back.
func (l *lane) take(batch *[]*call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), maxBatch)
	if l.of.pipeline == nil || l.late > 0 || l.err != nil { // few shall be under way to a node that may not answer
		n = min(n, 1)
	}
	if n == 0 || l.busy > l.of.concurrent+l.late {
		l.busy--
		return false
	}
	*batch = append((*batch)[:0], l.queue[:n]...)
	l.queue = l.queue[:copy(l.queue, l.queue[n:])]
	for _, c := range *batch {
		c.sent = true
	}
	return true
}

// settle notes that a batch was answered or has failed. A call that had no time for a connection does not know why
// there is none, so that what is known of it is kept. The caller holds the lock.
func (l *lane) settle(err error) {
	l.late = max(l.late-1, 0)
	switch late := errors.Is(err, errNoConnection); {
	case late && l.err != nil:
	case late || unreached(err):
		l.err = err
		l.of.unreached.Store(new(err)) // a copy: err itself would be on the heap in every call
	default:
		l.err = nil
	}
}

// send sends a batch in one round trip, whose duration is bounded by the client's timeouts and not by
// the context of a call.
func (b *batcher) send(batch []*call) error {
	ctx := context.Background()
	if len(batch) == 1 {
		return process(ctx, b.client, batch[0].cmd)
	}
	pipe := b.pipeline()
	groups := b.together.queue(ctx, pipe, batch)
	cmds, err := pipe.Exec(ctx) // the first error of the commands, each of which holds its own
	if err != nil && !slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }) {
		for _, c := range cmds { // a wrong password is refused before they are sent
			c.SetErr(err)
		}
	}
	for _, g := range groups {
		b.together.answer(g)
	}
	return err
}

// process sends a command and waits for its answer, which a deferred client of go-redis itself does not.
func process(ctx context.Context, c Client, cmd redis.Cmder) error {
	return cmp.Or(c.Process(ctx, cmd), cmd.Err())
}

// timed is a client that ends a call at the deadline of its context.
type timed struct {
	once   sync.Once
	client Client
}

// of returns a client that ends a call with a context in time without the help of another goroutine;
// nil if there is none. The usual client of go-redis keeps to its own timeouts alone. Of a client of
// one server it returns a copy that keeps to deadlines too and shares its connections.
func (t *timed) of(ctx context.Context, c Client) Client {
	if ctx.Done() == nil {
		return c
	}
	// A context can be cancelled before its deadline, which such a client notices at the deadline only: that has to be near.
	if end, ok := ctx.Deadline(); !ok || end.Sub(given.Now()) > 100*time.Millisecond {
		return nil
	}
	t.once.Do(func() {
		switch c := c.(type) {
		case *redis.Client:
			if t.client = c; !c.Options().ContextTimeoutEnabled {
				copied := c.WithTimeout(c.Options().ReadTimeout)
				copied.Options().ContextTimeoutEnabled = true
				t.client = copied
			}
		case *redis.ClusterClient:
			if c.Options().ContextTimeoutEnabled {
				t.client = c
			}
		}
	})
	return t.client
}

// errNoConnection is the error of a call whose context ended before it had a connection, as where none
// is accepted: go-redis tries that again until the end.
var errNoConnection = errors.New("no connection in time")

// inTime tells the two ways apart in which a timed client ends a call: while it waits for a connection,
// and on one, whose deadline was the context's.
func inTime(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	case ctx.Done() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return fmt.Errorf("%w: %w", errNoConnection, err)
	}
	return err
}

// nodes finds the nodes of a cluster or a ring. A cluster's map of slots is fetched by the first look,
// in a goroutine: until it is there no node is known, and no decision waits for it.
type nodes struct {
	find     func(name string) (*redis.Client, error)
	ready    atomic.Bool
	fetching atomic.Bool
	addrs    []string // of a ring
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
		n.addrs = slices.Sorted(maps.Values(c.Options().Addrs))
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
	node, _ := n.find(name) // nil with an error
	return node
}

// addr returns the address of the node that holds a key, by its name on the server; "" if that is not known.
func (n *nodes) addr(name string) string {
	if node := n.of(name); node != nil {
		return node.Options().Addr
	}
	return ""
}

// Node returns the address of the node of a cluster or a ring that decides about a key; "" for one
// server, and while it is not known. A limiter.Breaker leaves each node alone by it.
func (s *Store) Node(key string) string {
	if !s.made() {
		return ""
	}
	return s.nodes.addr(s.plan.named(key))
}
