package discover

import (
	"context"
	"hash/maphash"
	"time"

	"ratescope/feed/connect"
	"ratescope/feed/shape"
	"ratescope/model"
)

// inspect sorts out the keys of one SCAN reply.
func (s *Scout) inspect(ctx context.Context, keys []string) error {
	var finds []shape.Found
	var unknown []string
	now := s.now()
	s.mu.Lock()
	for _, k := range keys {
		h := maphash.String(s.seed, k)
		if s.seen[h] {
			continue
		}
		s.seen[h] = true
		if f, ok := shape.ByName(k, now); ok {
			finds = append(finds, f)
		} else {
			unknown = append(unknown, k)
		}
	}
	s.mu.Unlock()
	more, err := shape.Classify(ctx, s.client, unknown, now)
	switch {
	case err == nil:
	case connect.Code(err) == "NOPERM" && connect.Forbidden(err) != "type":
		s.mu.Lock()
		s.refused[connect.Remedy(err)] = true
		s.mu.Unlock()
	default:
		s.Forget(unknown...)
		return err
	}
	finds = append(finds, more...)
	if len(finds) > 0 {
		s.mu.Lock()
		s.inbox = append(s.inbox, finds...)
		s.mu.Unlock()
		s.wake()
	}
	return nil
}

// Look looks at keys now, also at those that it has looked at before: somebody has heard
// of them, and SCAN may take its time to come by.
func (s *Scout) Look(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	s.Forget(keys...)
	err := s.inspect(ctx, keys)
	s.mu.Lock()
	s.spent += time.Duration(len(keys)) * 4 * connect.CommandPrice
	s.mu.Unlock()
	return err
}

// Forget makes a key worth a look again.
func (s *Scout) Forget(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		delete(s.seen, maphash.String(s.seed, k))
	}
}

func (s *Scout) wake() {
	select {
	case s.Notify <- struct{}{}:
	default:
	}
}

// Collect returns what was found since the call before.
func (s *Scout) Collect() []shape.Found {
	s.mu.Lock()
	defer s.mu.Unlock()
	finds := s.inbox
	s.inbox = nil
	return finds
}

// Cost returns what discovery took of the server since the call before.
func (s *Scout) Cost() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.spent
	s.spent = 0
	return d
}

// Progress returns how far discovery has come.
func (s *Scout) Progress() model.Sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep
}

// Lacks says, one sentence each, why keys cannot be discovered, or not all.
func (s *Scout) Lacks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	if s.lacks != "" {
		out = append(out, s.lacks)
	}
	for remedy := range s.refused {
		out = append(out, "some keys cannot be looked at by this user: "+remedy)
	}
	return out
}
