package watch_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestAHarmfulNetwork delays, cuts, garbles and swallows what the server says. Nothing may
// crash, no number may be wrong once the network is well, and nothing may be left behind. Only
// its own parts run beside each other, since another test leaves goroutines of its own.
func TestAHarmfulNetwork(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("harm", func(t *testing.T) {
		for name, harm := range map[string]func(*servertest.Proxy){
			"delayed by 300 ms": func(p *servertest.Proxy) { p.Delay = 300 * time.Millisecond },
			"cut":               func(p *servertest.Proxy) { p.Cut = 700 },
			"garbled":           func(p *servertest.Proxy) { p.Flip = true },
			"swallowed":         func(p *servertest.Proxy) { p.Drop = true },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				watchHarmed(t, harm)
			})
		}
	})
	servertest.Await(t, "nothing to be left behind", func() bool { return goleak.Find(before) == nil }) // a pool dials on for a second
}

// watchHarmed watches over a network that is well, then does harm, then is well again.
func watchHarmed(t *testing.T, harm func(*servertest.Proxy)) {
	s := servertest.Start(t)
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	for i := range 20 {
		s.CLI("XADD", "k:"+string(rune('a'+i)), "*", "count", "2")
	}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{"redis://" + p.Listener.Addr().String()},
		Refresh: 30 * time.Millisecond, Rules: []config.Rule{hourRule("k:*", limiter.StreamCounter)}}))
	live := func() bool {
		b := run.Last()
		return b.Server.Link == model.Live && len(b.Readings) == 20 && time.Since(b.Local) < 200*time.Millisecond
	}
	servertest.Await(t, "twenty readings", live)
	p.Set(harm)
	p.HangUp()
	harmed := run.Count()
	servertest.Await(t, "forty batches while the network did harm", func() bool { return run.Count() >= harmed+40 })
	p.Set(func(*servertest.Proxy) {})
	p.HangUp()
	well := time.Now()
	servertest.Await(t, "readings after the harm", live)
	t.Logf("well again after %v", time.Since(well))
	servertest.Await(t, "the right numbers after the harm", func() bool {
		for i := range 20 {
			if x, ok := run.Reading("k:" + string(rune('a'+i))); !ok || feedtest.Used(x) != 2 || x.Err != "" {
				return false
			}
		}
		return true
	})
}
