package hotkeys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// Index reads the hot keys that one Redis reports with HOTKEYS. The zero value is ready; it is used by one goroutine.
type Index struct {
	known bool      // the server has HOTKEYS of Redis
	next  time.Time // no request before this time
	lack  string    // why it may not be asked, in a phrase; "" where it may
}

const (
	// askKindAgain is how long a server counts as one without HOTKEYS, before it is asked again: it may have been upgraded.
	askKindAgain = 5 * time.Minute
	// mostReported bounds how many keys of a report are used. Redis sends at most 64 for each of two measures.
	mostReported = 128
)

// Read asks for the report: a measure for each Redis key, and a phrase for model.HotKeys.Sources that describes them, or says why there
// are none although the server has the command. Both are empty where it has none or does not profile. It fails when the server is away.
func (i *Index) Read(ctx context.Context, node *redis.Client, now time.Time) (keys []model.HotKey, says string, err error) {
	if now.Before(i.next) {
		return nil, i.lack, nil
	}
	if !i.known {
		reply, failed := node.Do(ctx, "command", "info", "hotkeys").Result()
		if err = failed; err == nil && !hasStart(reply) {
			i.next, i.lack = now.Add(askKindAgain), ""
			return nil, "", nil
		}
	}
	var report *redis.HotKeysResult
	if err == nil {
		i.known = true
		report, err = node.HotKeysGet(ctx).Result()
	}
	switch code := connect.Code(err); {
	case errors.Is(err, redis.Nil), err == nil && report == nil: // no recording has begun
		return nil, "", nil
	case code != "":
		if i.next, i.lack = now.Add(refusedFor), ""; code == "NOPERM" {
			i.lack = "HOTKEYS may not be asked by this user: allow it with ACL SETUSER … +hotkeys|get +command|info"
		}
		return nil, i.lack, nil
	case err != nil:
		return nil, "", err
	}
	keys, says = told(report)
	return keys, says, nil
}

// hasStart reports whether the reply to COMMAND INFO HOTKEYS, an array whose tenth element lists the subcommands,
// is of Redis: the command of that name in Valkey has no START.
func hasStart(reply any) bool {
	list, _ := reply.([]any)
	if len(list) != 1 {
		return false
	}
	info, _ := list[0].([]any)
	if len(info) < 10 {
		return false
	}
	subs, _ := info[9].([]any)
	for _, s := range subs {
		if sub, _ := s.([]any); len(sub) > 0 && sub[0] == "hotkeys|start" {
			return true
		}
	}
	return false
}

// told returns what a report says of keys, and a phrase that describes it. Its figures are of another program.
func told(r *redis.HotKeysResult) (keys []model.HotKey, says string) {
	at, sample := make(map[string]int), float64(max(r.SampleRatio, 1))
	take := func(list []redis.HotKeysKeyEntry, all int64, set func(*model.HotKey, model.Measure)) {
		for _, e := range list {
			n, isNumber := e.Value.(int64)
			if !isNumber || n < 0 || all <= 0 || len(e.Key) > LongestKey {
				continue
			}
			j, seen := at[e.Key]
			if !seen {
				if len(keys) == mostReported {
					return
				}
				j = len(keys)
				at[e.Key] = j
				keys = append(keys, model.HotKey{Key: e.Key})
			}
			// One key in sample is measured; that applies to n, but not to all.
			set(&keys[j], model.Measure{Known: true, V: min(float64(n)*sample/float64(all), 1)})
		}
	}
	take(r.ByCPUTime, r.AllCommandsAllSlots.Microseconds(), func(h *model.HotKey, m model.Measure) { h.CPU = m })
	take(r.ByNetBytes, r.NetBytesAllCommandsAllSlots, func(h *model.HotKey, m model.Measure) { h.Net = m })
	long := format.Elapsed(max(r.CollectionDuration, 0))
	if r.TrackingActive {
		return keys, fmt.Sprintf("HOTKEYS of Redis, for %s so far", long)
	}
	return keys, fmt.Sprintf("HOTKEYS of Redis, over %s from %s on", long, r.CollectionStartTime.UTC().Format("15:04:05 UTC"))
}

// Frequencies keeps the keys with the highest LFU counters, in bounded memory. The zero value has no keys. It is safe for concurrent use.
type Frequencies struct {
	mu   sync.Mutex
	seen map[string]frequency

	refused string // why OBJECT FREQ may not be asked; "" where it may
}

// frequency is an LFU counter and the time at which it was read, since counters decay.
type frequency struct {
	counter int64
	at      time.Time
}

// Bounds of what is kept, and Redis's constants.
const (
	mostFrequent = 64          // keys, of which the first half is told: the others come and go
	frequencyOld = time.Minute // age at which a counter is dropped
	lfuInit      = 5           // the counter of a new key
	lfuMost      = 255         // the highest counter
	logFactor    = 10          // the default of lfu-log-factor
)

// Ask reads the counters of keys in one pipeline; OBJECT FREQ does not change them. kept is false when the counters cannot be read: the
// maxmemory-policy is not an LFU one, or this user may not call OBJECT FREQ. It fails when the server is away.
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
			kept, f.refused = false, "LFU counters may not be asked by this user: "+connect.Remedy(e)
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
	return f.refused
}

// take notes one counter.
func (f *Frequencies) take(key string, counter int64, now time.Time) {
	if _, held := f.seen[key]; !held && (counter <= lfuInit+1 || len(key) > LongestKey) {
		return
	}
	collect.Put(&f.seen, key, frequency{min(max(counter, 0), lfuMost), now})
	if len(f.seen) > mostFrequent {
		list := f.ordered(now)
		for _, k := range list[min(len(list), mostFrequent/2):] {
			delete(f.seen, k)
		}
	}
}

// ordered drops the counters that are too old, and returns the keys of the others, the highest counter first.
func (f *Frequencies) ordered(now time.Time) []string {
	maps.DeleteFunc(f.seen, func(_ string, v frequency) bool { return now.Sub(v.at) > frequencyOld })
	list := slices.Collect(maps.Keys(f.seen))
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.seen[b].counter, f.seen[a].counter), strings.Compare(a, b))
	})
	return list
}

// HotKeys returns the keys that are kept, with the accesses that their counters stand for, the highest counter first.
func (f *Frequencies) HotKeys(now time.Time) []model.HotKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.ordered(now)
	return collect.Map(list[:min(len(list), mostFrequent/2)], func(k string) model.HotKey {
		return model.HotKey{Key: k, Counter: model.Measure{Known: true, V: hits(f.seen[k].counter)}}
	})
}

// hits returns how many accesses an LFU counter stands for, on average and without decay. Redis raises a counter c with the probability
// 1/((c-5)×factor+1) at each access (LFULogIncr), so that one step takes the inverse number of accesses. A counter of 255 grows no
// further; the result is then a lower bound.
func hits(counter int64) float64 {
	n := float64(min(counter, lfuMost) - lfuInit)
	if n <= 0 {
		return 0
	}
	return n + logFactor*n*(n-1)/2
}
