// Package grpclimit keeps gRPC calls under a limit from both sides: interceptors for servers,
// which answer ResourceExhausted with a RetryInfo, and one for clients, which keeps our own
// calls under the cap of another service. It is a module of its own, so that the limiter needs
// no third party.
package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"ratescope/limiter"
	"ratescope/limiter/internal/admit"
	"ratescope/limiter/internal/given"
)

// Failure says what happens to a call when the limiter cannot decide, because its store is
// away. There is no default: each is wrong for some service. It is not used where the call itself is
// why there is no decision, by its key or the value that another program keeps there.
type Failure uint8

const (
	_          Failure = iota
	FailOpen           // let it through, uncounted
	FailClosed         // answer Unavailable
)

// Config sets up interceptors.
type Config struct {
	// Limiter decides. A limiter.Breaker bounds how long its store may take, and falls back.
	Limiter limiter.Limiter
	Limit   limiter.Limit
	// Rules are limits on several keys, as 100 a minute for an address and 1,000 an hour for a user,
	// in place of Limit, LimitFor and Key. They are decided about in one call and charged together or
	// not at all. They need a limiter.Memory or a redisstore.Store, and have no Policy.
	Rules []Rule
	// Skip says which calls are not limited, as by method those of health checks; none is when nil.
	Skip func(ctx context.Context, method string) bool
	// LimitFor is the limit of one call by its full method, as "/pkg.Service/Method"; Limit when nil.
	LimitFor func(ctx context.Context, method string) limiter.Limit
	// Key names who calls. "" is not limited. When nil it is the peer's IPv4 address or the /64 of its
	// IPv6 address, which behind a proxy is the proxy's, and for a client the method.
	Key func(ctx context.Context, method string) string
	// Policy settles denied calls; limiter.Drop when nil for a server, which answers at once, and
	// for a client a wait as long as the context allows.
	Policy limiter.Policy
	// OnFailure must be chosen.
	OnFailure Failure
	// OnError is told why the limiter could not decide; nothing is when nil. It must not block.
	OnError func(ctx context.Context, method string, err error)
}

// Rule is a key of a call and limits on it.
type Rule struct {
	// Name of the rule stands in front of its keys, so that keys of two rules are never the same.
	// Printable ASCII without quotes, backslashes, braces and colons.
	Name string
	// Key names what is limited; the rule does not apply to a call for which it is "".
	Key func(Call) string
	// Limits have different windows.
	Limits []limiter.Limit
	// LimitsFor are those of one call, as of a plan, in place of Limits.
	LimitsFor func(Call) []limiter.Limit
}

// Call is a call as a Rule sees it.
type Call struct {
	Context context.Context
	Method  string // full, as "/pkg.Service/Method"
}

// PeerHost is the Rule.Key that names who calls by its address, as Config.Key does when it is nil.
func PeerHost(c Call) string { return peerHost(c.Context, c.Method) }

// Counts is what interceptors have done so far.
type Counts struct {
	Admitted, Denied int64
	FailedOpen       int64 // let through without a decision
	FailedClosed     int64 // turned away without one
}

// Interceptors limit the calls to a server or of a client. They may be used by many goroutines.
type Interceptors struct {
	config                         Config
	checked                        *limiter.Breaker // says which limits the limiter can decide about
	rules                          []admit.Rule[Call]
	admitted, denied, open, closed atomic.Int64
}

// New checks the configuration.
func New(c Config) (*Interceptors, error) {
	if c.Policy != nil && given.Absent(c.Policy) {
		return nil, errors.New("the interceptors have a nil policy: leave Config.Policy out, or make one")
	}
	if c.OnFailure != FailOpen && c.OnFailure != FailClosed {
		return nil, errors.New("what happens when the limiter cannot decide is not chosen: set Config.OnFailure to FailOpen or FailClosed")
	}
	i := &Interceptors{}
	var err error
	if i.checked, err = limiter.NewBreaker(limiter.BreakerConfig{Limiter: c.Limiter}); err != nil {
		return nil, err
	}
	if len(c.Rules) > 0 {
		if c.LimitFor != nil || c.Key != nil || c.Policy != nil || c.Limit != (limiter.Limit{}) {
			return nil, errors.New("Config.Rules stand alone: leave Limit, LimitFor, Key and Policy out")
		}
		for _, r := range c.Rules {
			i.rules = append(i.rules, admit.Rule[Call](r))
		}
		if err := admit.Check(i.checked, i.rules); err != nil {
			return nil, err
		}
	} else if c.LimitFor == nil {
		if err := admit.Decides(i.checked, false, limiter.KeyLimit{Key: "any", Limit: c.Limit}); err != nil {
			return nil, err
		}
		c.LimitFor = func(context.Context, string) limiter.Limit { return c.Limit }
	}
	i.config = c
	return i, nil
}

// Counts returns what was done so far.
func (i *Interceptors) Counts() Counts {
	return Counts{i.admitted.Load(), i.denied.Load(), i.open.Load(), i.closed.Load()}
}

