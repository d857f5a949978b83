//go:build drill

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
)

// A drill takes half an hour, so that it is no part of make test:
//
//	go test ./tui/e2e -tags drill -run TestLinkDrill -timeout 45m -v

// link is what a minute of the drill does to the link.
type link struct {
	name string
	set  func(*servertest.Proxy)
	trip time.Duration // 0 where the rtt has no one value
	// hold is for how long nothing passes, twice in the minute; 0 never. cut says that connections are cut, six times.
	hold time.Duration
	cut  bool
}

func delayed(d time.Duration) link {
	return link{name: d.String(), trip: d, set: func(p *servertest.Proxy) { p.Delay = d }}
}

func narrow(d time.Duration) link {
	return link{name: "64 kB/s", set: func(p *servertest.Proxy) { p.Delay, p.Rate = d, 64_000 }}
}

func stalls(hold, d time.Duration) link {
	l := delayed(d)
	l.name, l.hold = fmt.Sprintf("stalls of %v at %v", hold, d), hold
	return l
}

func cuts(d time.Duration) link {
	l := delayed(d)
	l.name, l.cut = "cuts at "+d.String(), true
	return l
}

const ms = time.Millisecond

// minutes are the link's, one after the other.
var minutes = []link{
	delayed(5 * ms), delayed(500 * ms), delayed(20 * ms), delayed(1500 * ms), narrow(20 * ms), delayed(5 * ms), stalls(700*ms, 5*ms),
	cuts(20 * ms), delayed(150 * ms), narrow(200 * ms), stalls(5*time.Second, 20*ms), delayed(1000 * ms), delayed(50 * ms), cuts(300 * ms),
	stalls(8*time.Second, 300*ms), delayed(1500 * ms), delayed(5 * ms), narrow(5 * ms), narrow(500 * ms), delayed(100 * ms), stalls(900*ms, 100*ms),
	cuts(1000 * ms), delayed(800 * ms), delayed(350 * ms), narrow(20 * ms), stalls(5*time.Second, 1000*ms), delayed(200 * ms), delayed(1500 * ms),
	delayed(20 * ms), delayed(5 * ms),
}

// span is a time in which something was so, or was said to be so.
type span struct {
	what     string // down, sick, storm, throttled, or the name of another alert
	from, to time.Time
}

// drill collects what was so and what was said.
type drill struct {
	t     *testing.T
	begun time.Time
	file  *os.File
	mu    sync.Mutex
	true_ []span
	said  []span
}

func (d *drill) logf(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.file, "%7.1f %s\n", time.Since(d.begun).Seconds(), fmt.Sprintf(format, args...))
}

// is notes that something is so from now on; the function that it returns ends it.
func (d *drill) is(what string) (over func()) {
	d.logf("TRUE  %s", what)
	from := time.Now()
	return func() {
		d.logf("OVER  %s", what)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.true_ = append(d.true_, span{what, from, time.Now()})
	}
}

func (d *drill) say(what string) {
	d.logf("SAID  %s", what)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, span{what: what, from: time.Now()})
}

