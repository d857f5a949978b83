//go:build unix

package cmd

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// TestSignals: each of them ends the context, so that a screen leaves the terminal as it was, also
// SIGQUIT, which would end a Go program with a trace over a raw terminal. SIGTERM alone is what a
// service manager sends.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		ctx, stop := untilSignal()
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if terminated(ctx) != (s == syscall.SIGTERM) {
			t.Errorf("%v: the cause is %v", s, context.Cause(ctx))
		}
		stop()
	}
}
