package metrics_test

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"ratescope/feed/metrics"
)

// pipes is a listener whose clients are there at once, until it is closed.
type pipes struct{ closed atomic.Bool }

func (p *pipes) Accept() (net.Conn, error) {
	if p.closed.Load() {
		return nil, net.ErrClosed
	}
	_, server := net.Pipe()
	return server, nil
}
func (p *pipes) Close() error   { p.closed.Store(true); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestConnectionsAreBounded: as many connections as --max-connections says are accepted, and a
// further one when one of them is closed.
func TestConnectionsAreBounded(t *testing.T) {
	for asked, want := range map[int]int{2: 2, 0: metrics.DefaultConnections} {
		synctest.Test(t, func(t *testing.T) {
			listen, err := metrics.Access{Connections: asked}.Listen(&pipes{})
			if err != nil {
				t.Fatal(err)
			}
			accepted := make(chan net.Conn, 2*want)
			go func() {
				for {
					c, err := listen.Accept()
					if err != nil {
						return
					}
					accepted <- c
				}
			}()
			synctest.Wait()
			if len(accepted) != want {
				t.Errorf("with %d: %d connections were accepted, want %d", asked, len(accepted), want)
			}
			(<-accepted).Close()
			synctest.Wait()
			if len(accepted) != want {
				t.Errorf("with %d: after one was closed there are %d, want %d", asked, len(accepted), want)
			}
			listen.Close()
			synctest.Wait()
		})
	}
}
