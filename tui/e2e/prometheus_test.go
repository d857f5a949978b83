package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ratescope/internal/servertest"
)

// sample is one series of an answer of Prometheus.
type sample struct {
	Metric map[string]string
	Value  [2]any // when, and the value as text
}

// prometheus is a Prometheus that scrapes the program.
type prometheus struct{ address string }

// startPrometheus runs Debian's Prometheus with the project's rules, which fire here after some seconds at most,
// and scrapes an exporter every second.
func startPrometheus(t *testing.T, exporter string) prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED: prometheus is not installed, so no Prometheus evaluated docs/deploy: apt-get install prometheus")
	}
	dir := t.TempDir()
	rules, err := os.ReadFile("../../docs/deploy/prometheus-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:" + strconv.Itoa(servertest.FreePort(t))
	quick := strings.NewReplacer("[2m:5s]", "[5s:1s]", ") >= 20", ") >= 3").Replace(string(rules))
	for name, text := range map[string]string{
		"rules.yaml": regexp.MustCompile(`(?m)^(\s+for: ).*$`).ReplaceAllString(quick, "${1}0s"),
		"prometheus.yaml": fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs: [{job_name: ratescope, static_configs: [{targets: ["%s"]}]}]
`, exporter),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+at, "--log.level=warn")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus: %s", &out)
		}
	})
	return prometheus{at}
}

// ask fetches what is under a path; the error says what Prometheus found wrong.
func (p prometheus) ask(path string, into any) error {
	answer, err := http.Get("http://" + p.address + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var page struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return fmt.Errorf("%s: %.200s", answer.Status, text)
	}
	if page.Status != "success" {
		return fmt.Errorf("%s: %s", page.Status, page.Error)
	}
	return json.Unmarshal(page.Data, into)
}

// query returns the series of an expression now.
func (p prometheus) query(expr string) (series []sample, err error) {
	var data struct{ Result []sample }
	err = p.ask("query?query="+url.QueryEscape(expr), &data)
	return data.Result, err
}

// firing returns the alerts that fire, as "name key".
func (p prometheus) firing() (list []string) {
	var data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
	}
	if p.ask("alerts", &data) != nil {
		return nil
	}
	for _, a := range data.Alerts {
		if a.State == "firing" {
			list = append(list, strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["key"]))
		}
	}
	slices.Sort(list)
	return list
}

// exprs returns the expressions of the Grafana dashboard.
func exprs(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			list = append(list, target.Expr)
		}
	}
	if len(list) < 15 {
		t.Fatalf("the dashboard has only %d expressions", len(list))
	}
	return list
}

// TestPrometheus: a Prometheus with the project's rules scrapes the program, fires the alert of the
// throttled key and of one that breathes between 49 and 50 of 50, and of no other one, answers every expression of the Grafana dashboard, and resolves
// the alert when the key is free.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	need(t, "redis-server")
	exporter := "127.0.0.1:" + strconv.Itoa(servertest.FreePort(t))
	p := startPrometheus(t, exporter)
	s := startRedis(t)
	for key, n := range map[string]int{"rl:full": 12, "rl:half": 6} {
		for i := range n {
			now := s.now(t).UnixMicro() - int64(i)
			s.cli(t, "ZADD", key, strconv.FormatInt(now, 10), strconv.FormatInt(now, 10))
		}
		s.cli(t, "EXPIRE", key, "3600")
	}
	now := strconv.FormatInt(s.now(t).UnixMicro(), 10)
	s.cli(t, "XADD", "{rl:denied}:denied", "*", "count", "1", "total", "1")
	s.cli(t, "ZADD", "rl:denied", now, now)
	s.cli(t, "EXPIRE", "rl:denied", "3600")
	breathe := func(newest string) { // 49 of 50, and 50 in turns
		if s.cli(t, "ZCARD", "breathes") != "50" {
			s.cli(t, "ZADD", "breathes", newest, newest)
		} else {
			s.cli(t, "ZREMRANGEBYRANK", "breathes", "0", "0")
		}
	}
	for i := range int64(50) {
		at := strconv.FormatInt(s.now(t).UnixMicro()-1000*i, 10)
		s.cli(t, "ZADD", "breathes", at, at)
	}
	s.cli(t, "EXPIRE", "breathes", "3600")
	config := filepath.Join(t.TempDir(), "config.yaml")
	servertest.WriteFile(t, config, "rules: [{match: 'rl:*', algorithm: sliding-log, limit: 12/1h}, {match: breathes, algorithm: sliding-log, limit: 50/1h}]\n")
	s.cli(t, "EVAL", "return 1", "0") // a script, of which the server tells the time
	cmd := exec.Command(program, "export", "--listen", exporter, "--redis", s.URL(), "--watch", "rl:*", "--watch", "breathes", "--config", config)
	var errOut bytes.Buffer
	cmd.Stderr, cmd.Env = &errOut, environment(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("export: %s", &errOut)
		}
	}()
	var fire []string
	defer func() {
		if t.Failed() {
			t.Logf("these alerts fire: %q", fire)
		}
	}()
	servertest.Await(t, "the alert of the throttled key fires, and no other", func() bool {
		breathe(strconv.FormatInt(s.now(t).UnixMicro(), 10))
		fire = p.firing()
		return slices.Equal(fire, []string{"RateLimitThrottled breathes", "RateLimitThrottled rl:full"})
	})
	servertest.Await(t, "the rule that counts what is throttled records one", func() bool { // a group of its own: later, perhaps
		series, err := p.query("ratescope:keys_throttled")
		return err == nil && len(series) == 1 && (series[0].Value[1] == "1" || series[0].Value[1] == "2")
	})
	// What this server has no series of: it has no limit of its memory, and nothing went wrong.
	empty := map[string]bool{"ratescope_redis_memory_max_bytes > 0": true, "ratescope_redis_errors_per_second": true, "ratescope_redis_script_seconds": true}
	for _, expr := range exprs(t) {
		var series []sample
		var err error
		if empty[expr] {
			series, err = p.query(expr)
		} else {
			servertest.Await(t, "the dashboard's "+expr+" has series", func() bool {
				series, err = p.query(expr)
				return err != nil || len(series) > 0
			})
		}
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
	s.cli(t, "DEL", "rl:full", "breathes")
	servertest.Await(t, "the alert is resolved", func() bool {
		fire = p.firing()
		return len(fire) == 0
	})
}
