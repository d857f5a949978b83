package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/track"
	"ratescope/internal/backoff"
	"ratescope/internal/panics"
	"ratescope/model/handoff"
)

// subscriber receives keyspace notifications about the keys on screen, if the server sends
// them: notify-keyspace-events contains K and the classes of the keys. It never changes the
// setting. Where this user may not read the setting, it subscribes anyway and waits whether
// notifications come. A notification wakes the tracker of its key and is not counted as a
// request, because delivery is not guaranteed: the node that holds the key sends it once, to
// the connections that are open.
//
// It subscribes to the channels of single keys, not to a pattern, so that keys off screen cost
// nothing. If more than maxEvents notifications a second come, it unsubscribes for a while: a
// subscriber takes 8 to 13 % of a saturated server.
type subscriber struct {
	wakeups wakeups
	db      int
	spent   atomic.Int64 // server time since the last call of cost, in ns

	mu     sync.Mutex
	nodes  map[string]*subscription // by address
	change handoff.Signal
}

// subscription holds the channels of one node.
type subscription struct {
	addr    string // "" for a single server
	node    *redis.Client
	want    map[string]subject // channel → the limiter that it is about
	running bool
	change  handoff.Signal

	open        map[string]bool      // channels that the server has confirmed
	proven      map[track.Class]bool // classes of which a notification has come
	unannounced int                  // consecutive changes that were not announced
	lack        string               // why there are no notifications; "" when there are
}

// subject is the limiter that a channel is about.
type subject struct {
	name  string
	class track.Class
}

const (
	maxSubjects = 64                     // limiters on one node
	maxEvents   = 300                    // notifications a second, beyond which it unsubscribes
	changeEvery = 250 * time.Millisecond // least time between two changes of the channels
	askSetting  = 30 * time.Second       // interval at which the setting is read
	maxMissed   = 5                      // unannounced changes after which it is not relied on
	eventPrice  = 3 * time.Microsecond   // server time of one notification to one subscriber, Redis 7.0
)

func newSubscriber(w wakeups, db int) *subscriber {
	return &subscriber{wakeups: w, db: db, nodes: make(map[string]*subscription), change: handoff.NewSignal()}
}

// cost returns the server time that notifications took since the previous call.
func (s *subscriber) cost() time.Duration { return time.Duration(s.spent.Swap(0)) }

// follow sets the channels to subscribe to, by the address of their node.
func (s *subscriber) follow(want map[string]*subscription) {
	s.mu.Lock()
	for addr, n := range s.nodes {
		if w := want[addr]; w != nil {
			n.want, n.node = w.want, w.node
		} else {
			n.want = nil
		}
		n.change.Send()
	}
	for addr, w := range want {
		if s.nodes[addr] == nil {
			w.addr, w.change = addr, handoff.NewSignal()
			w.open, w.proven = make(map[string]bool), make(map[track.Class]bool)
			s.nodes[addr] = w
		}
	}
	s.mu.Unlock()
	s.change.Send()
}

// trusts reports whether changes of a limiter are announced: its channels are open at its node,
// and a notification of its class has come.
func (s *subscriber) trusts(addr string, channels []string, c track.Class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[addr]
	if n == nil || !n.proven[c] || len(channels) == 0 {
		return false
	}
	for _, ch := range channels {
		if !n.open[ch] {
			return false
		}
	}
	return true
}

// missed notes a change that polling found and no notification announced.
func (s *subscriber) missed(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[addr]; n != nil {
		if n.unannounced++; n.unannounced >= maxMissed {
			clear(n.proven)
		}
	}
}

// lacks returns a sentence for each node that fails to send notifications.
func (s *subscriber) lacks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, addr := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[addr]; n.lack != "" {
			out = append(out, n.lack)
		}
	}
	return out
}

// run listens until ctx ends, to each node in a goroutine of the group.
func (s *subscriber) run(ctx context.Context, all *panics.Group) {
	for {
		s.mu.Lock()
		for _, n := range s.nodes {
			if !n.running {
				n.running = true
				all.Go(func() { s.attend(ctx, n) })
			}
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-s.change:
		}
	}
}

// errFlood ends a subscription because too many notifications come.
var errFlood = errors.New("too many notifications")

