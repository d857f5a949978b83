package watch_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// TestStartsBeforeItsServer opens the source first and the server later, on the same port.
func TestStartsBeforeItsServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.Kill()
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond})
	run := feedtest.Run(t, r)
	servertest.Await(t, "a sentence about the absent server", func() bool {
		b := run.Last()
		return b.Server.Link == model.Connecting && strings.Contains(b.Server.Err, "nothing listens at "+s.URL())
	})
	begun := time.Now()
	s.Start()
	up := time.Now()
	servertest.Await(t, "the link", func() bool { return run.Last().Server.Link == model.Live })
	t.Logf("live %v after the server answered (it took %v to start)", time.Since(up), up.Sub(begun))
	s.CLI("XADD", "late", "*", "count", "3")
	servertest.Await(t, "a key written later", func() bool { x, ok := run.Reading("late"); return ok && feedtest.Used(x) == 3 })
}

// TestServerStopsAndComesBack kills the server while it is watched and starts it again,
// empty, on the same port.
func TestServerStopsAndComesBack(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now := s.Now()
	s.CLI("ZADD", "log", fmt.Sprint(int64(now)/1e3), "a")
	s.CLI("PEXPIRE", "log", "60000")
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond, Rules: []config.Rule{{Match: "*", Window: time.Second, Limit: limiter.Limit{Window: time.Second}}}})
	run := feedtest.Run(t, r)
	servertest.Await(t, "the first reading", func() bool { x, ok := run.Reading("log"); return ok && feedtest.Used(x) >= 0 })
	s.Kill()
	servertest.Await(t, "word of the loss", func() bool { return run.Last().Server.Link == model.Down })
	n := len(run.All())
	var down []model.Batch
	servertest.Await(t, "twelve batches without a server", func() bool {
		down = run.All()[n:]
		return len(down) >= 12
	})
	for i, b := range down {
		if b.Server.Link == model.Live || b.Server.Err == "" || len(b.Readings) > 0 {
			t.Errorf("batch %d without a server: link %v, sentence %q, %d readings", i, b.Server.Link, b.Server.Err, len(b.Readings))
		}
		if i > 0 && b.Server.Down <= down[i-1].Server.Down {
			t.Errorf("batch %d: down for %v after %v", i, b.Server.Down, down[i-1].Server.Down)
		}
	}
	s.Start()
	up := time.Now()
	servertest.Await(t, "the link", func() bool { return run.Last().Server.Link == model.Live })
	t.Logf("live again after %v", time.Since(up))
	before, _ := run.Reading("log")
	servertest.Await(t, "the next reading", func() bool {
		x, _ := run.Reading("log")
		return x.At > before.At && x.Type == "none" && feedtest.Used(x) == 0
	})
	servertest.Await(t, "the key to be given up", func() bool {
		return slices.Contains(run.Gone(), "log")
	})
}

// TestFrozenServer stops a server's process for ten seconds. The batches go on and say so,
// and counting goes on where it was.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("XADD", "k", "*", "count", "1")
	r := feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond, Rules: []config.Rule{hourRule("k", limiter.StreamCounter)}})
	run := feedtest.Run(t, r)
	servertest.Await(t, "the first reading", func() bool { x, ok := run.Reading("k"); return ok && feedtest.Used(x) == 1 })
	s.Freeze()
	begun := time.Now()
	servertest.Await(t, "word of the silence", func() bool {
		b := run.Last()
		return b.Server.Link == model.Down && strings.Contains(b.Server.Err, "does not answer")
	})
	t.Logf("the silence was told after %v", time.Since(begun))
	servertest.Await(t, "ten seconds of silence", func() bool {
		if b := run.Last(); b.Server.Link == model.Live || len(b.Readings) > 0 {
			t.Fatalf("a frozen server was read: link %v, %d readings", b.Server.Link, len(b.Readings))
		}
		return time.Since(begun) >= 10*time.Second
	})
	servertest.Await(t, "a server that is said to be down for nine seconds", func() bool { return run.Last().Server.Down >= 9*time.Second })
	s.Thaw()
	up := time.Now()
	servertest.Await(t, "the link", func() bool { return run.Last().Server.Link == model.Live })
	t.Logf("live again after %v", time.Since(up))
	s.CLI("XADD", "k", "*", "count", "4")
	servertest.Await(t, "the count to go on", func() bool { x, _ := run.Reading("k"); return feedtest.Used(x) == 5 && run.Came("k", false) == 5 })
}

