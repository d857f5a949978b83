package discover

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/feed/watch/health"
	"ratescope/model"
)

// Examining few keys costs the server about as much as examining many. The keys of several pages of SCAN are therefore examined together,
// once there are batchKeys of them or the first has waited for batchWait. Keys that are unsure are asked again mostStalls times at most.
const (
	batchKeys  = 100
	batchWait  = 300 * time.Millisecond
	mostStalls = 3
)

// gather reports the limiters among the keys of a page that their names identify, and returns the keys to examine
// now. Others wait, to be examined with those of a later page; last marks the last page of a pass.
func (s *Scanner) gather(keys []string, last bool) (unknown []string) {
	if len(s.waiting) == 0 {
		s.waitingSince = time.Now()
	}
	s.waiting = append(s.waiting, s.sort(keys, false)...)
	if len(s.waiting) < batchKeys && time.Since(s.waitingSince) < batchWait && !last {
		return nil
	}
	unknown, s.waiting = s.waiting, nil
	return unknown
}

// report adds finds to the inbox. s.mu is held.
func (s *Scanner) report(finds ...decode.Found) {
	if s.inbox = append(s.inbox, finds...); len(finds) > 0 {
		s.found.Send()
	}
}

// examine asks the server for the contents of keys, reports the limiters among them, and returns the server time spent. A find that is
// unsure is looked at again, as often as mostStalls, and then left to a later pass; the others are reported before.
func (s *Scanner) examine(ctx context.Context, unknown []string) (spent time.Duration, err error) {
	clock := decode.Clock{Now: s.o.Now, Asked: s.o.Time}
	for stalls := 0; len(unknown) > 0; stalls++ {
		more, cmds, err := decode.Classify(ctx, s.o.Client, library.Recognizer(), unknown, config.Own(s.o.Rules), clock)
		spent += s.costOf(cmds)
		refused := connect.Code(err) == "NOPERM" && connect.Forbidden(err) != "type"
		if err != nil && !refused {
			s.Forget(unknown...)
			return spent, err
		}
		unknown = nil
		more = slices.DeleteFunc(more, func(f decode.Found) bool {
			if f.Unsure {
				unknown = append(unknown, f.Key)
			}
			return f.Unsure
		})
		s.mu.Lock()
		if refused {
			if remedy := connect.Remedy(err); s.refused[remedy].IsZero() {
				s.refused[remedy] = time.Now()
			}
		}
		for _, f := range more {
			s.names.learn(f.Key, f.Type, f.Evidence == model.Known, f.Evidence == model.Likely && f.Telling)
		}
		s.report(more...)
		s.mu.Unlock()
		if stalls == mostStalls {
			s.Forget(unknown...)
			break
		}
	}
	return spent, nil
}

// sort goes through the keys that were not seen before: it reports those that are limiters by their name alone, and returns those that
// have to be examined. Unless all is set, most keys of a form of name that was never a limiter are left out.
func (s *Scanner) sort(keys []string, all bool) (unknown []string) {
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
			s.report(f)
		} else {
			unknown = append(unknown, k)
		}
	}
	return unknown
}

// mentioned reports whether a --watch pattern or a rule matches a key; those for all keys do not count.
func (s *Scanner) mentioned(key string) bool {
	return s.narrow || slices.ContainsFunc(s.o.Rules, func(r config.Rule) bool { return r.Narrow() && config.MatchGlob(r.Pattern(), key) })
}

// Like reports whether a key has the form of name of known limiters of its Redis type.
func (s *Scanner) Like(key, typ string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names.hasLimiter(key, typ)
}

// Forget makes the next pass look at keys again.
func (s *Scanner) Forget(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		delete(s.seen, maphash.String(s.seed, k))
	}
}

// Collect returns the finds since the previous call.
func (s *Scanner) Collect() []decode.Found {
	s.mu.Lock()
	defer s.mu.Unlock()
	finds := s.inbox
	s.inbox = nil
	return finds
}

// Cost returns the server time that discovery took since the previous call.
func (s *Scanner) Cost() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.spent
	s.spent = 0
	return d
}

// spend adds to what Cost returns.
func (s *Scanner) spend(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent += d
}

