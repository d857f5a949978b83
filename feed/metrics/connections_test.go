package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/feed/metrics"
	"ratescope/feed/relay"
	"ratescope/limiter"
	"ratescope/model"
)

// pipes is a listener within the process, so that time is virtual.
type pipes struct {
	clients chan net.Conn
	closed  chan struct{}
	open    atomic.Int32 // accepted, and not closed by the server
}

// counted is an accepted connection.
type counted struct {
	net.Conn
	of   *pipes
	once atomic.Bool
}

func (c *counted) Close() error {
	if !c.once.Swap(true) {
		c.of.open.Add(-1)
	}
	return c.Conn.Close()
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.clients:
		p.open.Add(1)
		return &counted{Conn: c, of: p}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects, sends text and reads nothing.
func (p *pipes) dial(text string) net.Conn {
	client, server := net.Pipe()
	p.clients <- server
	go func() { _, _ = io.WriteString(client, text) }()
	return client
}

// TestScrapesHaveAPlace beside hundreds of connections that hold theirs: a scrape is answered at once,
// and no more connections are open than --max-connections says.
func TestScrapesHaveAPlace(t *testing.T) {
	frames := "GET " + relay.Path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, texts := range map[string][]string{
		"readers of the stream":    {frames},
		"half a request":           {"GET /metrics HTTP/1.1\r\nHost: loc"},
		"nothing":                  {""},
		"half a body":              {"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1"},
		"pages that are not read":  {"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		"kept for another request": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
		"all of it":                {frames, "", "GET", frames, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipes{clients: make(chan net.Conn), closed: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				c := metrics.New(metrics.Options{})
				var many []model.Reading
				for i := range 100 {
					many = append(many, log(fmt.Sprint("rl:", i), i, 100))
				}
				c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Link: model.Live}, Readings: many})
				ended := make(chan error, 1)
				go func() { ended <- metrics.Serve(ctx, idle{}, p, c) }()
				var held []net.Conn
				for i := range 500 {
					held = append(held, p.dial(texts[i%len(texts)]))
				}
				time.Sleep(2 * time.Second) // one connection more is open while it looks for a place
				synctest.Wait()
				if open := p.open.Load(); open > metrics.DefaultConnections {
					t.Errorf("%d connections are open, want at most %d", open, metrics.DefaultConnections)
				}
				transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial(""), nil }}
				for range 3 {
					began := time.Now()
					answer, err := (&http.Client{Transport: transport}).Get("http://localhost/metrics")
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(answer.Body)
					answer.Body.Close()
					if took := time.Since(began); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "ratescope_up 1") || took > time.Second {
						t.Errorf("the scrape is answered %s after %v with %v", answer.Status, took, err)
					}
					transport.CloseIdleConnections()
				}
				for _, c := range held {
					c.Close()
				}
				cancel()
				<-ended
			})
		})
	}
}
