// Package hotkeys finds the hottest keys of a server that has too many keys to read them all: the most used ones out of a million, in
// bounded memory and within a fixed share of the server's time.
//
// # The sketch
//
// A Sketch holds the heavy hitters of a stream of keys by the Space-Saving algorithm (Metwally, Agrawal, El Abbadi: Efficient
// computation of frequent and top-k elements in data streams, ICDT 2005). It counts at most m keys, its capacity, and gives for each
// count the error by which it may be too high. With N, the total weight added:
//
//	count - err <= true count <= count,  err <= N/m,
//	and every key whose true count is above N/m is held.
//
// Counts fade by half every half-life, by forward decay (Cormode, Shkapenyuk, Srivastava, Xu: Forward decay, ICDE 2009), so that keys
// that were hot an hour ago do not hide keys that are hot now. The bounds hold for faded counts and a faded N. Divided by the Span of
// the fading window, a count is a rate.
//
// # Sampling writes
//
// A Sampler listens to the writes of a server for a few milliseconds at a time. It turns on invalidation messages for its connection
// (CLIENT TRACKING ON BCAST, Redis 6 and later, Valkey), which the server then sends for every key that is written, and turns them off
// again. It needs no setting of the server, no key and no script, and costs only while it listens; the budget and the cost of a message
// determine for how long it listens. A key that is written twice in one turn of the server's event loop is reported once, and a request
// that changes nothing, like most denied ones, is not reported. The counts are therefore a lower bound of the requests: they rank keys
// to be examined and are never shown as counts.
//
// # Statistics of the server
//
// Redis 8.6 profiles for a while after HOTKEYS START and reports microseconds and bytes of each key. START changes the state of the
// server, so that this package never sends it. An Index tells the command from the one of the same name in Valkey by the subcommands
// that COMMAND INFO lists, never by version. Under an LFU maxmemory-policy, OBJECT FREQ returns the logarithmic counter of a key, which
// stands for a number of accesses.
//
// The tests check HOTKEYS and OBJECT FREQ of Redis 8.6.3 against replies recorded from such a
// server, and against a real one if RATESCOPE_REDIS_SERVER names it.
package hotkeys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"ratescope/internal/goroutine"
)

// Sampler listens to the writes of one node for a short time, on a connection of its own. Use NewSampler to make one, and Close when it
// is no longer needed. It is used by one goroutine. If the connection breaks, the next Sample makes a new one.
type Sampler struct {
	node     *redis.Client
	prefixes []string
	conn     *redis.Conn
	each     func(key string) // of the running Sample
	events   int              // keys reported in the running Sample
}

// NewSampler prepares to listen to a node, whose client must speak RESP3 (Options.Protocol 3). Only keys with one of the prefixes are
// reported, none of which may begin with another; no prefix means every key. It does not connect.
func NewSampler(node *redis.Client, prefixes []string) *Sampler {
	return &Sampler{node: node, prefixes: prefixes}
}

// Channel is a channel that the connection subscribes to, although nothing is published there: the server then counts the connection as
// a pubsub client, and closes it when more than client-output-buffer-limit (32 MB by default) waits for a reader that has stopped, such
// as a suspended process. For a normal connection the server's memory has no such limit.
const Channel = "ratescope"

// Pushed is the name of the server's push messages.
const Pushed = "invalidate"

// drainEvery is how often a long sample reads the messages that have come, so that they do not
// fill the server's memory. After fewer than drainFew events the interval doubles.
const (
	drainEvery = 20 * time.Millisecond
	drainFew   = 100
)

// ErrNoTracking is in the error of Sample when the server has no invalidation messages or this
// user may not ask for them. Trying again is of no use.
var ErrNoTracking = errors.New("writes cannot be listened to")

// Sample calls each for every key that is written within d, once for every turn of the server's event loop in which the key is written.
// It returns how long it listened and how often it called each. FLUSHDB and FLUSHALL are not reported. If ctx ends, Sample closes the
// connection and returns at once.
func (s *Sampler) Sample(ctx context.Context, d time.Duration, each func(key string)) (lasted time.Duration, events int, err error) {
	if err := s.connect(ctx); err != nil {
		return 0, 0, err
	}
	s.each, s.events = each, 0
	defer func() {
		s.each = nil
		if err != nil {
			s.Close()
		}
	}()
	args := []any{"client", "tracking", "on", "bcast"}
	for _, p := range s.prefixes {
		args = append(args, "prefix", p)
	}
	if err := s.conn.Process(ctx, redis.NewStatusCmd(ctx, args...)); err != nil {
		return 0, 0, refusal(err)
	}
	begun := time.Now()
	every := drainEvery
	for left := d; left > 0; left = d - time.Since(begun) {
		if err := goroutine.Sleep(ctx, min(left, every)); err != nil {
			return 0, s.events, err
		}
		if left > every {
			before := s.events
			if err := s.conn.Ping(ctx).Err(); err != nil {
				return 0, s.events, err
			}
			if s.events-before < drainFew {
				every *= 2
			} else {
				every = drainEvery
			}
		}
	}
	lasted = time.Since(begun)
	// The messages that came before the reply to this command are read together with it.
	err = s.conn.Process(ctx, redis.NewStatusCmd(ctx, "client", "tracking", "off"))
	return lasted, s.events, err
}

