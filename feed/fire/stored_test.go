package fire_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// storedLimit is a limiter of a library that keeps its limit in Redis, full at 5 in a day.
type storedLimit struct {
	seed    func(s *servertest.Server) (key string)
	admits  func(s *servertest.Server) int64 // how many requests the library admits now, by its published rule
	request func(s *servertest.Server)       // what one admitted request of the library writes
	set     func(s *servertest.Server)       // what the library writes when its application sets the limit to 7
}

var storedLimits = map[string]storedLimit{
	"upstash-ratelimit": {
		seed: func(s *servertest.Server) string {
			s.CLI("SET", upstashDay(s), "5", "PX", "86400000")
			s.CLI("SET", "@upstash/ratelimit:dynamic:global", "5")
			return "@upstash/ratelimit:alice"
		},
		admits: func(s *servertest.Server) int64 {
			return whole(s, "GET", "@upstash/ratelimit:dynamic:global") - whole(s, "GET", upstashDay(s))
		},
		request: func(s *servertest.Server) { s.CLI("INCR", upstashDay(s)) },
		set:     func(s *servertest.Server) { s.CLI("SET", "@upstash/ratelimit:dynamic:global", "7") },
	},
	"redisson": {
		seed: func(s *servertest.Server) string {
			s.CLI("HSET", "api", "rate", "5", "interval", "86400000", "keepAliveTime", "0", "type", "0")
			s.CLI("SET", "{api}:value", "0")
			c := s.Client()
			defer c.Close()
			c.ZAdd(context.Background(), "{api}:permits", redis.Z{Score: float64(s.Now().Millis()), Member: "\x101234567890123456\x05\x00\x00\x00"})
			return "api"
		},
		admits:  func(s *servertest.Server) int64 { return whole(s, "GET", "{api}:value") }, // no permit is a day old
		request: func(s *servertest.Server) { s.CLI("DECRBY", "{api}:value", "1") },
		set:     func(s *servertest.Server) { s.CLI("HSET", "api", "rate", "7") },
	},
	"bucket4j": {
		seed: func(s *servertest.Server) string {
			setBucket(s, 5, 0)
			return "bucket"
		},
		admits: func(s *servertest.Server) int64 { _, tokens := bucket(s); return tokens },
		request: func(s *servertest.Server) {
			capacity, tokens := bucket(s)
			setBucket(s, capacity, tokens-1)
		},
		set: func(s *servertest.Server) { setBucket(s, 7, 0) },
	},
}

func whole(s *servertest.Server, words ...string) int64 {
	n, _ := strconv.ParseInt(s.CLI(words...), 10, 64)
	return n
}

func upstashDay(s *servertest.Server) string {
	return fmt.Sprintf("@upstash/ratelimit:alice:%d", s.Now().Millis()/86_400_000)
}

// setBucket writes a bucket of Bucket4j whose capacity comes back greedily in a day.
func setBucket(s *servertest.Server, capacity, tokens int64) {
	var b []byte
	for _, part := range []any{
		int32(1), int32(1), int32(1), // the form, the configuration, one limit
		int32(1), capacity, capacity, int64(24 * time.Hour), capacity, false, int64(-1 << 63), false, false,
		int32(3), int32(1), int32(3), int64(s.Now()) * 1000, tokens, int64(0),
		int32(1), int64(3), // the version, and what was consumed
	} {
		b, _ = binary.Append(b, binary.BigEndian, part)
	}
	c := s.Client()
	defer c.Close()
	c.Set(context.Background(), "bucket", b, 24*time.Hour)
}

// bucket reads capacity and tokens of the bucket.
func bucket(s *servertest.Server) (capacity, tokens int64) {
	c := s.Client()
	defer c.Close()
	text := []byte(c.Get(context.Background(), "bucket").Val())
	return int64(binary.BigEndian.Uint64(text[16:])), int64(binary.BigEndian.Uint64(text[len(text)-28:]))
}

// TestRaiseAStoredLimit gives room to limiters of libraries that keep their limit in Redis: the library
// then admits as many more, undo leaves every key, expiry and DUMP as it was, and beside requests that
// came since it lowers the limit again and keeps them. Where the application has set the limit since
// it is refused, with both limits.
func TestRaiseAStoredLimit(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	for name, library := range storedLimits {
		t.Run(name, func(t *testing.T) {
			s.CLI("FLUSHALL")
			key := library.seed(s)
			o := feed.Options{URLs: []string{s.URL()}, Keys: []string{key}}
			audit := filepath.Join(t.TempDir(), "audit")
			i := patient(t, newRedis(t, o), audit)
			raise := func() model.Changed {
				t.Helper()
				_, all := once(t, o)
				r, ok := all[key]
				if !ok || r.Target.Library != name {
					t.Fatalf("%s is not recognized: %+v", key, all)
				}
				order := model.Order{Key: key, Change: model.Change{Kind: model.Give, Units: 20}}
				var err error
				if order.Target, err = r.AimChange(order.Change); err != nil {
					t.Fatal(err)
				}
				if lines, err := i.Preview(ctx, order); err != nil || len(lines) < 4 || lines[1] != "MULTI" {
					t.Errorf("the commands are %q, %v", lines, err)
				}
				if path := i.Path(order); !strings.Contains(path, "where "+name+" keeps it") {
					t.Errorf("the path is %q", path)
				}
				done, err := i.Change(ctx, order)
				if err != nil || done.Raise == nil || !strings.Contains(done.Raise.String(), "from 5 in 1 d to 25 in 1 d") {
					t.Fatalf("%+v, %v", done, err)
				}
				return done
			}
			before := held(t, s)
			done := raise()
			if n := library.admits(s); n != 20 {
				t.Errorf("%d more are admitted, want 20", n)
			}
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: done.Action}); err != nil {
				t.Fatal(err)
			}
			if after := held(t, s); after != before {
				t.Errorf("the keys hold\n%s\nand held before\n%s", after, before)
			}

			done = raise()
			library.request(s)
			u, err := i.TakeBack(ctx, model.TakeBack{Action: done.Action})
			if err != nil {
				t.Fatal(err)
			}
			if separate := name == "upstash-ratelimit"; separate != (u.Lowered == nil) {
				t.Errorf("%+v", u)
			}
			if n := library.admits(s); n != -1 { // one more than five was admitted
				t.Errorf("%d more are admitted after the limit was put back, want -1", n)
			}

			s.CLI("FLUSHALL")
			library.seed(s)
			done = raise()
			library.set(s)
			since := held(t, s)
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: done.Action}); err == nil || !strings.Contains(err.Error(), "another program has") || !strings.Contains(err.Error(), "7") || !strings.Contains(err.Error(), "25") {
				t.Errorf("undone over a limit that was set since: %v", err)
			}
			if held(t, s) != since {
				t.Error("what was set since is gone")
			}
			if text, err := os.ReadFile(audit); err != nil || strings.Count(string(text), `"change":"give 20"`) != 3 || strings.Count(string(text), `"raise":{"units":20`) != 3 {
				t.Errorf("%v: the audit file holds\n%s", err, text)
			}
		})
	}
}
