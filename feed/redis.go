package feed

import (
	"context"
	"errors"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/fire"
	"ratescope/feed/watch"
	"ratescope/model"
)

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