// TestLinkDrill watches living limiters of several layouts for half an hour over a link that changes every minute. Nothing is
// told that is not so: no server that is away, no sick key, no storm, no page. What is so is told.
func TestLinkDrill(t *testing.T) {
	s := startRedis(t)
	file, err := os.Create(filepath.Join(os.TempDir(), "ratescope-link-drill.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := &drill{t: t, begun: time.Now(), file: file}
	p := servertest.StartProxy(t, s.Addr())
	defer p.Close()
	url := "redis://" + p.Listener.Addr().String()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	storm, began := make(chan bool, 1), make(chan bool)
	all.Go(func() {
		living(ctx, redis.NewClient(&redis.Options{Addr: s.Addr(), DisableIdentity: true}), storm, began)
	})
	<-began

	h := newHook(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	var text strings.Builder
	text.WriteString("rules:\n  - {match: 'rl:*', algorithm: sliding-log, limit: 100/1m}\n  - {match: 'count:*', algorithm: fixed-window, limit: 1000/1m}\n" +
		"  - {match: 'rate:*', limit: 50/10s}\nalerts:\n")
	for _, a := range []string{
		"name: throttled, match: 'rl:*', when: utilization >= 1, for: 2s, severity: page", "name: sick, when: sick", "name: down, when: no_data, for: 2s",
		"name: errors, when: errors_per_s > 0", "name: forgotten, when: forgotten", "name: skew, when: skew_ms >= 250", "name: evictions, when: evictions_per_s > 0",
	} {
		fmt.Fprintf(&text, "  - {%s, webhook: '%s'}\n", a, h.URL)
	}
	servertest.WriteFile(t, config, text.String())
	var says output
	cmd := exec.Command(program, "watch", "--alerts", "--redis", url, "--config", config)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(t), &says, &says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }()
	all.Go(func() { d.follow(ctx, h, &says) })

	term := openTerminal(t, 180, 44)
	term.run("cd %s && %s --redis %s --config %s", dir, program, url, config)
	p.Set(minutes[0].set)
	term.wait("LIVE")
	all.Go(func() { d.look(ctx, term) })

	for i, m := range minutes {
		if only := os.Getenv("DRILL"); only != "" && !strings.Contains(only+",", fmt.Sprint(",", i, ",")) {
			continue
		}
		d.logf("LINK  minute %d: %s", i, m.name)
		p.Set(m.set)
		d.minute(i, m, p, s, storm)
	}
	stop()
	all.Wait()
	d.judge()
}

// minute lets one minute pass on the link, with the faults that its arguments name.
func (d *drill) minute(i int, m link, p *servertest.Proxy, s redisServer, storm chan<- bool) {
	ends := time.Now().Add(time.Minute)
	at := func(sec int) { time.Sleep(time.Until(ends.Add(time.Duration(sec-60) * time.Second))) }
	hold := func() {
		over := func() {}
		if m.hold > time.Second {
			over = d.is("down")
		}
		p.Set(func(p *servertest.Proxy) { m.set(p); p.Hold = true })
		time.Sleep(m.hold)
		p.Set(m.set)
		over()
	}
	switch {
	case m.hold > 0:
		at(20)
		hold()
		at(40)
		hold()
	case m.cut:
		for n := range 6 {
			at(5 + 10*n)
			d.logf("CUT")
			p.HangUp()
		}
	case i%5 == 3 || i%5 == 1:
		at(15)
		over := d.is("throttled")
		now := s.now(d.t).UnixMilli()
		add := []string{"EVAL", "redis.call('ZADD', KEYS[1], unpack(ARGV)) redis.call('PEXPIRE', KEYS[1], 60000)", "1", "rl:hot"}
		for n := range 100 {
			add = append(add, strconv.FormatInt(now, 10), fmt.Sprintf("m%d", n))
		}
		s.cli(d.t, add...)
		at(40)
		s.cli(d.t, "ZREMRANGEBYRANK", "rl:hot", "0", "60")
		over()
	case i%5 == 4:
		at(10)
		over := d.is("sick")
		s.cli(d.t, "SET", "rl:bad", "abc", "EX", "600")
		at(40)
		s.cli(d.t, "DEL", "rl:bad")
		over()
	case i%5 == 2:
		at(5)
		over := d.is("storm")
		storm <- true
		at(55)
		storm <- false
		over()
	}
	at(60)
}

// living makes the traffic of limiters of several layouts: about sixty requests a second that each write.
func living(ctx context.Context, c *redis.Client, storm <-chan bool, began chan<- bool) {
	rate := redis.NewScript(`local t = redis.call('TIME') local now = t[1] - 1483228800 + t[2] / 1000000
		local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + 0.2
		if tat - now > 10 then return 0 end
		redis.call('SET', KEYS[1], tostring(tat), 'EX', math.ceil(tat - now)) return 1`)
	count := redis.NewScript(`local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end return n`)
	log := redis.NewScript(`local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
		redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 60000)
		if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
		redis.call('ZADD', KEYS[1], now, t[1] .. t[2]) redis.call('PEXPIRE', KEYS[1], 60000) return 1`)
	tat := redis.NewScript(`local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
		local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + 600000
		redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000)) return 1`)
	for i := range 100 { // of go-redisstore
		c.HSet(ctx, "store:"+strconv.Itoa(i), "s", time.Now().UnixNano(), "t", 0, "k", 7, "m", 10)
		c.PExpire(ctx, "store:"+strconv.Itoa(i), 3*time.Hour)
	}
	for _, script := range []*redis.Script{rate, count, log, tat} { // no NOSCRIPT is answered
		script.Load(ctx, c)
	}
	close(began)
	denied, tick, quick := false, time.Tick(16*time.Millisecond), time.Tick(25*time.Millisecond)
	for {
		who := strconv.Itoa(rand.IntN(300))
		select {
		case <-ctx.Done():
			return
		case denied = <-storm:
		case <-quick:
			if denied {
				log.Run(ctx, c, []string{"rl:storm"}, 1)
			}
		case <-tick:
			switch rand.IntN(6) {
			case 0:
				rate.Run(ctx, c, []string{"rate:user" + who})
			case 1:
				count.Run(ctx, c, []string{"count:" + who})
			case 2, 3:
				log.Run(ctx, c, []string{"rl:" + who}, 100)
			case 4: // a form of its own, which no rule names
				tat.Run(ctx, c, []string{"gcra:" + who})
			default: // of gin-rate-limit
				pipe, now := c.Pipeline(), time.Now().Unix()
				pipe.Incr(ctx, "10.0.0."+who+"/api/hits")
				pipe.Set(ctx, "10.0.0."+who+"/api/ts", now, 0)
				pipe.Expire(ctx, "10.0.0."+who+"/api/hits", 2*time.Hour)
				pipe.Expire(ctx, "10.0.0."+who+"/api/ts", 2*time.Hour)
				_, _ = pipe.Exec(ctx)
			}
		}
	}
}

// follow notes what the webhook gets and what the program writes.
func (d *drill) follow(ctx context.Context, h *hook, says *output) {
	posts, lines := 0, 0
	for range time.Tick(50 * time.Millisecond) {
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		news := h.got[posts:]
		posts = len(h.got)
		h.mu.Unlock()
		for _, n := range news {
			if d.logf("POST  %v", n); n["state"] == "firing" {
				d.say(fmt.Sprint(n["alert"]))
			}
		}
		text := strings.Split(says.String(), "\n")
		for ; lines < len(text)-1; lines++ {
			d.logf("LOG   %s", text[lines])
		}
	}
}

// look notes what the dashboard says, when it says something else than before.
func (d *drill) look(ctx context.Context, term *terminal) {
	words := map[string]string{"DOWN": "down", "CONNECTING": "connecting", "changed nothing": "storm", "does not work": "sick", "unreadable": "sick", "forgot": "forgotten"}
	was := map[string]bool{}
	for n := 0; ctx.Err() == nil; n++ {
		screen := term.screen()
		for word, what := range words {
			is := strings.Contains(screen, word)
			if is != was[word] {
				if was[word] = is; is {
					d.say(what)
				}
				d.logf("SCREEN %q %v\n%s", word, is, screen)
			}
		}
		if n%40 == 0 {
			d.logf("HEAD  %s", strings.Join(strings.SplitN(screen, "\n", 4)[:3], "\n              "))
		}
		time.Sleep(250 * time.Millisecond)
	}
}

// judge holds what was said to what was so.
func (d *drill) judge() {
	d.mu.Lock()
	defer d.mu.Unlock()
	const late = 12 * time.Second
	for _, s := range d.said {
		so := false
		for _, is := range d.true_ {
			so = so || is.what == s.what && s.from.After(is.from) && s.from.Before(is.to.Add(late))
		}
		if !so {
			d.t.Errorf("%.1f: %s was said and is not so", s.from.Sub(d.begun).Seconds(), s.what)
		}
	}
	for _, is := range d.true_ {
		told := false
		for _, s := range d.said {
			told = told || is.what == s.what && s.from.After(is.from) && s.from.Before(is.to.Add(late))
		}
		if !told {
			d.t.Errorf("%.1f: %s was so, and nothing said so", is.from.Sub(d.begun).Seconds(), is.what)
		}
	}
}
