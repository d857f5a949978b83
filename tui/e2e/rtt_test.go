package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// TestRoundTripIsOneFigure: after the link has become slow, and slower, the header, screen 4, the capsule and the exporter
// tell the new round trip.
func TestRoundTripIsOneFigure(t *testing.T) {
	t.Parallel()
	s := startRedis(t, "--save", "", "--appendonly", "no")
	s.cli(t, "SET", "rl:calm", "1", "EX", "3600")
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	p.Set(func(p *servertest.Proxy) { p.Delay = 20 * time.Millisecond })
	url, dir := "redis://"+p.Listener.Addr().String(), t.TempDir()

	var says output
	export := exec.Command(program, "export", "--listen", "127.0.0.1:0", "--redis", url, "--watch", "rl:*", "--limit", "10/1h")
	export.Env, export.Stderr = environment(t), &says
	if err := export.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = export.Process.Kill(); _ = export.Wait() })
	term := openTerminal(t, 160, 40)
	term.run("cd %s && %s --redis %s --watch 'rl:*' --limit 10/1h", dir, program, url)
	term.wait("LIVE", "rl:calm")

	// figure returns what an expression finds, as a duration of a unit; 0 where there is none.
	figure := func(expression, text string) time.Duration {
		found := regexp.MustCompile(expression).FindStringSubmatch(text)
		if found == nil {
			return 0
		}
		n, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		unit := map[string]float64{"": 1e9, "s": 1e9, "ms": 1e6}[found[2]]
		return time.Duration(n * unit)
	}
	scraped := func() string {
		at := regexp.MustCompile(`http://\S+`).FindString(says.String())
		answer, err := http.Get(at)
		if err != nil {
			return ""
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return ""
		}
		return string(text)
	}
	for nth, delay := range []time.Duration{20 * time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond} {
		p.Set(func(p *servertest.Proxy) { p.Delay = delay })
		about := func(d time.Duration) bool { return d >= delay && d < delay*3/2+50*time.Millisecond }
		for where, told := range map[string]func() time.Duration{
			"the header": func() time.Duration { return figure(`rtt ([\d.]+)(ms|s)`, term.screen()) },
			"the exporter": func() time.Duration {
				return figure(`\nratescope_\w*round_trip_seconds(?:\{.*\})? ([\d.e+-]+)()\n`, scraped())
			},
		} {
			begun := time.Now()
			servertest.Await(t, fmt.Sprintf("%s tells a round trip of %v", where, delay), func() bool { return about(told()) })
			t.Logf("%v: %s tells %v after %v", delay, where, told(), time.Since(begun))
		}
		term.press("4")
		term.wait("latency")
		servertest.Await(t, fmt.Sprintf("screen 4 tells a round trip of %v", delay), func() bool {
			return about(figure(`latency [ ─]+([\d.]+)(ms|s)`, term.screen()))
		})
		term.press("1")
		term.wait("keys 1")
		capsule := saveCapsule(t, term, dir, nth+1)
		if got := figure(`round trip ([\d.]+)(ms|s)`, content(t, capsule, "summary.md")); !about(got) {
			t.Errorf("%v: the capsule's summary tells %v", delay, got)
		}
	}
	term.press("q")
	term.settled()
}
