package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ratescope/internal/servertest"
)

// TestThreeWatchersPageOnce: a dashboard, watch and an exporter, each told of the same server in another way, post the same
// dedup_key about the same alert: about one key, about several that begin together, about the server, and when it is over.
func TestThreeWatchersPageOnce(t *testing.T) {
	t.Parallel()
	s := startRedis(t, "--save", "", "--appendonly", "no")
	names := []string{"dashboard", "watch", "export"}
	hooks, configs, dir := map[string]*hook{}, map[string]string{}, t.TempDir()
	for _, name := range names {
		hooks[name], configs[name] = newHook(t), filepath.Join(dir, name+".yaml")
		text := fmt.Sprintf("rules: [{match: 'rl:*', algorithm: fixed-window, limit: 10/1h}]\ntargets: {prod: {redis: '%s'}}\nalerts:\n", s.URL())
		for _, alert := range []string{"name: full, match: 'rl:*', when: utilization >= 1, for: 200ms", "name: down, when: no_data, for: 200ms"} {
			text += fmt.Sprintf("  - {%s, clear: 200ms, severity: page, webhook: '%s/%s'}\n", alert, hooks[name].URL, name)
		}
		servertest.WriteFile(t, configs[name], text)
	}
	start := func(args ...string) *output {
		var says output
		cmd := exec.Command(program, args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = environment(t), &says, &says
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return &says
	}
	s.cli(t, "SET", "rl:calm", "1", "EX", "3600")
	term := openTerminal(t, 160, 40)
	term.run("%s --redis redis://somebody@%s/0 --watch 'rl:*' --config %s", program, s.Addr(), configs["dashboard"])
	watching := start("watch", "--alerts", "--target", "prod", "--watch", "rl:*", "--config", configs["watch"])
	exporting := start("export", "--listen", "127.0.0.1:0", "--redis", s.URL(), "--watch", "rl:*", "--config", configs["export"])
	term.wait("LIVE", "rl:calm")
	servertest.Await(t, "watch and export have begun", func() bool {
		return strings.Contains(watching.String(), "answers") && strings.Contains(exporting.String(), "the metrics are on")
	})

	// told waits for the nth post of each program about an alert in a state, and returns the one dedup_key of all.
	told := func(alert, state string, n, count int, keys ...string) string {
		t.Helper()
		var all []string
		for _, name := range names {
			var posts []map[string]any
			servertest.Await(t, fmt.Sprintf("%s is %s by %s", alert, state, name), func() bool {
				posts = slices.DeleteFunc(hooks[name].of(alert), func(post map[string]any) bool { return post["state"] != state })
				return len(posts) == n
			})
			post := posts[n-1]
			var about []string
			for _, key := range post["keys"].([]any) {
				about = append(about, key.(string))
			}
			if slices.Sort(about); post["count"] != float64(count) || !slices.Equal(about, keys) {
				t.Errorf("%s posts %v, want %s of %v", name, post, state, keys)
			}
			all = append(all, fmt.Sprint(post["dedup_key"]))
		}
		if all[0] != all[1] || all[0] != all[2] || len(all[0]) < 16 {
			t.Errorf("%s, %s: the dedup_keys are %q", alert, state, all)
		}
		return all[0]
	}
	s.cli(t, "SET", "rl:a", "10", "EX", "3600")
	one := told("full", "firing", 1, 1, "rl:a")
	s.cli(t, "MSET", "rl:b", "10", "rl:c", "10")
	s.cli(t, "EXPIRE", "rl:b", "3600")
	s.cli(t, "EXPIRE", "rl:c", "3600")
	s.cli(t, "SET", "rl:a", "1", "EX", "3600") // what begins and what ends is posted apart, each after some seconds
	two := told("full", "firing", 2, 2, "rl:b", "rl:c")
	if over := told("full", "resolved", 1, 1, "rl:a"); over != one || two == one {
		t.Errorf("rl:a began under %s and ends under %s; two others began under %s", one, over, two)
	}
	s.Kill()
	down := told("down", "firing", 1, 1)
	s.Server.Start()
	if over := told("down", "resolved", 1, 1); over != down || down == one || down == two {
		t.Errorf("the server's alert began under %s and ends under %s", down, over)
	}
	term.press("q")
	term.settled()
}