// Unary limits unary calls to a server.
func (i *Interceptors) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := i.admit(ctx, info.FullMethod, peerHost, limiter.Drop()); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// Stream limits streams to a server: each costs one when it is opened.
func (i *Interceptors) Stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := i.admit(stream.Context(), info.FullMethod, peerHost, limiter.Drop()); err != nil {
		return err
	}
	return handler(service, stream)
}

// Client limits unary calls of a client, each of which waits for its turn as long as its
// context allows.
func (i *Interceptors) Client(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	if err := i.admit(ctx, method, func(context.Context, string) string { return method }, waits{}); err != nil {
		return err
	}
	return invoke(ctx, method, request, reply, connection, options...)
}

// waits is the policy of a client: Throttle without a bound of its own.
type waits struct{}

// Handle implements limiter.Policy.
func (waits) Handle(ctx context.Context, o limiter.OverLimit) (limiter.Decision, error) {
	return limiter.Wait(ctx, o.Limiter, o.Key, o.Limit, o.Cost)
}

// admit decides about one call and returns the status of one that is not let through.
func (i *Interceptors) admit(ctx context.Context, method string, key func(context.Context, string) string, policy limiter.Policy) error {
	c := &i.config
	if c.Limiter == nil {
		return status.Error(codes.Internal, "The rate limiter is not set up: make it with grpclimit.New.")
	}
	if c.Skip != nil && c.Skip(ctx, method) {
		return nil
	}
	if c.Key != nil {
		key = c.Key
	}
	if c.Policy != nil {
		policy = c.Policy
	}
	var d limiter.Decision
	parts, err := i.parts(ctx, method, key)
	switch {
	case errors.Is(err, admit.ErrNoLimit):
		return i.undecided(ctx, method, codes.Internal, "The call has no limit.", err)
	case len(parts) == 0:
		return nil
	case len(i.rules) > 0:
		var all []limiter.Decision
		several := c.Limiter.(limiter.Several)
		if all, err = several.AllowKeys(ctx, 1, parts...); err != nil && c.OnFailure == FailOpen {
			if denied, _, wrong := admit.Alone(ctx, several, 1, parts, err); len(denied) > 0 || wrong != nil {
				all, err = denied, wrong
			}
		}
		d = limiter.Combine(all)
	default:
		d, err = limiter.Apply(ctx, c.Limiter, policy, parts[0].Key, parts[0].Limit, 1)
	}
	switch {
	case err == nil && d.Allowed:
		i.admitted.Add(1)
		return nil
	case err == nil, errors.Is(err, limiter.ErrLimited):
		i.denied.Add(1)
		return denied(d)
	case ctx.Err() != nil:
		return i.undecided(ctx, method, status.FromContextError(ctx.Err()).Code(), "The call waited for its turn in vain.", err)
	case errors.Is(err, limiter.ErrBadRequest):
		return i.undecided(ctx, method, codes.InvalidArgument, "The call has a name that cannot be limited.", err)
	case c.OnFailure == FailOpen && !admit.OfRequest(err):
		i.open.Add(1)
		i.tell(ctx, method, err)
		return nil
	}
	return i.undecided(ctx, method, codes.Unavailable, "The rate limiter is not available.", err)
}

// parts returns the limits of a call; none where it is not limited.
func (i *Interceptors) parts(ctx context.Context, method string, key func(context.Context, string) string) ([]limiter.KeyLimit, error) {
	if len(i.rules) > 0 {
		parts, _, err := admit.Parts(i.checked, i.rules, Call{ctx, method}, false)
		return parts, err
	}
	name := key(ctx, method)
	if name == "" {
		return nil, nil
	}
	limit := i.config.LimitFor(ctx, method)
	if err := admit.Decides(i.checked, false, limiter.KeyLimit{Key: "any", Limit: limit}); err != nil {
		return nil, fmt.Errorf("%w: LimitFor returned %+v: %v", admit.ErrNoLimit, limit, err)
	}
	return limiter.OnKey(name, limit), nil
}

func (i *Interceptors) undecided(ctx context.Context, method string, code codes.Code, says string, err error) error {
	i.closed.Add(1)
	i.tell(ctx, method, err)
	return status.Error(code, says)
}

func (i *Interceptors) tell(ctx context.Context, method string, err error) {
	if i.config.OnError != nil {
		i.config.OnError(ctx, method, err)
	}
}

// denied is ResourceExhausted, with how long to wait, which clients that retry keep to.
func denied(d limiter.Decision) error {
	s := status.New(codes.ResourceExhausted, "Too many requests.")
	if d.RetryAfter == limiter.Never {
		return s.Err()
	}
	with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(max(d.RetryAfter, time.Millisecond))})
	if err != nil {
		return s.Err()
	}
	return with.Err()
}

// peerHost names the other side by its address.
func peerHost(ctx context.Context, _ string) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "unknown"
	}
	return admit.Host(p.Addr.String(), admit.DefaultBits)
}