// TestWhatGoesWrongIsSaid connects to servers that refuse in different ways.
func TestWhatGoesWrongIsSaid(t *testing.T) {
	t.Parallel()
	secret := "s3cr3t-Pa55"
	guarded := servertest.Start(t, "--requirepass", secret)
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := &http.Server{Handler: http.NotFoundHandler()}
	go site.Serve(web)
	t.Cleanup(func() { site.Close() })
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deaf.Close() })
	go func() {
		for {
			c, err := deaf.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, c)
		}
	}()
	for name, c := range map[string]struct{ url, want string }{
		"wrong password": {"redis://:wrong" + secret + "@" + guarded.Addr(), "refuses the user name or password"},
		"no password":    {guarded.URL(), "wants a password"},
		"not a Redis":    {"redis://" + web.Addr().String(), "is not a Redis"},
		"silent":         {"redis://" + deaf.Addr().String(), "does not answer"},
		"no such host":   {"redis://no-such-host.invalid:6379", "does not resolve"},
		"no such socket": {"unix:///nowhere/redis.sock", "no socket at"},
		"no such db":     {"redis://:" + secret + "@" + guarded.Addr() + "/99", "no database of that number"},
		"no TLS there":   {"rediss://:" + secret + "@" + guarded.Addr(), "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
			defer cancel()
			_, err := feed.OnceWithin(ctx, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{c.url}}), feed.Bounds{})
			if err == nil {
				t.Fatalf("%s can be read, want an error", c.url)
			}
			t.Log(err)
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q does not say %q in one line", err, c.want)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q gives the password away", err)
			}
		})
	}
}

// TestBadURLs are refused without giving a password away.
func TestBadURLs(t *testing.T) {
	for _, raw := range []string{
		"localhost:6379", "http://u:s3cr3t@h:80", "redis://u:s3cr3t@host:port", "redis://u:s3cr3t@h:6379/x", "redis://u:s3cr3t%zz@h",
		"redis+sentinel://u:s3cr3t@host:26379", "redis://:s3cr3t@h?max_retries=x&password=s3cr3t", "://", "",
	} {
		_, err := feed.NewRedis(feed.Options{Watch: feedtest.EveryKey, URLs: []string{raw}})
		if err == nil {
			t.Errorf("%q was accepted", raw)
			continue
		}
		if strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "does not parse") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// TestMissingPermissionsAreNamed watches as a user who may read some keys only.
func TestMissingPermissionsAreNamed(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("XADD", "open:a", "*", "count", "1")
	s.CLI("XADD", "shut:b", "*", "count", "1")
	s.CLI("ACL", "SETUSER", "eye", "on", ">pw", "%R~open:*", "+@read", "+scan", "+time", "+client|setname", "-info")
	url := "redis://eye:pw@" + s.Addr()
	b, got := feedtest.Once(t, feed.Options{URLs: []string{url}, Keys: []string{"open:a", "shut:b"}})
	if x := got["open:a"]; x.Err != "" || feedtest.Used(x) != 1 {
		t.Errorf("open:a: %q, used %d", x.Err, feedtest.Used(x))
	}
	if x := got["shut:b"]; !strings.Contains(x.Err, "ACL SETUSER") {
		t.Errorf("shut:b: %q does not name the missing permission", x.Err)
	}
	if b.Server.Link != model.Live {
		t.Errorf("link %v, %q", b.Server.Link, b.Server.Err)
	}
	b, got = feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}})
	if x := got["open:a"]; feedtest.Used(x) != 1 || len(got) != 1 {
		t.Errorf("of all keys, the one that may be read: %v", got)
	}
	if lacks := strings.Join(b.Server.Lacks, " "); !strings.Contains(lacks, "some keys cannot be looked at") || !strings.Contains(lacks, "%R~pattern") {
		t.Errorf("lacks are %q, want the keys that cannot be looked at, and the remedy", b.Server.Lacks)
	}
}