// attend listens to one node until ctx ends or no channel of the node is wanted.
func (s *subscriber) attend(ctx context.Context, n *subscription) {
	var back backoff.Exponential
	for ctx.Err() == nil {
		s.mu.Lock()
		node, wanted := n.node, len(n.want) > 0
		if !wanted {
			delete(s.nodes, n.addr)
		}
		s.mu.Unlock()
		if !wanted {
			return
		}
		wait := askSetting
		if on, err := notifies(ctx, node); on {
			err = s.receive(ctx, node, n)
			lack := ""
			switch {
			case errors.Is(err, errFlood):
				wait = refusedFor
				lack = fmt.Sprintf("keyspace notifications came more than %d times a second: for %v the keys on screen are polled instead", maxEvents, refusedFor)
			case connect.Code(err) == "NOPERM":
				wait = refusedFor
				lack = "keyspace notifications may not be heard by this user, so that keys are polled: allow it with ACL SETUSER … +subscribe &__keyspace@*"
			default:
				wait = back.Next()
			}
			s.mu.Lock()
			n.lack = lack
			clear(n.open)
			clear(n.proven)
			s.mu.Unlock()
		} else if connect.Away(err) {
			wait = back.Next()
		}
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// notifies reports whether the server sends keyspace notifications. A server that refuses
// CONFIG GET may send them, so that the answer is then true. It fails when the server is away.
func notifies(ctx context.Context, node *redis.Client) (bool, error) {
	setting, err := node.ConfigGet(ctx, "notify-keyspace-events").Result()
	switch {
	case connect.Away(err):
		return false, err
	case err != nil:
		return true, nil
	}
	return strings.Contains(setting["notify-keyspace-events"], "K"), nil
}

// receive subscribes and turns notifications into wakeups, until an error ends it.
func (s *subscriber) receive(ctx context.Context, node *redis.Client, n *subscription) error {
	p := node.Subscribe(ctx)
	defer p.Close()
	var began time.Time
	events := 0
	for ctx.Err() == nil {
		if err := s.resubscribe(ctx, p, n); err != nil {
			return err
		}
		got, err := p.ReceiveTimeout(ctx, changeEvery)
		if err != nil && connect.TimedOut(err) {
			continue
		} else if err != nil {
			return err
		}
		switch got := got.(type) {
		case *redis.Subscription:
			s.mu.Lock()
			if got.Kind == "subscribe" {
				n.open[got.Channel] = true
			} else {
				delete(n.open, got.Channel)
			}
			s.mu.Unlock()
		case *redis.Message:
			s.spent.Add(int64(eventPrice))
			if now := time.Now(); now.Sub(began) > time.Second {
				began, events = now, 0
			}
			if events++; events > maxEvents {
				return errFlood
			}
			s.notified(n, got.Channel)
		}
	}
	return ctx.Err()
}

// notified takes a notification on a channel and wakes the limiter that the channel is about.
func (s *subscriber) notified(n *subscription, channel string) {
	s.mu.Lock()
	about, ok := n.want[channel]
	n.unannounced, n.lack = 0, ""
	if ok {
		n.proven[about.class] = true
	}
	s.mu.Unlock()
	if ok {
		s.wakeups.add(about.name)
	}
}

// resubscribe subscribes to the channels that are wanted and not open, and unsubscribes from
// those that are open and not wanted.
func (s *subscriber) resubscribe(ctx context.Context, p *redis.PubSub, n *subscription) error {
	select {
	case <-n.change:
	default:
		if s.begun(n) {
			return nil
		}
	}
	s.mu.Lock()
	var more, less []string
	for c := range n.want {
		if !n.open[c] {
			more = append(more, c)
		}
	}
	for c := range n.open {
		if _, ok := n.want[c]; !ok {
			less = append(less, c)
		}
	}
	s.mu.Unlock()
	if len(more) > 0 {
		if err := p.Subscribe(ctx, more...); err != nil {
			return err
		}
	}
	if len(less) > 0 {
		return p.Unsubscribe(ctx, less...)
	}
	return nil
}

// begun reports whether the server has confirmed a channel of the subscription.
func (s *subscriber) begun(n *subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(n.open) > 0
}
