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
// crash, no number may be wrong once the network is well, and nothing may be left behind.
func TestAHarmfulNetwork(t *testing.T) {
	s := servertest.Start(t)
	before := goleak.IgnoreCurrent()
	p := servertest.StartProxy(t, s.Addr())
	for i := range 20 {
		s.CLI("XADD", "k:"+string(rune('a'+i)), "*", "count", "2")
	}
	r, err := feed.NewRedis(feed.Options{Watch: feedtest.EveryKey, URLs: []string{"redis://" + p.Listener.Addr().String()}, Refresh: 30 * time.Millisecond,
		Rules: []config.Rule{hourRule("k:*", limiter.StreamCounter)}})
	if err != nil {
		t.Fatal(err)
	}
	run := feedtest.Run(t, r)
	live := func() bool {
		b := run.Last()
		return b.Server.Link == model.Live && len(b.Readings) == 20 && time.Since(b.Local) < 200*time.Millisecond
	}
	servertest.Await(t, "twenty readings", live)
	for name, harm := range map[string]func(*servertest.Proxy){
		"delayed by 300 ms": func(p *servertest.Proxy) { p.Delay = 300 * time.Millisecond },
		"cut":               func(p *servertest.Proxy) { p.Cut = 700 },
		"garbled":           func(p *servertest.Proxy) { p.Flip = true },
		"swallowed":         func(p *servertest.Proxy) { p.Drop = true },
	} {
		p.Set(harm)
		p.HangUp()
		harmed := run.Count()
		servertest.Await(t, "forty batches while the network was "+name, func() bool { return run.Count() >= harmed+40 })
		p.Set(func(*servertest.Proxy) {})
		p.HangUp()
		well := time.Now()
		servertest.Await(t, "readings after the network was "+name, live)
		t.Logf("%s: well again after %v", name, time.Since(well))
		servertest.Await(t, "the right numbers after the network was "+name, func() bool {
			for i := range 20 {
				if x, ok := run.Reading("k:" + string(rune('a'+i))); !ok || feedtest.Used(x) != 2 || x.Err != "" {
					return false
				}
			}
			return true
		})
	}
	run.Stop()
	r.Close()
	p.Close()
	servertest.Await(t, "nothing to be left behind", func() bool { return goleak.Find(before) == nil }) // a pool dials on for a second
}
