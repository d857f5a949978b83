package servertest

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a source and its server and does harm on the way back.
type Proxy struct {
	Listener net.Listener
	target   string

	mu    sync.Mutex
	Delay time.Duration
	Rate  int  // bytes a second that pass in each direction; 0 all
	Cut   int  // bytes after which a connection is cut; 0 never
	Flip  bool // change bytes
	Drop  bool // swallow everything
	Hold  bool // let nothing pass until it is over, and lose nothing
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Listener: l, target: target, conns: map[net.Conn]bool{}}
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

func (p *Proxy) Close() {
	p.Listener.Close()
	p.HangUp()
	p.all.Wait()
}

func (p *Proxy) HangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) Set(f func(*Proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Delay, p.Rate, p.Cut, p.Flip, p.Drop, p.Hold = 0, 0, 0, false, false, false
	f(p)
}

func (p *Proxy) serve(c net.Conn) {
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
		io.Copy(narrow{up, p}, c)
		up.Close()
	})
	p.delay(c, up)
}

// narrow writes as fast as the proxy lets bytes pass: a packet at a time.
type narrow struct {
	io.Writer
	p *Proxy
}

func (n narrow) Write(data []byte) (int, error) {
	for sent := 0; sent < len(data); {
		n.p.mu.Lock()
		for n.p.Hold {
			n.p.mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			n.p.mu.Lock()
		}
		rate, part := n.p.Rate, data[sent:]
		n.p.mu.Unlock()
		if rate > 0 {
			part = part[:min(len(part), 1000)]
			time.Sleep(time.Second * time.Duration(len(part)) / time.Duration(rate))
		}
		if _, err := n.Writer.Write(part); err != nil {
			return sent, err
		}
		sent += len(part)
	}
	return len(data), nil
}

// delayed is bytes on their way back, and when they arrive.
type delayed struct {
	due  time.Time
	data []byte
	last bool // the connection is cut behind them
}

// delay hands on what the server answers, a while later: a long way, and not a narrow one. Bytes
// that are on the way do not hold up those behind them.
func (p *Proxy) delay(c, up net.Conn) {
	way, written := make(chan delayed, 1000), make(chan struct{})
	p.all.Go(func() {
		defer close(written)
		for d := range way {
			time.Sleep(time.Until(d.due))
			if _, err := (narrow{c, p}).Write(d.data); err != nil || d.last {
				break
			}
		}
		up.Close() // which ends the reading below
		for range way {
		}
	})
	defer func() { close(way); <-written }()
	sent := 0
	for {
		buf := make([]byte, 4096)
		n, err := up.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, cut, flip, drop := p.Delay, p.Cut, p.Flip, p.Drop
		p.mu.Unlock()
		if drop {
			continue
		}
		if flip {
			for range 3 {
				buf[rand.IntN(n)] = byte(rand.IntN(256))
			}
		}
		d := delayed{due: time.Now().Add(delay), data: buf[:n]}
		if cut > 0 && sent+n > cut {
			d.data, d.last = buf[:max(cut-sent, 0)], true
			way <- d
			return
		}
		sent += n
		way <- d
	}
}
