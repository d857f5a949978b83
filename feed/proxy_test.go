package feed

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratescope/limiter"
	"ratescope/model"
)

// proxy stands between a source and its server and does harm on the way back.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	delay time.Duration
	cut   int  // bytes after which a connection is cut; 0 never
	flip  bool // change bytes
	drop  bool // swallow everything
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(c) })
		}
	})
	return p
}

func (p *proxy) close() {
	p.listener.Close()
	p.hangUp()
	p.all.Wait()
}

func (p *proxy) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) set(f func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.cut, p.flip, p.drop = 0, 0, false, false
	f(p)
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.conns[c], p.conns[up] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, c)
		delete(p.conns, up)
		p.mu.Unlock()
	}()
	p.all.Go(func() {
		io.Copy(up, c)
		up.Close()
	})
	buf, sent := make([]byte, 4096), 0
	for {
		n, err := up.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, cut, flip, drop := p.delay, p.cut, p.flip, p.drop
		p.mu.Unlock()
		time.Sleep(delay)
		if drop {
			continue
		}
		if flip {
			for range 3 {
				buf[rand.IntN(n)] = byte(rand.IntN(256))
			}
		}
		if cut > 0 && sent+n > cut {
			n = max(cut-sent, 0)
			c.Write(buf[:n])
			return
		}
		sent += n
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestAHarmfulNetwork delays, cuts, garbles and swallows what the server says. Nothing may
// crash, no number may be wrong once the network is well, and nothing may be left behind.
func TestAHarmfulNetwork(t *testing.T) {
	s := startServer(t)
	before := goleak.IgnoreCurrent()
	p := startProxy(t, s.addr())
	for i := range 20 {
		s.cli("XADD", "k:"+string(rune('a'+i)), "*", "count", "2")
	}
	r, err := NewRedis(Options{URLs: []string{"redis://" + p.listener.Addr().String()}, Refresh: 30 * time.Millisecond,
		Rules: []Rule{minuteRule("k:*", limiter.StreamCounter)}})
	if err != nil {
		t.Fatal(err)
	}
	run := runSource(t, r)
	live := func() bool {
		b := run.last()
		return b.Server.Link == model.Live && len(b.Readings) == 20 && time.Since(b.Local) < 200*time.Millisecond
	}
	within(t, 5*time.Second, "twenty readings", live)
	for name, harm := range map[string]func(*proxy){
		"delayed by 300 ms": func(p *proxy) { p.delay = 300 * time.Millisecond },
		"cut":               func(p *proxy) { p.cut = 700 },
		"garbled":           func(p *proxy) { p.flip = true },
		"swallowed":         func(p *proxy) { p.drop = true },
	} {
		p.set(harm)
		p.hangUp()
		time.Sleep(1200 * time.Millisecond)
		p.set(func(*proxy) {})
		p.hangUp()
		well := time.Now()
		within(t, 4*time.Second, "readings after the network was "+name, live)
		if d := time.Since(well); d > 2500*time.Millisecond {
			t.Errorf("%s: well again after %v", name, d)
		}
		within(t, 2*time.Second, "the right numbers after the network was "+name, func() bool {
			for i := range 20 {
				if x, ok := run.reading("k:" + string(rune('a'+i))); !ok || used(x) != 2 || x.Err != "" {
					return false
				}
			}
			return true
		})
	}
	run.stop()
	r.Close()
	p.close()
	goleak.VerifyNone(t, before)
}
