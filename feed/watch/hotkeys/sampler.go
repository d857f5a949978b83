package hotkeys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"ratescope/internal/backoff"
)

// Sampler listens to the writes of one node for moments, on a connection of its own. It is made
// by Open, used by one goroutine, and ends with Close; a connection that broke is
// replaced by the next Listen.
type Sampler struct {
	node     *redis.Client
	prefixes []string
	conn     *redis.Conn
	each     func(key string)
	events   int
}

// NewSampler prepares to listen to a node, whose client must speak RESP3 (Options.Protocol 3)
// and are heard in no other way.
// Only keys with one of the prefixes are told, none of which may begin another; no prefix
// at all means every key. It does not connect.
func NewSampler(node *redis.Client, prefixes []string) *Sampler {
	return &Sampler{node: node, prefixes: prefixes}
}

// Channel is subscribed to for one reason: the server then counts the connection among
// those of class pubsub, and cuts it when more than client-output-buffer-limit (32 MB as
// it comes) waits for a reader that has stopped, as a process does that is suspended. An
// ordinary connection may take memory without a limit.
const Channel = "ratescope"

// Pushed is the name of what the server pushes.
const Pushed = "invalidate"

// drainEvery is after how long, in a longer moment, what has come is read, so that it does
// not wait at the server. Where that were fewer than drainFew events, it waits twice as long
// for the next: a connection on which nothing comes needs no reading.
const (
	drainEvery = 20 * time.Millisecond
	drainFew   = 100
)

// ErrNoTracking is in the error of Listen when the server knows no invalidation messages or this
// user may not ask for them: trying again is of no use.
var ErrNoTracking = errors.New("writes cannot be listened to")

// Sample calls each for every key that is written within d, again for every turn of the
// server's event loop in which it is, and returns how long it listened and how many keys
// that were. A database that was emptied is told as no key. ctx ends it at once, by
// closing the connection.
func (e *Sampler) Sample(ctx context.Context, d time.Duration, each func(key string)) (lasted time.Duration, events int, err error) {
	if err := e.connect(ctx); err != nil {
		return 0, 0, err
	}
	e.each, e.events = each, 0
	defer func() {
		e.each = nil
		if err != nil {
			e.Close()
		}
	}()
	args := []any{"client", "tracking", "on", "bcast"}
	for _, p := range e.prefixes {
		args = append(args, "prefix", p)
	}
	if err := e.conn.Process(ctx, redis.NewStatusCmd(ctx, args...)); err != nil {
		return 0, 0, refusal(err)
	}
	begun := time.Now()
	every := drainEvery
	for left := d; left > 0; left = d - time.Since(begun) {
		if err := backoff.Sleep(ctx, min(left, every)); err != nil {
			return 0, e.events, err
		}
		if left > every {
			before := e.events
			if err := e.conn.Ping(ctx).Err(); err != nil {
				return 0, e.events, err
			}
			if e.events-before < drainFew {
				every *= 2
			} else {
				every = drainEvery
			}
		}
	}
	lasted = time.Since(begun)
	// What came before the answer to this is read with it.
	err = e.conn.Process(ctx, redis.NewStatusCmd(ctx, "client", "tracking", "off"))
	return lasted, e.events, err
}

// connect makes the connection when there is none.
func (e *Sampler) connect(ctx context.Context) error {
	if e.conn != nil {
		return nil
	}
	if p := e.node.Options().Protocol; p != 3 {
		return fmt.Errorf("%w over RESP%d: it takes RESP3", ErrNoTracking, p)
	}
	conn := e.node.Conn()
	if err := conn.RegisterPushNotificationHandler(Pushed, e, false); err != nil {
		conn.Close()
		return fmt.Errorf("%w: %w", ErrNoTracking, err)
	}
	e.conn = conn
	if err := e.conn.Process(ctx, redis.NewCmd(ctx, "subscribe", Channel)); err != nil {
		e.Close()
		return refusal(err)
	}
	return nil
}

// HandlePushNotification implements push.NotificationHandler: what is pushed is the message's
// name and the keys, or nil for all of them.
func (e *Sampler) HandlePushNotification(_ context.Context, _ push.NotificationHandlerContext, pushed []any) error {
	if len(pushed) < 2 {
		return nil
	}
	keys, _ := pushed[1].([]any)
	for _, k := range keys {
		if name, ok := k.(string); ok {
			e.events++
			if e.each != nil {
				e.each(name)
			}
		}
	}
	return nil
}

// Close ends the connection, and with it whatever the server does for it.
func (e *Sampler) Close() error {
	if e.conn == nil {
		return nil
	}
	conn := e.conn
	e.conn = nil
	// It must not go back among the pool's: what it subscribed to would go with it. The
	// second command meets the end of the connection, at which the pool lets it go.
	for range 2 {
		ctx := context.Background()
		_ = conn.Process(ctx, redis.NewStatusCmd(ctx, "quit"))
	}
	// The client and its connections share their handlers, but where sentinels name the server:
	// the next connection brings its own.
	if shared := e.node.Options().PushNotificationProcessor; shared != nil {
		_ = shared.UnregisterHandler(Pushed)
	}
	return conn.Close()
}

// refusal tells an answer that will not change from a connection that broke.
func refusal(err error) error {
	var reply redis.Error
	if errors.As(err, &reply) {
		return fmt.Errorf("%w: %w", ErrNoTracking, err)
	}
	return err
}
