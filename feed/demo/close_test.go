package demo

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"ratescope/feed/watch"
)

// TestCloseBearsCommandsUnderWay closes the demo while clients ask it for INFO, as the last question of a
// dashboard that is closed may still be on its way: nothing panics, and every client is let go.
func TestCloseBearsCommandsUnderWay(t *testing.T) {
	for range 20 {
		e, err := New(watch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var clients sync.WaitGroup
		for range 8 {
			c, err := net.Dial("tcp", e.server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			clients.Go(func() {
				for {
					if _, err := io.WriteString(c, strings.Repeat("*1\r\n$4\r\nINFO\r\n", 100)); err != nil {
						return
					}
				}
			})
			clients.Go(func() {
				_, _ = io.Copy(io.Discard, c) // until the server ends
				c.Close()
			})
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		clients.Wait()
	}
}