// TestWrongTypesAndGarbage are one sentence or note each.
func TestWrongTypesAndGarbage(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now := s.Now()
	s.CLI("SET", "a:string", "hello")
	s.CLI("LPUSH", "a:list", "x")
	for _, v := range []string{"-5", "0", "inf", "-inf", "1e300", "86400"} {
		s.CLI("ZADD", "a:garbage", v, "m"+v)
	}
	s.CLI("ZADD", "a:mixed", fmt.Sprint(int64(now)/1e3), "ok", "-7", "bad", fmt.Sprint(int64(now)/1e6), "seconds")
	s.CLI("ZADD", "a:future", fmt.Sprint(int64(now)/1e3), "now", fmt.Sprint(int64(now)/1e3+5_000_000), "later")
	_, got := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"a:*"}, Rules: []config.Rule{hourRule("a:*", limiter.SlidingLog)}})
	if x := got["a:string"]; x.Err != "holds a string, the rule says sliding-log (zset): correct --algorithm or its rule" || !slices.Contains(x.Notes, model.WrongType) {
		t.Errorf("a:string: %q, notes %v", x.Err, x.Notes)
	}
	if x := got["a:list"]; x.Err != "holds a list, the rule says sliding-log (zset): correct --algorithm or its rule" {
		t.Errorf("a:list: %q", x.Err)
	}
	if x := got["a:garbage"]; x.Err != "" || feedtest.Used(x) != 0 || !slices.Contains(x.Notes, model.GarbageScore) {
		t.Errorf("a:garbage: err %q, used %d, notes %v", x.Err, feedtest.Used(x), x.Notes)
	}
	if x := got["a:mixed"]; feedtest.Used(x) != 1 || !slices.Contains(x.Notes, model.GarbageScore) || !slices.Contains(x.Notes, model.MixedUnits) {
		t.Errorf("a:mixed: used %d, notes %v", feedtest.Used(x), x.Notes)
	}
	if x := got["a:future"]; !slices.Contains(x.Notes, model.FutureScore) {
		t.Errorf("a:future: notes %v", x.Notes)
	}
	s.CLI("SET", "b:count", "42", "EX", "3600")
	s.CLI("SET", "b:late", fmt.Sprint(now.Add(10*time.Hour).Millis()), "EX", "3600")
	// At the server and in one go: the key expires at this instant.
	s.CLI("EVAL", "local t = redis.call('TIME') return redis.call('SET', KEYS[1], ('%d'):format((t[1] + 600) * 1000000 + t[2]), 'PX', 600000)", "1", "b:tat")
	tat, _ := strconv.ParseInt(s.CLI("GET", "b:tat"), 10, 64)
	_, got = feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"b:*"}, Rules: []config.Rule{hourRule("b:*", limiter.GCRA)}})
	for key, want := range map[string]string{"b:count": "holds a number that is no theoretical arrival time", "b:late": "expire at their theoretical arrival time"} {
		if x := got[key]; !strings.Contains(x.Err, want) || !slices.Contains(x.Notes, model.WrongType) {
			t.Errorf("%s: %q, notes %v, want %q", key, x.Err, x.Notes, want)
		}
	}
	if x := got["b:tat"]; x.Err != "" || x.State.TAT != limiter.Instant(tat) || slices.Contains(x.Notes, model.WrongType) {
		t.Errorf("b:tat: %q, TAT %v, notes %v", x.Err, x.State.TAT, x.Notes)
	}
	_, got = feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}})
	if _, ok := got["a:string"]; ok {
		t.Error("a plain string was taken for a limiter")
	}
}

