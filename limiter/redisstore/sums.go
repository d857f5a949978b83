package redisstore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// runningSum holds the entries of one window of a stream that another program writes, up to an id, and
// their sum. It is read on page by page from that id, so that a decision costs the server the same
// however many entries the window holds.
type runningSum struct {
	turn chan struct{}   // holds a value while a decision uses the sum: a wait for it ends with the context
	log  []limiter.Entry // one for each millisecond, oldest first
	sum  int64
	upto string // id of the last entry in log; "" before the first
}

// sums holds a running sum for each key and window, maxSums at most. A stream whose sum was dropped is
// read again from the start of its window. It is safe for concurrent use.
type sums struct {
	mu    sync.Mutex
	known map[sumName]*runningSum
}

// sumName names a running sum.
type sumName struct {
	key string
	w   int64 // window in microseconds
}

const (
	maxSums   = 1024
	sumPage   = 500
	sumPages  = 2000 // greatest number of pages of one reading, which are a million entries
	sumTries  = 5    // greatest number of calls for one decision
	sumAhead  = 64   // greatest number of entries of the log in the arguments of a script
	sumBehind = 50   // entries that scripts may read again and again before they are added to the sum
)

// of returns the running sum with a name, which is empty at first.
func (s *sums) of(name sumName) *runningSum {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.known[name]; one != nil {
		return one
	}
	if len(s.known) >= maxSums {
		for other := range s.known {
			delete(s.known, other)
			break
		}
	}
	one := &runningSum{turn: make(chan struct{}, 1)}
	s.known[name] = one
	return one
}

func (s *sums) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.known, func(name sumName, _ *runningSum) bool { return name.key == key })
}

// decideWithoutTotals decides about a stream without running totals. The script gets the running sum
// as an argument and adds the entries after it. If these are too many, the sum is read on and the
// script is called again. Decisions about one key and window wait for each other.
func (s *Store) decideWithoutTotals(ctx context.Context, about subject, p *prepared, n int64, act action) (limiter.Decision, error) {
	key, peeked := about.key, act == looks
	w := micros(p.limit.Window)
	sum := s.sums.of(sumName{key, w})
	select {
	case sum.turn <- struct{}{}:
		defer func() { <-sum.turn }()
	case <-ctx.Done():
		return limiter.Decision{}, fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	}
	for range sumTries {
		cmd := withSum(ctx, s.server.command(ctx, key, p, n, act), sum)
		text, err := s.server.run(ctx, cmd, about, act)
		if err != nil {
			return limiter.Decision{}, err
		}
		vals, err := numbers(nil, text)
		if err != nil {
			return limiter.Decision{}, err
		}
		if len(vals) < 5 {
			return limiter.Decision{}, fmt.Errorf("the script for %s answered %d values instead of 5", s.plan.algorithm, len(vals))
		}
		now := limiter.Instant(vals[1])
		switch vals[0] {
		case replyStartAnew, replyReadOn:
			if vals[0] == replyStartAnew {
				sum.log, sum.sum, sum.upto = nil, 0, ""
			}
			if err := s.server.readOn(ctx, key, sum, now, w); err != nil {
				return limiter.Decision{}, err
			}
			continue
		}
		denied := vals[0] != replyAdmitted || peeked
		if vals[0] < 0 {
			return limiter.Decision{}, s.server.refusal(ctx, about, vals[0])
		}
		if denied || vals[3] > sumBehind {
			if err := s.server.readOn(ctx, key, sum, now, w); err != nil && denied {
				return limiter.Decision{}, err
			}
		}
		if !denied {
			return s.plan.decodeNumbers(p, n, peeked, vals, nil)
		}
		return s.plan.decodeNumbers(p, n, peeked, vals, sum.log)
	}
	return limiter.Decision{}, fmt.Errorf("stream %q grows faster than it can be summed: let its writer add running totals, or fire later",
		key)
}

// withSum returns the command with the running sum in its arguments. Options that are not used are
// passed as 0, so that the sum always has the same indexes.
func withSum(ctx context.Context, cmd *decisionCmd, sum *runningSum) *decisionCmd {
	args := cmd.Args()
	fixed := 3 + args[2].(int) + scriptArgs + 1
	for len(args) < fixed {
		args = append(args, 0)
	}
	ahead := sum.log[:min(len(sum.log), sumAhead)]
	more := 0
	if len(ahead) < len(sum.log) {
		more = 1
	}
	args = append(args, sum.upto, sum.sum, more)
	for _, e := range ahead {
		args = append(args, e.At.Millis(), e.Count)
	}
	return newDecisionCmd(ctx, cmd.script, args)
}

// readOn adds the entries after the latest page to the sum, and removes those that have left the
// window. It fails if they are more than sumPages pages.
func (s *server) readOn(ctx context.Context, key string, sum *runningSum, now limiter.Instant, w int64) error {
	oldest := now - limiter.Instant(w) // the first instant of the window
	if s.plan.convention.Edge != convention.Closed {
		oldest++
	}
	for len(sum.log) > 0 && sum.log[0].At < oldest {
		sum.sum -= sum.log[0].Count
		sum.log = sum.log[1:]
	}
	from := strconv.FormatInt(max((now-limiter.Instant(w)).Millis(), 0), 10)
	if sum.upto != "" {
		from = "(" + sum.upto
	}
	for range sumPages {
		cmd := redis.NewXMessageSliceCmd(ctx, "xrange", key, from, "+", "count", sumPage)
		if err := s.client.Process(ctx, cmd); err != nil {
			return s.explainFailure(ctx, err, subject{key: key})
		}
		for _, m := range cmd.Val() {
			if err := sum.add(m, oldest); err != nil {
				return fmt.Errorf("%w: stream %q: %w", limiter.ErrWrongType, key, err)
			}
			from = "(" + m.ID
		}
		if len(cmd.Val()) < sumPage {
			return nil
		}
	}
	return fmt.Errorf("stream %q holds more entries in a window than can be summed: let its writer add running totals", key)
}

// add adds an entry to the sum unless it is older than oldest. The ids of other writers contain
// milliseconds. It fails if the entry has no count or its id is not a time.
func (sum *runningSum) add(m redis.XMessage, oldest limiter.Instant) error {
	text, _ := m.Values["count"].(string)
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || count < 0 || count > limiter.MaxCount {
		return fmt.Errorf("entry %q has the count %q, which is not one", m.ID, text)
	}
	digits, _, _ := strings.Cut(m.ID, "-")
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || ms > math.MaxInt64/1000 {
		return fmt.Errorf("entry %q has an id that is not a time", m.ID)
	}
	sum.upto = m.ID
	at := limiter.Instant(ms * 1000)
	if at < oldest {
		return nil
	}
	sum.sum += count // cannot overflow: a million entries of limiter.MaxCount at most
	if last := len(sum.log) - 1; last >= 0 && sum.log[last].At == at {
		sum.log[last].Count += count
		return nil
	}
	sum.log = append(sum.log, limiter.Entry{At: at, Count: count})
	return nil
}