// connect makes the connection if there is none.
func (s *Sampler) connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	if p := s.node.Options().Protocol; p != 3 {
		return fmt.Errorf("%w over RESP%d: it takes RESP3", ErrNoTracking, p)
	}
	conn := s.node.Conn()
	if err := conn.RegisterPushNotificationHandler(Pushed, s, false); err != nil {
		conn.Close()
		return fmt.Errorf("%w: %w", ErrNoTracking, err)
	}
	s.conn = conn
	if err := s.conn.Process(ctx, redis.NewCmd(ctx, "subscribe", Channel)); err != nil {
		s.Close()
		return refusal(err)
	}
	return nil
}

// HandlePushNotification implements push.NotificationHandler. A message has a name and the
// list of keys, or nil when a database was emptied.
func (s *Sampler) HandlePushNotification(_ context.Context, _ push.NotificationHandlerContext, pushed []any) error {
	if len(pushed) < 2 {
		return nil
	}
	keys, _ := pushed[1].([]any)
	for _, k := range keys {
		if name, ok := k.(string); ok {
			s.events++
			if s.each != nil {
				s.each(name)
			}
		}
	}
	return nil
}

// Close closes the connection, and the server stops sending messages.
func (s *Sampler) Close() error {
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	// The connection must not go back to the pool, because it is still subscribed. QUIT ends it,
	// and the second command fails, whereupon the pool drops the connection.
	for range 2 {
		ctx := context.Background()
		_ = conn.Process(ctx, redis.NewStatusCmd(ctx, "quit"))
	}
	// A client and its connections share their handlers, except where sentinels name the server. The next connection registers its own.
	if shared := s.node.Options().PushNotificationProcessor; shared != nil {
		_ = shared.UnregisterHandler(Pushed)
	}
	return conn.Close()
}

// refusal adds ErrNoTracking to an error reply; errors of the connection stay as they are.
func refusal(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		return fmt.Errorf("%w: %w", ErrNoTracking, err)
	}
	return err
}

// Prices of listening, as server time. eventPrice is what BenchmarkListening measures (2.0 µs a write on Redis 7.0 and on Valkey 9.1,
// one core); samplePrice is for the three commands of a sample and their packets.
const (
	eventPrice  = 2 * time.Microsecond
	samplePrice = 40 * time.Microsecond
)

// Bounds of the length of a sample, and of the period from the start of one to the next.
const (
	firstSample    = 5 * time.Millisecond // before the rate of writes is known
	shortestSample = time.Millisecond
	period         = 250 * time.Millisecond
	// longestPeriod is the period that a lasting silence leads to: short enough to notice soon
	// when writes begin, and long enough to leave an idle server alone.
	longestPeriod = 3 * time.Second
	// emptySamples is how many consecutive samples without a write keep the usual period, since a client may write only now and then.
	emptySamples = 4
)

// dutyCycle calculates how long to listen and how long to pause, so that listening stays within
// a share of the server's time however much is written.
type dutyCycle struct {
	share float64 // share of the server's time
	rate  float64 // events a second while listening; 0 before the first sample
	quiet int     // consecutive samples without an event
}

// length returns the length of the next sample.
func (d *dutyCycle) length() time.Duration {
	if d.rate == 0 {
		return firstSample
	}
	affordable := d.share * float64(period-samplePrice) / (d.rate * eventPrice.Seconds())
	return time.Duration(min(max(affordable, float64(shortestSample)), float64(period*9/10)))
}

// record takes the length and the events of a sample, and returns its cost as server time and how long to pause before the next.
func (d *dutyCycle) record(lasted time.Duration, events int) (cost, silence time.Duration) {
	rate := float64(max(events, 1)) / max(lasted, shortestSample).Seconds()
	if d.rate == 0 || rate > d.rate {
		d.rate = rate // at once, so that a burst exceeds the share in one sample only
	} else {
		d.rate += (rate - d.rate) / 4
	}
	cost = samplePrice + time.Duration(events)*eventPrice
	return cost, max(d.period(events), time.Duration(float64(cost)/d.share)) - lasted
}

// period returns the time from the start of a sample with so many events to the next: the usual
// period, which doubles with every sample of a lasting silence.
func (d *dutyCycle) period(events int) time.Duration {
	if events > 0 {
		d.quiet = 0
		return period
	}
	d.quiet = min(d.quiet+1, emptySamples+8)
	return min(period<<max(d.quiet-emptySamples, 0), longestPeriod)
}