// TestHostileNames reads keys whose names try to break whatever shows or splits them.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	names := []string{
		"\x1b[2J\x1b]0;owned\a", "👩‍👩‍👧‍👦:ключ:鍵", "bad\xff\xfeutf8\x80", strings.Repeat("long", 1024), "{", "}", "{}", "{a}", "a{b}c",
		"*", "?[a-z]\\", "new\nline\r\n", "\x00nul", " ", "k:fw:", ":denied", "{x}:sw:abc", "$-1\r\n", `"quoted"`, "\u202ertl",
	}
	for _, n := range names {
		if err := c.XAdd(ctx, feedtest.XAdd(n, "2")).Err(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := redisstore.New(c, limiter.SlidingWindow, redisstore.WithDenials(), redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	// The rule tells the window, which nothing else does of a counter whose window is over when it is read.
	limit := limiter.Limit{Count: 1, Window: time.Minute}
	rule := config.Rule{Match: "*", Limit: limit, LimitKnown: true, Window: limit.Window}
	for _, n := range names {
		for range 2 {
			if _, err := l.AllowN(ctx, n+"#", limit, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Rules: []config.Rule{rule}})
	for _, n := range names {
		if x, ok := got[n]; !ok || feedtest.Used(x) != 2 {
			t.Errorf("stream %.40q: found %v, used %d", n, ok, feedtest.Used(x))
		}
		x, ok := got[n+"#"]
		if !ok || x.State.Current+x.State.Previous != 1 {
			t.Errorf("counter %.40q: found %v, %+v", n+"#", ok, x.State)
		}
		if x.Denied != (model.Count{Known: true, N: 1}) {
			t.Errorf("counter %.40q: denied %+v, want 1", n+"#", x.Denied)
		}
	}
	exact, _ := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Keys: names})
	if len(exact.Readings) != len(names) {
		t.Errorf("%d readings of %d exact names", len(exact.Readings), len(names))
	}
}

// TestAPatternThatMatchesNothing says so and keeps looking.
func TestAPatternThatMatchesNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"later:*"}, Refresh: 50 * time.Millisecond})
	run := feedtest.Run(t, r)
	servertest.Await(t, "a pass without a match", func() bool { b := run.Last(); return b.Sweep.Passes > 0 && b.Sweep.Matched == 0 })
	s.CLI("XADD", "later:x", "*", "count", "1")
	servertest.Await(t, "the key", func() bool { _, ok := run.Reading("later:x"); return ok })
	if b := run.Last(); b.Sweep.Matched != 1 || b.Sweep.Patterns[0] != "later:*" {
		t.Errorf("the sweep is %+v, want 1 key matched by later:*", b.Sweep)
	}
}

// TestUnixSocket watches through a socket.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/r.sock"
	s := servertest.Start(t, "--unixsocket", path)
	s.CLI("XADD", "k", "*", "count", "2")
	if _, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{"unix://" + path}}); feedtest.Used(got["k"]) != 2 {
		t.Errorf("over a Unix socket the readings are %+v, want k with 2 used", got)
	}
}

// TestALogOfThousandsIsExact reads a log that is large but not hot, entry by entry.
func TestALogOfThousandsIsExact(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	now := s.Now()
	p := c.Pipeline()
	for i := range 3000 {
		p.ZAdd(ctx, "z", feedtest.Z(float64(now.Add(-time.Duration(i)*10*time.Millisecond))/1e3, i))
	}
	if _, err := p.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	_, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Rules: []config.Rule{hourRule("z", limiter.SlidingLog)}})
	if x := got["z"]; feedtest.Used(x) != 3000 || x.Approximate || !x.ExactKnown {
		t.Errorf("used %d of 3000, approximate %v", feedtest.Used(x), x.Approximate)
	}
}