// Load sets the prices of commands. On a server that is almost saturated, pauses between passes are longer.
func (s *Scanner) Load(prices health.Costs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prices = prices
}

// rest returns how long to pause after a pass that took so long: passes take at most half of
// the time, and at most a fifth on a server that is almost saturated.
func (s *Scanner) rest(pass time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prices.Strained {
		pass *= 4
	}
	return max(s.o.Rest, pass)
}

// costOf returns the price of the two pipelines of decode.Classify.
func (s *Scanner) costOf(cmds []redis.Cmder) time.Duration {
	if len(cmds) == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prices.Wake() + s.prices.Pipeline(cmds)
}

// scanCost returns the price of one SCAN with a COUNT. The server reports the mean of recent
// calls, whose COUNT may have been different, so that the price is scaled by their mean COUNT.
func (s *Scanner) scanCost(count int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	executed := time.Duration(count) * keyPrice
	if told, ok := s.prices.Exec["scan"]; ok {
		executed = time.Duration(float64(told) * float64(count) / s.count)
	}
	s.count += (float64(count) - s.count) / 32
	return s.prices.Wake() + executed
}

// own returns a sample with the server time and the commands of this process alone.
func (s *Scanner) own() (sample health.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sample.OwnCPU, sample.OwnCommands = s.o.Own()
	sample.OwnCPU += s.spent
	return sample
}

// Progress returns the progress of discovery.
func (s *Scanner) Progress() model.Sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep
}

// Lacks returns a sentence for each reason why keys, or some of them, cannot be discovered.
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

// names learns which forms of names limiters have, so that the server is not asked about each of a million sessions. Keys that differ
// only in their last part, or in parts with digits, have the same form.
type names map[string]*form

// form holds what is known about the keys of one form of name.
type form struct {
	looked  int      // keys that were examined
	passed  int      // keys that came after enough others had been examined in vain
	limiter bool     // one of the keys was a limiter
	likely  int      // keys that were likely to be limiters
	types   []string // Redis types of the keys that were limiters
}

const (
	// enough is how many keys of a form are examined without finding a limiter before only one
	// in fewMore is. The others may be examined in a later pass.
	enough  = 256
	fewMore = 64
	// likelyAmong is the number of keys of a form of which one has to be likely for all of them to be examined.
	likelyAmong = 16
	// mostForms bounds how many forms are remembered; all keys of further forms are examined.
	mostForms = 4096
)

const separators = ":./|_-{}"

// formOf returns the form of a key's name: "app:session:7f3a:x" is "app:session:#:*".
func formOf(key string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(key, separators)
		if i < 0 {
			b.WriteByte('*')
			return b.String()
		}
		if part := key[:i]; strings.ContainsAny(part, "0123456789") {
			b.WriteByte('#')
		} else {
			b.WriteString(part)
		}
		b.WriteByte(key[i])
		key = key[i+1:]
	}
}

// worth reports whether a key is worth examining, and whether a key of its form was likely to be a limiter.
func (n names) worth(key string) (look, likely bool) {
	f := n[formOf(key)]
	if f == nil || f.limiter || f.looked < enough || f.likely*likelyAmong >= f.looked {
		return true, f != nil && f.likely > 0
	}
	f.passed++
	return f.passed%fewMore == 0, f.likely > 0
}

// hasLimiter reports whether a key of the same form and type was a limiter. The type matters: the counter bull:mail:limiter has the same
// form as bull:mail:completed, a sorted set of jobs. It is false for forms without any word, such as that of all names of one part.
func (n names) hasLimiter(key, typ string) bool {
	name := formOf(key)
	f := n[name]
	return f != nil && slices.Contains(f.types, typ) && strings.Trim(name, separators+"#*") != ""
}

// learn notes whether a key of a type turned out to be a limiter, or likely to be one.
func (n names) learn(key, typ string, limiter, likely bool) {
	name := formOf(key)
	f := n[name]
	if f == nil {
		if len(n) >= mostForms {
			return
		}
		f = &form{}
		n[name] = f
	}
	f.looked++
	f.limiter = f.limiter || limiter
	if likely {
		f.likely++
	}
	if limiter && !slices.Contains(f.types, typ) {
		f.types = append(f.types, typ)
	}
}
