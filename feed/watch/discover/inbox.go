package discover

import (
	"context"
	"hash/maphash"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/feed/watch/cost"
	"ratescope/model"
)

// A look at few keys costs the server as much as one at many, so that those of several pages
// of SCAN wait for each other: until they are so many, or for so long.
const (
	batchKeys = 100
	batchWait = 300 * time.Millisecond
)

// inspect sorts out the keys of a page, those of a form that never was a limiter's only now and
// then. It returns what that took of the server. Keys that wait are looked at with those of a
// later page, at the latest of the last.
func (s *Scanner) inspect(ctx context.Context, keys []string, last bool) (spent time.Duration, err error) {
	finds, unknown := s.sort(keys, false)
	s.report(finds)
	if len(s.waiting) == 0 {
		s.waits = time.Now()
	}
	s.waiting = append(s.waiting, unknown...)
	if len(s.waiting) < batchKeys && time.Since(s.waits) < batchWait && !last {
		return 0, nil
	}
	unknown, s.waiting = s.waiting, nil
	return s.examine(ctx, unknown)
}

// report puts finds into the inbox.
func (s *Scanner) report(finds []decode.Found) {
	if len(finds) == 0 {
		return
	}
	s.mu.Lock()
	s.inbox = append(s.inbox, finds...)
	s.mu.Unlock()
	s.found.Send()
}

// examine asks the server what keys hold. It returns what that took of it.
func (s *Scanner) examine(ctx context.Context, unknown []string) (spent time.Duration, err error) {
	more, cmds, err := decode.Classify(ctx, s.client, library.Recognizer, unknown, s.library, decode.Clock{Now: s.o.Now, Asked: s.o.Time})
	spent = s.costOf(cmds)
	refused := connect.Code(err) == "NOPERM" && connect.Forbidden(err) != "type"
	if err != nil && !refused {
		s.Forget(unknown...)
		return spent, err
	}
	s.mu.Lock()
	if refused {
		s.refused[connect.Remedy(err)] = true
	}
	for _, f := range more {
		s.names.learn(f.Key, f.Type, f.Evidence == model.Known, f.Evidence == model.Likely && f.Sure && (f.Telling || limiterName(f.Key)))
	}
	s.mu.Unlock()
	s.report(more)
	return spent, nil
}

// sort tells the keys that were not looked at before from their names alone, or leaves them
// to be looked at.
func (s *Scanner) sort(keys []string, all bool) (finds []decode.Found, unknown []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		h := maphash.String(s.seed, k)
		if s.seen[h] {
			continue
		}
		f, ok := decode.ByName(k)
		if !ok && !all && !s.mentioned(k) {
			if look, likely := s.names.worth(k); !look {
				if s.sweep.Skipped++; likely {
					s.sweep.Sampled++
				}
				continue
			}
		}
		s.seen[h] = true
		if ok {
			finds = append(finds, f)
		} else {
			unknown = append(unknown, k)
		}
	}
	return finds, unknown
}

// mentioned reports whether a --watch pattern or a rule that is not for all keys matches a key.
func (s *Scanner) mentioned(key string) bool {
	if s.narrow {
		return true
	}
	r := config.RuleFor(s.rules, key, key)
	return r != nil && strings.Trim(r.Match, "*") != ""
}

// Alike says that a key of a type is called as limiters are: by a word that people use for them, or in
// the form of others of that type that were found to be limiters.
func (s *Scanner) Alike(key, typ string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names.hasLimiter(key, typ) || limiterName(key)
}

// Forget makes a key worth a look again.
func (s *Scanner) Forget(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		delete(s.seen, maphash.String(s.seed, k))
	}
}

// Collect returns what was found since the call before.
func (s *Scanner) Collect() []decode.Found {
	s.mu.Lock()
	defer s.mu.Unlock()
	finds := s.inbox
	s.inbox = nil
	return finds
}

// Cost returns what discovery took of the server since the call before.
func (s *Scanner) Cost() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.spent
	s.spent = 0
	return d
}

// Reprice tells what commands cost the server.
func (s *Scanner) Reprice(t cost.Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tariff = t
}

// Strain says whether the server has hardly any time to spare: passes are then fewer.
func (s *Scanner) Strain(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strained = yes
}

// rest returns for how long to leave the server alone after a pass that took so long: at most
// half of the time is spent in passes, and at most a fifth on a strained server.
func (s *Scanner) rest(pass time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.strained {
		pass *= 4
	}
	return max(s.o.Rest, pass)
}

// costOf returns the price of the two pipelines of a classification.
func (s *Scanner) costOf(cmds []redis.Cmder) time.Duration {
	if len(cmds) == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tariff.Wake() + s.tariff.Pipeline(cmds)
}

// Progress returns how far discovery has come.
func (s *Scanner) Progress() model.Sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep
}

// Lacks says, one sentence each, why keys cannot be discovered, or not all.
func (s *Scanner) Lacks() []string {
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

// library returns the library that a rule which speaks of some keys names for a key; "" none.
func (s *Scanner) library(key string) string {
	if rule := config.RuleFor(s.rules, key); rule.Narrow() {
		return rule.Names()
	}
	return ""
}
