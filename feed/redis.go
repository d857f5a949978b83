package feed

import (
	"context"

	"ratescope/model"
)

// Redis watches the keys of a server that others use.
type Redis struct{}

// NewRedis prepares to watch; it does not connect. The error is for a URL that does
// not parse.
func NewRedis(o Options) (*Redis, error) { return &Redis{}, nil }

// Run implements Source.
func (r *Redis) Run(ctx context.Context, emit func(model.Batch)) error { return nil }

// Focus implements Focuser.
func (r *Redis) Focus(keys []string) {}

// Injector returns what fires at this server.
func (r *Redis) Injector(o InjectorOptions) *Injector { return &Injector{} }

// Close ends the connections. It is to be called after Run has returned.
func (r *Redis) Close() error { return nil }
