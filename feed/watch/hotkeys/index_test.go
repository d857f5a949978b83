package hotkeys

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/model"
)

// redisInfo is what COMMAND INFO HOTKEYS of Redis 8.6.3 lists, valkeyInfo what Valkey's sources
// list: only the first has START.
var (
	redisInfo = []any{[]any{"hotkeys", -2, []any{}, 0, 0, 0, []any{"@slow"}, []any{}, []any{}, []any{[]any{"hotkeys|help", 2},
		[]any{"hotkeys|reset", 2}, []any{"hotkeys|start", -2}, []any{"hotkeys|stop", 2}, []any{"hotkeys|get", 2}}}}
	valkeyInfo = []any{[]any{"hotkeys", -2, []any{}, 0, 0, 0, []any{"@slow"}, []any{}, []any{}, []any{[]any{"hotkeys|help", 2},
		[]any{"hotkeys|get", 2}, []any{"hotkeys|reset", 2}}}}
)

// profile is what Redis 8.6.3 answered to HOTKEYS GET after START METRICS 2 CPU NET SAMPLE 2,
// with figures that are easy to reckon with.
var profile = pairs{
	"tracking-active", 1, "sample-ratio", 2, "selected-slots", []any{[]any{0, 16383}},
	"all-commands-all-slots-us", 400, "net-bytes-all-commands-all-slots", 1000,
	"collection-start-time-unix-ms", 1795274874274, "collection-duration-ms", 184,
	"total-cpu-time-user-ms", 1, "total-cpu-time-sys-ms", 1, "total-net-bytes", 52,
	"by-cpu-time-us", []any{"a", 100, "b", 20}, "by-net-bytes", []any{"b", 250, "a", 50},
}

func measure(v float64) model.Measure { return model.Measure{Known: true, V: v} }

// TestRegister asks fake servers in both protocols, in the words of real ones.
func TestRegister(t *testing.T) {
	heats := []model.HotKey{{Key: "a", CPU: measure(0.5), Net: measure(0.1)}, {Key: "b", CPU: measure(0.1), Net: measure(0.5)}}
	ended := append(pairs{"tracking-active", 0}, profile[2:]...)
	for _, test := range []struct {
		name      string
		protocol  int
		info, get string
		keys      []model.HotKey
		says      string
	}{
		{"Redis in RESP2", 2, wire(redisInfo), wire([]any{[]any(profile)}), heats, "HOTKEYS of Redis, for 0s so far"},
		{"Redis in RESP3", 3, wire(redisInfo), wire([]any{profile}), heats, "so far"},
		{"Redis, ended", 2, wire(redisInfo), wire([]any{[]any(ended)}), heats, "from 15:27:54 UTC on"},
		{"Redis, not begun", 2, wire(redisInfo), wire(nil), nil, ""},
		{"Redis, nothing", 2, wire(redisInfo), wire([]any{}), nil, ""},
		{"Redis, not permitted", 2, wire(redisInfo), wire(errors.New("NOPERM User x has no permissions to run the 'hotkeys|get' command")),
			nil, "+hotkeys|get"},
		{"Valkey", 2, wire(valkeyInfo), wire(errors.New("ERR Hotkey detection is disabled")), nil, ""},
		{"older", 2, wire([]any{nil}), wire(errors.New("ERR unknown command 'hotkeys'")), nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := fake(t, test.protocol, map[string]string{"command info hotkeys": test.info, "hotkeys get": test.get})
			var g Index
			keys, says, err := g.Read(context.Background(), c, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(keys, test.keys) {
				t.Errorf("heats %+v, want %+v", keys, test.keys)
			}
			if !strings.Contains(says, test.says) || (test.says == "") != (says == "") {
				t.Errorf("it says %q, want %q", says, test.says)
			}
		})
	}
}

// TestRegisterAway: no answer is an error, and it is not taken for an answer.
func TestRegisterAway(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer c.Close()
	var g Index
	if keys, says, err := g.Read(context.Background(), c, time.Now()); err == nil || says != "" || keys != nil {
		t.Errorf("%v, %q, %v", keys, says, err)
	}
}

// TestRealHotkeys lets a real server profile itself. Where it has no HOTKEYS of Redis's kind,
// as those before 8.6 have not, the test says so: set RATESCOPE_REDIS_SERVER to one.
func TestRealHotkeys(t *testing.T) {
	c := startServer(t)
	ctx := context.Background()
	var g Index
	_, says, err := g.Read(ctx, c, time.Now())
	if says != "" || err != nil {
		t.Fatalf("before it began: %q, %v", says, err)
	}
	if !g.known {
		t.Skip("SKIPPED: the server has no HOTKEYS of Redis; decoding was tested against recorded replies alone")
	}
	if err := c.Do(ctx, "hotkeys", "start", "metrics", 2, "cpu", "net", "duration", 20).Err(); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		c.Incr(ctx, "hot")
	}
	c.Incr(ctx, "cold")
	for _, protocol := range []int{2, 3} {
		o := *c.Options()
		o.Protocol = protocol
		asks := redis.NewClient(&o)
		defer asks.Close()
		keys, says, err := g.Read(ctx, asks, time.Now())
		if err != nil || len(keys) != 2 {
			t.Fatalf("RESP%d: %+v, %q, %v", protocol, keys, says, err)
		}
		if h := keys[0]; h.Key != "hot" || h.CPU.V < 0.8 || h.Net.V < 0.5 || !strings.Contains(says, "so far") {
			t.Errorf("RESP%d: %+v %q", protocol, keys, says)
		}
	}
}

