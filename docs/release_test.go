package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// service uses each package that a service may import.
const service = `package main

import (
	"context"
	"fmt"
	"time"

	"example.com/owner/ratescope/limiter"
	"example.com/owner/ratescope/limiter/grpclimit"
	"example.com/owner/ratescope/limiter/httplimit"
	"example.com/owner/ratescope/limiter/otellimit"
	"example.com/owner/ratescope/limiter/promlimit"
	"example.com/owner/ratescope/limiter/redisstore"
)

func main() {
	l, err := limiter.NewMemory(limiter.GCRA)
	if err != nil {
		panic(err)
	}
	_, _, _, _, _ = redisstore.New, httplimit.New, grpclimit.New, promlimit.NewObserver, otellimit.NewObserver
	d, err := limiter.Allow(context.Background(), l, "k", limiter.Limit{Count: 1, Window: time.Minute})
	fmt.Println(d.Allowed, err)
}
`

// TestConsumer releases the checked out commit into a proxy of files, and lets a fresh module fetch
// everything of ours from there, as a consumer does: without a replace, and with a module cache that has nothing of ours. What
// others publish is taken from where this machine has it: to unpack it all once more shows nothing of us.
func TestConsumer(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches every dependency")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	proxy, home := filepath.Join(dir, "proxy"), filepath.Join(dir, "service")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "main.go"), []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"", "cache/download"} {
		from, to := filepath.Join(goEnv(t, "GOMODCACHE"), part), filepath.Join(dir, "cache", part)
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		there, _ := os.ReadDir(from) // none, where this machine has nothing yet
		for _, host := range there {
			if name := host.Name(); name != "cache" && name != "example.com" {
				if err := os.Symlink(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	published := goEnv(t, "GOPROXY")
	run := func(in string, words ...string) string {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = in
		// Ours come from the files alone.
		cmd.Env = append(os.Environ(), "GOMODCACHE="+filepath.Join(dir, "cache"), "GONOSUMDB=example.com", "GOWORK=off",
			"GOFLAGS=-mod=mod -modcacherw -trimpath -ldflags=-w", "GOPROXY=file://"+proxy+","+published)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
		return string(out)
	}
	run(root, "sh", "docs/deploy/release.sh", "v1.0.0", "example.com/owner/ratescope", proxy)
	run(home, "go", "mod", "init", "example.com/service")
	get := []string{"go", "get"}
	for _, path := range []string{"", "/grpclimit", "/otellimit", "/promlimit"} {
		get = append(get, "example.com/owner/ratescope/limiter"+path+"@v1.0.0")
	}
	run(home, get...) // and no go mod tidy, which fetches what the tests of others need
	if got := run(home, "go", "run", "."); got != "true <nil>\n" {
		t.Errorf("the service printed %q", got)
	}
	mod, err := os.ReadFile(filepath.Join(home, "go.mod"))
	if err != nil || strings.Contains(string(mod), "replace") || strings.Count(string(mod), "ratescope") != 4 {
		t.Errorf("%v\n%s", err, mod)
	}
}

// TestRefuses: a path or a version that Go could not fetch is told.
func TestRefuses(t *testing.T) {
	for _, words := range [][]string{{"v1.0.0", "ratescope"}, {"1.0", "example.com/a/b"}, {"v2.0.0", "example.com/a/b"}} {
		cmd := exec.Command("sh", "docs/deploy/release.sh", words[0], words[1], t.TempDir())
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "release: ") {
			t.Errorf("%q: %v, %s", words, err, out)
		}
	}
}

// goEnv returns a setting of Go on this machine.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
