package limiter

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A tally is what this process knows about a stream that another program writes: every
// entry of the window up to one id, and their sum. It reads on in pages and never reads
// an entry twice, so that a decision costs the server the same however many entries the
// window holds.
type tally struct {
	mu   sync.Mutex
	log  []Entry // one a millisecond, oldest first
	sum  int64
	upto string // id of the last entry in log; "" before the first
}

// tallies holds a tally for each key and window. The number is bounded: a stream that
// is dropped is only read again.
type tallies struct {
	mu    sync.Mutex
	known map[tallyName]*tally
}

type tallyName struct {
	key string
	w   int64
}

const (
	maxTallies  = 1024
	tallyPage   = 500
	tallyPages  = 2000 // of one reading: a million entries
	tallyTries  = 5
	tallyAhead  = 64 // how many milliseconds with entries a script is told about
	tallyBehind = 50 // entries that a script may read again before the tally reads on
)

func newTallies() *tallies { return &tallies{known: map[tallyName]*tally{}} }

func (t *tallies) of(name tallyName) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.known[name]; one != nil {
		return one
	}
	if len(t.known) >= maxTallies {
		for other := range t.known {
			delete(t.known, other)
			break
		}
	}
	one := &tally{}
	t.known[name] = one
	return one
}

func (t *tallies) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.known {
		if name.key == key {
			delete(t.known, name)
		}
	}
}

// askUntotalled decides about a stream without running totals. The tally is brought up
// to date and the script adds what came since; when too much came in between, again.
func (r *Redis) askUntotalled(ctx context.Context, key string, b *boxed, n int64, act action) (Decision, error) {
	peek := act == looks
	w := b.limit.micros()
	t := r.tallies.of(tallyName{key, w})
	t.mu.Lock()
	defer t.mu.Unlock()
	for try := 0; try < tallyTries; try++ {
		cmd := r.command(ctx, key, b, n, act)
		text, err := r.run(ctx, r.tell(ctx, cmd, t), subject{key: key, limit: b.limit}, act)
		if err != nil {
			return Decision{}, err
		}
		vals, err := numbers(nil, text)
		if err != nil {
			return Decision{}, err
		}
		if len(vals) < 5 {
			return Decision{}, fmt.Errorf("the script for %s answered %d values instead of 5", r.algorithm, len(vals))
		}
		now := Instant(vals[1])
		switch vals[0] {
		case -3:
			t.log, t.sum, t.upto = nil, 0, ""
			fallthrough
		case -2:
			if err := r.readOn(ctx, key, t, now, w); err != nil {
				return Decision{}, err
			}
			continue
		case -4:
			return Decision{}, fmt.Errorf("%w: stream %q holds an entry without a count: remove it, or watch another key", ErrWrongType, key)
		}
		denied := vals[0] == 0 || peek
		if denied || vals[3] > tallyBehind {
			if err := r.readOn(ctx, key, t, now, w); err != nil && denied {
				return Decision{}, err
			}
		}
		return r.decodeUntotalled(b, n, peek, vals, t)
	}
	return Decision{}, fmt.Errorf("stream %q grows faster than it can be summed: let its writer add running totals, or fire later", key)
}

// tell is the command with what the tally knows. An option that is not in use still
// takes its place, so that the tally's arguments are always at the same ones.
func (r *Redis) tell(ctx context.Context, cmd *decisionCmd, t *tally) *decisionCmd {
	args := cmd.Args()
	fixed := 3 + args[2].(int) + scriptArgs + 1
	for len(args) < fixed {
		args = append(args, 0)
	}
	ahead := t.log[:min(len(t.log), tallyAhead)]
	more := 0
	if len(ahead) < len(t.log) {
		more = 1
	}
	args = append(args, t.upto, t.sum, more)
	for _, e := range ahead {
		args = append(args, e.At.Millis(), e.Count)
	}
	return newDecisionCmd(ctx, cmd.script, args)
}