// TestRealFrequencies reads the LFU counters of a real server, and finds them not moved by
// the reading.
func TestRealFrequencies(t *testing.T) {
	ctx := context.Background()
	f := &Frequencies{}
	if kept, err := f.Ask(ctx, startServer(t), []string{"k"}, time.Now()); err != nil || !kept {
		t.Fatalf("of a key that does not exist: %v, %v", kept, err)
	}
	plain := startServer(t)
	plain.Set(ctx, "k", 1, 0)
	if kept, err := f.Ask(ctx, plain, []string{"k"}, time.Now()); err != nil || kept {
		t.Fatalf("without an LFU policy: %v, %v", kept, err)
	}
	c := startServer(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu")
	for range 2000 {
		c.Incr(ctx, "hot")
	}
	c.Incr(ctx, "cold")
	before := c.ObjectFreq(ctx, "hot").Val()
	for range 200 {
		if kept, err := f.Ask(ctx, c, []string{"hot", "cold", "none"}, time.Now()); err != nil || !kept {
			t.Fatal(kept, err)
		}
	}
	keys := f.HotKeys(time.Now())
	if len(keys) != 1 || keys[0].Key != "hot" {
		t.Fatalf("%+v", keys)
	}
	if after := c.ObjectFreq(ctx, "hot").Val(); after != before {
		t.Errorf("asking moved the counter from %d to %d", before, after)
	}
	// The counter is by chance; it stands for the true number within a factor of two or so.
	if n := keys[0].Counter.V; n < 700 || n > 5000 {
		t.Errorf("2000 accesses are told as %v (counter %d)", n, before)
	}
}

func TestHits(t *testing.T) {
	const most = 250 + 10*250*249/2
	for counter, want := range map[int64]float64{-3: 0, 0: 0, 5: 0, 6: 1, 7: 12, 10: 105, 255: most, 9999: most} {
		if got := hits(counter); math.Abs(got-want) > 1e-9 {
			t.Errorf("hits(%d) = %v, want %v", counter, got, want)
		}
	}
}

// TestFrequenciesAreBounded: of many keys the highest counters stay, and old ones go.
func TestFrequenciesAreBounded(t *testing.T) {
	f := &Frequencies{}
	at := time.Unix(1_795_000_000, 0)
	for i := range 10_000 {
		f.take(strings.Repeat("k", i%50)+string(rune('a'+i%26))+time.Duration(i).String(), int64(i*7919%250), at)
		if len(f.seen) > mostFrequent+1 {
			t.Fatalf("%d are kept", len(f.seen))
		}
	}
	keys := f.HotKeys(at)
	if len(keys) == 0 || keys[0].Counter.V != hits(249) || keys[len(keys)-1].Counter.V < hits(200) {
		t.Errorf("%d kept, from %+v to %+v", len(keys), keys[0], keys[len(keys)-1])
	}
	if late := f.HotKeys(at.Add(time.Hour)); len(late) != 0 {
		t.Errorf("%d are still told after an hour", len(late))
	}
}

// FuzzReport reads what a hostile server may answer.
func FuzzReport(f *testing.F) {
	f.Add("a", int64(5), int64(400), uint8(0))
	f.Add("by-cpu-time-us", int64(-5), int64(math.MaxInt64), uint8(77))
	f.Add("key", int64(math.MaxInt64), int64(1), uint8(255))
	f.Fuzz(func(t *testing.T, key string, n, all int64, shape uint8) {
		values := []any{nil, key, n, all, []any{key, n}, []any{key}, map[any]any{key: n, "key": key, "qps": n, "db": all}, errors.New(key)}
		pick := func(i int) any { return values[(int(shape)+i)%len(values)] }
		reply := any([]any{pick(0), pick(1)})
		keys, _ := told(&redis.HotKeysResult{TrackingActive: n > 0, SampleRatio: shape, AllCommandsAllSlots: time.Duration(all),
			NetBytesAllCommandsAllSlots: n, CollectionStartTime: time.UnixMilli(n), CollectionDuration: time.Duration(all),
			ByCPUTime:  []redis.HotKeysKeyEntry{{Key: key, Value: n}, {Key: key, Value: all}, {Key: "k", Value: pick(2)}},
			ByNetBytes: []redis.HotKeysKeyEntry{{Key: key, Value: pick(3)}, {Key: "k", Value: all}}})
		if len(keys) > mostReported {
			t.Fatalf("%d keys", len(keys))
		}
		for _, h := range keys {
			for _, m := range []model.Measure{h.CPU, h.Net} {
				if m.Known && !(m.V >= 0 && m.V <= 1) {
					t.Fatalf("%+v", h)
				}
			}
		}
		hasStart(reply)
		hasStart([]any{[]any{pick(0), 1, 2, 3, 4, 5, 6, 7, 8, []any{pick(1), []any{pick(2)}}}})
	})
}
