// Package feed is where readings come from. A Source looks at the keys of rate
// limiters and emits a model.Batch at every refresh; a Mailbox of size one stands
// between it and a screen, so that a slow screen costs freshness and never memory.
//
// NewRedis watches a server that others use, with read-only commands alone. Package demo
// runs a Redis of its own in process, with demo traffic through the real limiters, and
// watches it in the same way.
//
// The packages beneath it, each of which imports only those above it in this list:
//
//	connect    clients of a server: URLs, TLS, sentinels, nodes, the guard against writing
//	           commands, errors as sentences
//	decode     telling limiters from other keys and decoding their values; library holds one
//	           layout a file
//	config     rules that say how keys are limited, targets, alerts, and their YAML file
//	track      following one limiter from reading to reading; infer tells limits from what was
//	           watched
//	watch      rounds of reading inside a budget, and the batches they make; beneath it what it
//	           alone uses: discover (SCAN), cost, health and hotkeys
//	fire       firing requests, the one place that writes; foreign knows what other libraries write
//	demo       the embedded Redis and its traffic
//
// Beside them, replay plays a recording, relay streams what an exporter watches, metrics is the
// Prometheus endpoint, notify delivers alerts, and script reads how a user's own script is called.
//
// The tests start servers of their own with servertest. They run sources with feedtest, which also holds
// every Source to what it promises.
package feed

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/fire"
	"ratescope/feed/watch"
	"ratescope/model"
	"ratescope/model/handoff"
)

// Source is something that looks at keys and reports what it saw.
type Source interface {
	// Run looks and calls emit, from one goroutine, at every refresh until ctx ends, and
	// then returns nil with no goroutine left behind. It returns an error only for what
	// can never work; a server that is away is reported in the batches. A Batch belongs
	// to its receiver once emitted. A source may be run once.
	Run(ctx context.Context, emit func(model.Batch)) error
}

// SourceFunc is a function as a Source.
type SourceFunc func(ctx context.Context, emit func(model.Batch)) error

// Run implements Source.
func (f SourceFunc) Run(ctx context.Context, emit func(model.Batch)) error { return f(ctx, emit) }

// Focuser is a source that can read some keys sooner and closer than the rest.
type Focuser interface {
	// Focus says which keys (Reading.Key) are on screen, the most important first. It
	// replaces what was said before, and may be called from any goroutine.
	Focus(keys []string)
}

// Options says which server is watched, which of its keys, and how often. It is the same type
// from the command line to the reader.
type Options = watch.Options

// Mailbox holds at most one Batch between a source and a screen. When the screen is
// behind, what it has not seen is merged, so that nothing is lost and nothing piles up.
// It is safe for concurrent use.
type Mailbox = handoff.Latest[model.Batch]

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox { return handoff.New((*model.Batch).Merge) }

const verifyPool = 4 // connections: scenarios run one after the other

// Connect returns a client of the server that o names which is free to write. It is for
// verifying the limiters on a server, which is asked for by name and leaves nothing
// behind; what watches is guarded, and what fires is an Injector. It does not connect
// yet. The error is for URLs that do not parse or TLS files that cannot be read.
func Connect(o Options) (redis.UniversalClient, error) {
	e, err := o.Endpoint()
	if err != nil {
		return nil, err
	}
	return e.Open("ratescope-verify", verifyPool, nil), nil
}

// Redis watches the keys of a server that others use. It never writes: its client refuses
// every command that could.
type Redis struct {
	endpoint  *connect.Endpoint
	watch     *watch.Watch
	injectors []*fire.Injector
}

// NewRedis prepares to watch; it does not connect. The error is for URLs that do not
// parse or TLS files that cannot be read.
func NewRedis(o Options) (*Redis, error) {
	e, err := o.Endpoint()
	if err != nil {
		return nil, err
	}
	return &Redis{endpoint: e, watch: watch.New(o, e, nil)}, nil
}

// Run implements Source.
func (r *Redis) Run(ctx context.Context, emit func(model.Batch)) error { return r.watch.Run(ctx, emit) }

// SetRules puts other rules in place of those of Options. It may be called from any
// goroutine.
func (r *Redis) SetRules(list []config.Rule) { r.watch.SetRules(list) }

// Focus implements Focuser.
func (r *Redis) Focus(keys []string) { r.watch.Focus(keys) }

// Injector returns what fires at this server. It refuses unless o.Armed is set. It must not be called by two
// goroutines at the same time.
func (r *Redis) Injector(o fire.Options) *fire.Injector {
	o.Sent = r.watch.Written
	i := fire.New(r.endpoint, o, r.watch.Offset)
	r.injectors = append(r.injectors, i)
	return i
}

// Close ends the connections, those of its injectors too. It is to be called after Run
// has returned.
func (r *Redis) Close() error { return errors.Join(fire.Close(r.injectors), r.watch.Close()) }
