// Package docs_test holds the documents to the tree.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestContributing: each recipe names files, and every file, folder, make target and test that
// the page names exists.
func TestContributing(t *testing.T) {
	text := read(t, "contributing.md")
	for _, recipe := range []string{"A decoder", "An algorithm", "A command", "A screen", "A theme", "A source"} {
		_, body, found := strings.Cut(text, "\n### "+recipe)
		body, _, _ = strings.Cut(body, "\n### ")
		if paths := pathsOf(body); !found || len(paths) < 3 {
			t.Errorf("the recipe %q names %v", recipe, paths)
		}
	}
	for _, path := range pathsOf(text) {
		if _, err := os.Stat(filepath.Join("..", path)); err != nil {
			t.Errorf("contributing.md names %s: %v", path, err)
		}
	}
	makefile := read(t, "../Makefile")
	for _, m := range regexp.MustCompile(`(?m)^make ([a-z]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("the Makefile has no target %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^go test ([^#\n]*)`).FindAllStringSubmatch(text, -1) {
		for _, arg := range strings.Fields(m[1]) {
			if folder, ok := strings.CutPrefix(strings.TrimSuffix(arg, "/..."), "./"); ok {
				if _, err := os.Stat(filepath.Join("..", folder)); err != nil {
					t.Errorf("contributing.md tests %s: %v", arg, err)
				}
			}
		}
	}
	if !strings.Contains(read(t, "../main_test.go"), "func TestImportsGoOneWay(") {
		t.Error("main_test.go has no TestImportsGoOneWay")
	}
}

// pathsOf returns what stands between backquotes and is a path of this repository.
func pathsOf(text string) (paths []string) {
	rooms := regexp.MustCompile(`^(cmd|docs|feed|internal|limiter|model|themes|tui)/|^(README\.md|Makefile|main_test\.go)$`)
	for _, m := range regexp.MustCompile("`([^`\\s]+)`").FindAllStringSubmatch(text, -1) {
		if rooms.MatchString(m[1]) {
			paths = append(paths, m[1])
		}
	}
	return paths
}

// TestLinks: every link of a document to another file of this repository leads somewhere.
func TestLinks(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	if err != nil || len(documents) < 3 {
		t.Fatal(documents, err)
	}
	for _, name := range append(documents, "../README.md") {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(read(t, name), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}