// readOn reads what came since the last page and forgets what has left the window.
func (r *Redis) readOn(ctx context.Context, key string, t *tally, now Instant, w int64) error {
	a := &asked{now: now, w: w, c: r.convention}
	s := State{Log: t.log}
	gone := s.firstLive(a)
	t.sum -= sum(t.log[:gone])
	t.log = t.log[gone:]
	from := strconv.FormatInt(floorDiv(int64(now)-w, 1000), 10)
	if t.upto != "" {
		from = "(" + t.upto
	}
	for range tallyPages {
		cmd := redis.NewXMessageSliceCmd(ctx, "xrange", key, from, "+", "count", tallyPage)
		if err := r.client.Process(ctx, cmd); err != nil {
			return r.explainFailure(ctx, err, subject{key: key, limit: Limit{Window: span(w)}})
		}
		for _, m := range cmd.Val() {
			if err := t.add(m, a); err != nil {
				return fmt.Errorf("%w: stream %q: %w", ErrWrongType, key, err)
			}
			from = "(" + m.ID
		}
		if len(cmd.Val()) < tallyPage {
			return nil
		}
	}
	return fmt.Errorf("stream %q holds more entries in a window than can be summed: let its writer add running totals", key)
}

// add counts one entry. Ids of other writers tell milliseconds.
func (t *tally) add(m redis.XMessage, a *asked) error {
	text, _ := m.Values["count"].(string)
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || count < 0 || count > MaxCount {
		return fmt.Errorf("entry %q has the count %q, which is not one", m.ID, text)
	}
	digits, _, _ := strings.Cut(m.ID, "-")
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || ms > math.MaxInt64/1000 {
		return fmt.Errorf("entry %q has an id that is not a time", m.ID)
	}
	t.upto = m.ID
	at := Instant(ms * 1000)
	if at < a.now-Instant(a.w)+1-Instant(a.edge()) {
		return nil
	}
	t.sum = addCapped(t.sum, count)
	if last := len(t.log) - 1; last >= 0 && t.log[last].At == at {
		t.log[last].Count = addCapped(t.log[last].Count, count)
		return nil
	}
	t.log = append(t.log, Entry{At: at, Count: count})
	return nil
}

// decodeUntotalled is decode with the tally in place of what a script looks up.
func (r *Redis) decodeUntotalled(b *boxed, n int64, peek bool, vals []int64, t *tally) (Decision, error) {
	a := &asked{now: Instant(vals[1]), limit: b.limit, w: b.limit.micros(), c: r.convention, n: n, most: b.limit.Count}
	d := Decision{At: a.now, Limit: b.limit, Cost: n, Allowed: vals[0] == 1}
	if r.convention.Block > 0 && len(vals) > 5 {
		a.blocked = Instant(vals[5])
	}
	used := vals[2]
	a.judge(&d, peek, a.fits(used))
	s := State{Log: t.log}
	live := s.Log[s.firstLive(a):]
	var first Instant
	newest := a.now
	if !d.Allowed || peek {
		first, newest = leaving(live, a.excess(used)), 0
		if len(live) > 0 {
			newest = live[len(live)-1].At
		}
	}
	explainUsed(&d, a, used, first, newest)
	a.close(&d)
	return d, nil
}

// StreamInstant reads the instant of a stream id: to the microsecond when this library
// wrote it, else to the millisecond.
func StreamInstant(id string) (Instant, bool) {
	left, right, found := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(left, 10, 64)
	if !found || err != nil || ms < 0 || ms > math.MaxInt64/1000-1 {
		return 0, false
	}
	at := Instant(ms * 1000)
	if len(right) > 15 {
		us, err := strconv.ParseInt(right[:len(right)-15], 10, 64)
		if err == nil && us >= 1 && us <= 1000 {
			at = at.Add(time.Duration(us-1) * time.Microsecond)
		}
	}
	return at, true
}
