package feed

import (
	"context"
	"time"

	"ratescope/model"
)

// InjectorOptions says whether and how requests may be fired.
type InjectorOptions struct {
	// Armed allows firing. On the embedded Redis it is always set.
	Armed bool
	// AuditPath is the file that every fired request is appended to; "" means
	// ratescope/audit.jsonl in the XDG state folder.
	AuditPath string
	// Timeout bounds one request; 0 means two seconds.
	Timeout time.Duration
}

// Injector is the one place from which ratescope writes to a Redis. It is safe for
// concurrent use.
type Injector struct{}

func newInjector(e *endpoint, o InjectorOptions) *Injector { return &Injector{} }

// Armed returns nil when firing is allowed, else an error that wraps ErrReadOnly and
// says how to allow it.
func (i *Injector) Armed() error { return ErrReadOnly }

// Fire sends the requests of s and reports each as its answer comes.
func (i *Injector) Fire(ctx context.Context, s model.Shot, report func(model.Fired)) (model.Tally, error) {
	return model.Tally{}, ErrReadOnly
}
