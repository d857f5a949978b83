package hotkeys

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/model"
)

// Frequencies keeps the keys with the highest LFU counters, in bounded memory. Use
// NewFrequencies to make one. It is safe for concurrent use.
type Frequencies struct {
	mu    sync.Mutex
	seen  map[string]frequency
	floor int64 // the least counter for which a key is kept; 0 while there is room

	refused string // the ACL command that would permit OBJECT FREQ; "" where it is permitted
}

// frequency is an LFU counter and the time at which it was read, since counters decay.
type frequency struct {
	counter int64
	at      time.Time
}

// Bounds of what is kept, and Redis's constants.
const (
	mostFrequent = 64          // keys
	frequencyOld = time.Minute // age at which a counter is dropped
	lfuInit      = 5           // the counter of a new key
	lfuMost      = 255         // the highest counter
	logFactor    = 10          // the default of lfu-log-factor
)

// NewFrequencies returns Frequencies without keys.
func NewFrequencies() *Frequencies { return &Frequencies{seen: make(map[string]frequency)} }

// Ask reads the counters of keys in one pipeline; OBJECT FREQ does not change them. kept is
// false when the counters cannot be read: the maxmemory-policy is not an LFU one, or this user
// may not call OBJECT FREQ. It fails when the server is away.
func (f *Frequencies) Ask(ctx context.Context, node redis.Cmdable, keys []string, now time.Time) (kept bool, err error) {
	answers := make([]*redis.IntCmd, len(keys))
	_, err = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			answers[i] = p.ObjectFreq(ctx, k)
		}
		return nil
	})
	kept = true
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, a := range answers {
		n, e := a.Result()
		switch {
		case e == nil:
			f.take(keys[i], n, now)
		case strings.Contains(e.Error(), "LFU"):
			kept = false
		case connect.Forbidden(e) != "":
			kept, f.refused = false, connect.Remedy(e)
		}
	}
	if _, isReply := err.(redis.Error); isReply {
		err = nil // such as that of a key that is gone
	}
	return kept, err
}

// Lack returns a sentence that says why the counters may not be read; "" when they may.
func (f *Frequencies) Lack() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == "" {
		return ""
	}
	return "LFU counters may not be asked by this user: " + f.refused
}

// take notes one counter.
func (f *Frequencies) take(key string, counter int64, now time.Time) {
	if _, held := f.seen[key]; !held && (counter <= max(f.floor, lfuInit+1) || len(key) > LongestKey) {
		return
	}
	f.seen[key] = frequency{min(max(counter, 0), lfuMost), now}
	if len(f.seen) <= mostFrequent {
		return
	}
	list := f.ordered(now)
	for _, k := range list[mostFrequent/2:] {
		delete(f.seen, k)
	}
	f.floor = f.seen[list[mostFrequent/2-1]].counter
}

// ordered drops the counters that are too old, and returns the keys of the others, the highest
// counter first.
func (f *Frequencies) ordered(now time.Time) []string {
	list := make([]string, 0, len(f.seen))
	for k, v := range f.seen {
		if now.Sub(v.at) > frequencyOld {
			delete(f.seen, k)
			f.floor = 0
			continue
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.seen[b].counter, f.seen[a].counter), strings.Compare(a, b))
	})
	return list
}

// HotKeys returns the keys that are kept, with the accesses that their counters stand for, the
// highest counter first.
func (f *Frequencies) HotKeys(now time.Time) []model.HotKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.ordered(now)
	keys := make([]model.HotKey, 0, len(list))
	for _, k := range list {
		keys = append(keys, model.HotKey{Key: k, Counter: model.Measure{Known: true, V: hits(f.seen[k].counter)}})
	}
	return keys
}

// hits returns how many accesses an LFU counter stands for, on average and without decay. Redis
// raises a counter c with the probability 1/((c-5)×factor+1) at each access (LFULogIncr), so
// that one step takes the inverse number of accesses. A counter of 255 grows no further; the
// result is then a lower bound.
func hits(counter int64) float64 {
	n := float64(min(counter, lfuMost) - lfuInit)
	if n <= 0 {
		return 0
	}
	return n + logFactor*n*(n-1)/2
}