// TestHealth reads the server's own figures, and what a missing permission takes away.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--slowlog-log-slower-than", "0", "--latency-monitor-threshold", "1")
	s.CLI("EVAL", "local t = redis.call('TIME'); repeat local n = redis.call('TIME') until (n[1] - t[1]) * 1000000 + n[2] - t[2] > 20000", "0") // takes 20 ms
	s.CLI("EVAL", "return 1", "0")
	s.CLI("EVALSHA", strings.Repeat("a", 40), "0")
	look := func(url string) *model.Health {
		run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Watch: []string{"none:*"}, Refresh: 50 * time.Millisecond}))
		var h *model.Health
		servertest.Await(t, "a second look", func() bool {
			for _, b := range run.All() {
				if b.Health != nil && (b.Health.Over > 0 || len(b.Health.Missing) > 0) {
					h = b.Health
				}
			}
			return h != nil
		})
		run.Stop()
		return h
	}
	h := look(s.URL())
	if !h.MemoryUsed.Known || h.MemoryUsed.V < 100_000 || h.MemoryMax.V != 100<<20 || h.Policy != "allkeys-lru" {
		t.Errorf("memory %+v of %+v, policy %q, want at least 100,000 bytes of 100 MB, allkeys-lru", h.MemoryUsed, h.MemoryMax, h.Policy)
	}
	if !h.Ops.Known || h.Ops.V <= 0 || h.Ops.V > 2000 || !h.Clients.Known || h.Clients.V < 1 || !h.CPU.Known || !h.NetOut.Known {
		t.Errorf("ops %+v, clients %+v, CPU %+v, out %+v, want all known, 1 to 2000 ops a second and a client", h.Ops, h.Clients, h.CPU, h.NetOut)
	}
	if len(h.Commands) == 0 || !h.Commands[0].Scripts || h.Commands[0].Total < 1 {
		t.Errorf("the commands are %+v, want those that run scripts first", h.Commands)
	}
	if i := slices.IndexFunc(h.Errors, func(e model.ErrorStat) bool { return e.Name == "NOSCRIPT" }); i < 0 || h.Errors[i].Total != 1 {
		t.Errorf("the errors are %+v, want 1 NOSCRIPT", h.Errors)
	}
	if len(h.Slow) == 0 || h.Slow[0].Command == "" {
		t.Errorf("the slow log is %+v, want entries with their commands", h.Slow)
	}
	if !h.Scripts.Known || h.Scripts.V < 2 || !h.Unsaved.Known || h.Saving || len(h.SaveFailed) > 0 {
		t.Errorf("scripts %+v, unsaved %+v, saving %v, failed %q, want at least 2 scripts and no saving", h.Scripts, h.Unsaved, h.Saving, h.SaveFailed)
	}
	// On a busy machine other events may have been slow, too.
	if i := slices.IndexFunc(h.Spikes, func(s model.Spike) bool { return s.Event == "command" }); i < 0 || h.Spikes[i].Most < 20*time.Millisecond || h.Spikes[i].At == 0 {
		t.Errorf("the spikes are %+v, want one of commands of at least 20 ms", h.Spikes)
	}
	s.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "+@all", "-info", "-slowlog", "-latency")
	h = look("redis://eye:pw@" + s.Addr())
	if len(h.Missing) != 3 || !strings.Contains(h.Missing[0], "+info") || !strings.Contains(h.Missing[1], "+latency") || !strings.Contains(h.Missing[2], "+slowlog") {
		t.Errorf("missing permissions are %q, want +info, +latency and +slowlog", h.Missing)
	}
	if h.MemoryUsed.Known || h.Ops.Known {
		t.Errorf("figures that no server gave: %+v", h)
	}
}

// TestWritersAheadOfTheServer: a writer whose clock is 3 s ahead, in a log and in a stream:
// the notes say so, with the size, on a real server.
func TestWritersAheadOfTheServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"a:*"}, Rules: []config.Rule{hourRule("a:*", 0)}, Refresh: 50 * time.Millisecond}))
	c := s.Client()
	ctx := context.Background()
	want := func(key, kind string) bool {
		x, ok := run.Reading(key)
		return ok && slices.Contains(x.Notes, model.FutureScore) && slices.ContainsFunc(x.Notes, func(n model.Note) bool {
			text := string(n)
			return strings.HasPrefix(text, kind+" up to 3.0 s in the future") || strings.HasPrefix(text, kind+" up to 2.9 s in the future")
		})
	}
	servertest.Await(t, "the notes", func() bool {
		at := time.Now().Add(3 * time.Second)
		c.ZAdd(ctx, "a:log", redis.Z{Score: float64(at.UnixMicro()), Member: at.UnixNano()})
		c.XAdd(ctx, &redis.XAddArgs{Stream: "a:stream", ID: fmt.Sprintf("%d-*", at.UnixMilli()), Values: []string{"count", "1"}})
		return want("a:log", "scores") && want("a:stream", "ids")
	})
}
