package docs_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ratescope/cmd"
	"ratescope/feed/config"
	"ratescope/feed/metrics"
)

// exported returns the names of all metrics.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for name := range metricHelp() {
		names[name] = true
	}
	if len(names) < 20 {
		t.Fatalf("only %d metrics are described", len(names))
	}
	return names
}

// expressions returns every text under the name expr in a tree of YAML or JSON.
func expressions(v any) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if text, ok := value.(string); ok && name == "expr" {
				list = append(list, text)
			}
			list = append(list, expressions(value)...)
		}
	case []any:
		for _, value := range v {
			list = append(list, expressions(value)...)
		}
	}
	return list
}

func TestMetricsExist(t *testing.T) {
	names := exported(t)
	var rules, dashboard any
	if err := yaml.Unmarshal([]byte(read(t, "deploy/prometheus-rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`\bratescope[_:][a-z0-9_:]+`)
	recorded := regexp.MustCompile(`record: (\S+)`)
	for _, m := range recorded.FindAllStringSubmatch(read(t, "deploy/prometheus-rules.yaml"), -1) {
		names[m[1]] = true
	}
	for file, tree := range map[string]any{"prometheus-rules.yaml": rules, "grafana-dashboard.json": dashboard} {
		all := expressions(tree)
		if len(all) < 10 {
			t.Errorf("%s has only %d expressions", file, len(all))
		}
		for _, e := range all {
			for _, name := range metric.FindAllString(e, -1) {
				if !names[name] {
					t.Errorf("%s: %q names %s, which is not exported", file, e, name)
				}
			}
		}
	}
}

// TestPromtool has Prometheus itself check the rules, where it is installed.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is not installed, so Prometheus itself did not check the rules: apt-get install prometheus")
	}
	for _, args := range [][]string{
		{"check", "rules", "deploy/prometheus-rules.yaml"}, {"test", "rules", "deploy/prometheus-rules-test.yaml"},
	} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// runs checks that arguments are a command of the program with flags of its own.
func runs(t *testing.T, where string, args []string) {
	t.Helper()
	command, _, err := cmd.Tree().Find(args)
	if err != nil || command.Parent() == nil {
		t.Errorf("%s runs %q: %v", where, args, err)
		return
	}
	for _, arg := range args {
		name, long := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if long && command.Flag(name) == nil && command.InheritedFlags().Lookup(name) == nil {
			t.Errorf("%s uses the flag --%s, which %s does not have", where, name, command.Name())
		}
	}
}

func TestUnits(t *testing.T) {
	for _, unit := range []string{"ratescope-watch.service", "ratescope-export.service"} {
		section, values := "", map[string][]string{}
		for i, line := range strings.Split(read(t, "deploy/"+unit), "\n") {
			name, value, assigned := strings.Cut(line, "=")
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
				section = strings.Trim(line, "[]")
			case assigned && section != "":
				values[section+"."+name] = append(values[section+"."+name], value)
			default:
				t.Errorf("%s:%d: %q is no line of a unit", unit, i+1, line)
			}
		}
		for _, needed := range []string{
			"Unit.Description", "Service.ExecStart", "Service.Restart", "Service.DynamicUser", "Service.LoadCredential", "Install.WantedBy",
		} {
			if len(values[needed]) != 1 {
				t.Errorf("%s has %d of %s", unit, len(values[needed]), needed)
			}
		}
		if start := strings.Fields(values["Service.ExecStart"][0]); start[0] != "/usr/local/bin/ratescope" {
			t.Errorf("%s starts %q", unit, start)
		} else {
			runs(t, unit, start[1:])
		}
		if verify, err := exec.LookPath("systemd-analyze"); err == nil {
			out, err := exec.Command(verify, "verify", "--man=no", "deploy/"+unit).CombinedOutput()
			if err != nil && !strings.Contains(string(out), "/usr/local/bin/ratescope") {
				t.Errorf("%s: %v: %s", unit, err, out)
			}
		}
	}
}

func TestDockerfile(t *testing.T) {
	text := read(t, "deploy/Dockerfile")
	for _, needed := range []string{"\nFROM scratch\n", "\nUSER 65532:65532\n", "CGO_ENABLED=0", "ENTRYPOINT [\"/ratescope\"]"} {
		if !strings.Contains(text, needed) {
			t.Errorf("the Dockerfile has no %q", needed)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-\s][^\n]*) \S+$`).FindAllStringSubmatch(text, -1) {
		for _, source := range strings.Fields(m[1]) {
			if _, err := os.Stat(filepath.Join("..", source)); err != nil {
				t.Errorf("the Dockerfile copies %s: %v", source, err)
			}
		}
	}
	var args []string
	if err := json.Unmarshal([]byte(regexp.MustCompile(`(?m)^CMD (.*)$`).FindStringSubmatch(text)[1]), &args); err != nil {
		t.Fatal(err)
	}
	runs(t, "the Dockerfile", args)
}

// TestDockerignore keeps out of the image's context what changes with every commit or may be secret, and
// nothing that the program is made of.
func TestDockerignore(t *testing.T) {
	lines := strings.Fields(read(t, "../.dockerignore"))
	for _, out := range []string{".git", "bin", "dist", "ratescope", "*.jsonl.gz"} {
		if !slices.Contains(lines, out) {
			t.Errorf(".dockerignore leaves %s in", out)
		}
	}
	tracked, err := exec.Command("git", "-C", "..", "ls-files", "*.go", "go.mod", "go.sum", "*.lua").Output()
	if err != nil {
		t.Skip("SKIPPED: this is no repository of git, so what the image needs was not compared with .dockerignore")
	}
	for _, name := range strings.Fields(string(tracked)) {
		for _, line := range lines {
			if in, _ := filepath.Match(line, strings.Split(name, "/")[0]); in && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s of .dockerignore leaves out %s", line, name)
			}
		}
	}
}

// TestServiceName: the exporter answers by the names under which its service is reached.
func TestServiceName(t *testing.T) {
	var service struct {
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/kubernetes/service.yaml")), &service); err != nil {
		t.Fatal(err)
	}
	given := regexp.MustCompile(`--host, (\S+)\$\(NAMESPACE\),`).FindStringSubmatch(read(t, "deploy/kubernetes/deployment.yaml"))
	if given == nil {
		t.Fatal("the deployment names no host of its namespace")
	}
	h := metrics.Handler(metrics.New(metrics.Options{Hosts: []string{given[1] + "prod"}}))
	for _, host := range []string{"", ".prod", ".prod.svc", ".prod.svc.cluster.local"} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = service.Metadata.Name + host + ":9464"
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 200 {
			t.Errorf("by the name %s it answers %d", r.Host, w.Code)
		}
	}
}

func TestKubernetes(t *testing.T) {
	if _, err := config.Load("deploy/kubernetes/config.yaml"); err != nil {
		t.Error(err)
	}
	var kustomization struct{ Resources []string }
	err := yaml.Unmarshal([]byte(read(t, "deploy/kubernetes/kustomization.yaml")), &kustomization)
	if err != nil || len(kustomization.Resources) == 0 {
		t.Errorf("%v %v", kustomization, err)
	}
	for _, name := range kustomization.Resources {
		var resource struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							Args                          []string
							ReadinessProbe, LivenessProbe struct {
								HTTPGet struct{ Path string } `yaml:"httpGet"`
							}
						}
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(read(t, "deploy/kubernetes/"+name)), &resource); err != nil || resource.Kind == "" {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range resource.Spec.Template.Spec.Containers {
			runs(t, name, c.Args)
		}
	}
}

// TestGoreleaser names make targets, files and systems that exist.
func TestGoreleaser(t *testing.T) {
	var release struct {
		Before   struct{ Hooks []string }
		Builds   []struct{ Goos, Goarch []string }
		Archives []struct{ Files []string }
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/goreleaser.yaml")), &release); err != nil {
		t.Fatal(err)
	}
	makefile := read(t, "../Makefile")
	for _, hook := range release.Before.Hooks {
		for _, target := range strings.Fields(hook)[1:] {
			if !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("the Makefile has no target %s", target)
			}
		}
	}
	got := fmt.Sprint(release.Builds[0].Goos, release.Builds[0].Goarch)
	if got != "[linux darwin windows freebsd] [amd64 arm64]" || !strings.Contains(makefile, "linux darwin windows freebsd") {
		t.Errorf("it builds for %s", got)
	}
}
