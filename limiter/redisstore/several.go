package redisstore

import (
	"context"
	"fmt"

	"ratescope/limiter"
	"ratescope/limiter/internal/keyname"
	"ratescope/limiter/layout"
)

// AllowAll decides about a request of cost n under several limits with different windows, such as 10
// a second and 300 a minute, in one script. The request is charged to all limits if all of them
// allow it, and else to none. These limits have keys of their own, which other calls of AllowAll
// share, but AllowN does not.
func (s *Store) AllowAll(ctx context.Context, key string, n int64, limits ...limiter.Limit) ([]limiter.Decision, error) {
	if n == 0 {
		return s.PeekAll(ctx, key, 0, limits...)
	}
	all, err := s.checkAll(ctx, key, n, limits)
	if err != nil {
		return nil, err
	}
	key = s.prefix + key
	text := s.several
	if !s.known.trust(key, limits) {
		text = s.careful[1]
	}
	args := []any{verbTake, text.sha(), nil}
	for _, l := range limits {
		args = append(args, s.mainKey(keyname.OfWindow(key, l.Window)))
	}
	if s.denials {
		args = append(args, layout.DeniedKey(key))
	}
	args[2] = len(args) - 3
	var now any = 0
	if s.clock != nil {
		now = int64(s.clock())
	}
	for _, p := range all {
		args = append(args, n, p.count, p.window, now)
		args = s.appendRate(args, p, n, true)
	}
	about := subject{key: key, limits: limits, several: true}
	answer, err := s.run(ctx, newDecisionCmd(ctx, text, args), about, chargesAll)
	if err != nil {
		return nil, err
	}
	return s.decodeAll(ctx, about, all, n, answer)
}

// checkAll validates a request under several limits before anything is sent, and returns the limits
// in the form in which they are sent.
func (s *Store) checkAll(ctx context.Context, key string, n int64, limits []limiter.Limit) ([]*prepared, error) {
	if s == nil || s.form.script == nil {
		return nil, errNotMade
	}
	if err := limiter.CheckAll(ctx, s.algorithm, s.convention, key, n, limits); err != nil {
		return nil, err
	}
	if s.several == nil {
		return nil, fmt.Errorf("%w: this layout or alignment keeps one limit a key: use the library's own layout and clock-aligned windows", limiter.ErrNotOnStore)
	}
	all := make([]*prepared, len(limits))
	for i, l := range limits {
		if l.Count == 0 && s.algorithm.Bursts() {
			return nil, fmt.Errorf("%w: a limit of 0 among several counts nothing in %s: leave it out", limiter.ErrBadRequest, s.algorithm)
		}
		var err error
		if all[i], err = s.check(ctx, key, l, n); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// PeekAll returns what AllowAll would answer, without charging. It reads one limit after the other.
func (s *Store) PeekAll(ctx context.Context, key string, n int64, limits ...limiter.Limit) ([]limiter.Decision, error) {
	return s.each(ctx, key, n, limits, looks)
}

// RefundAll refunds n units that AllowAll charged, one limit after the other. After an error, the
// limits before it are refunded.
func (s *Store) RefundAll(ctx context.Context, key string, n int64, limits ...limiter.Limit) ([]limiter.Decision, error) {
	if err := s.checkRefund(n); err != nil {
		return nil, err
	}
	return s.each(ctx, key, n, limits, refunds)
}

func (s *Store) each(ctx context.Context, key string, n int64, limits []limiter.Limit, act action) ([]limiter.Decision, error) {
	prepared, err := s.checkAll(ctx, key, n, limits)
	if err != nil {
		return nil, err
	}
	all := make([]limiter.Decision, len(limits))
	for i, p := range prepared {
		if all[i], err = s.decideNamed(ctx, keyname.OfWindow(s.prefix+key, p.limit.Window), p, n, act); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// decodeAll decodes the reply about several limits. If the request was not charged, each decision is
// the one that its limit would give alone.
func (s *Store) decodeAll(ctx context.Context, about subject, limits []*prepared, n int64, text string) ([]limiter.Decision, error) {
	vals, err := numbers(nil, text)
	if err != nil {
		return nil, err
	}
	if len(vals) > 0 && vals[0] < 0 {
		return nil, s.refusal(ctx, about, vals[0])
	}
	s.known.learn(about.key, about.limits)
	if len(vals) == 0 || len(vals)%len(limits) != 0 {
		return nil, fmt.Errorf("the script for %d limits answered %d values", len(limits), len(vals))
	}
	each := len(vals) / len(limits)
	charged := vals[0] == replyAdmitted
	all := make([]limiter.Decision, len(limits))
	for i, p := range limits {
		d, err := s.decodeNumbers(p, n, !charged, vals[i*each:(i+1)*each:(i+1)*each])
		if err != nil {
			return nil, err
		}
		all[i] = d
	}
	return all, nil
}
