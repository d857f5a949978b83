package main

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRacesAreLookedFor: make test runs every package that starts a goroutine under the race detector, or some of its tests.
func TestRacesAreLookedFor(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nRACES := ")
	list, _, _ = strings.Cut(strings.ReplaceAll(list, "\\\n", " "), "\n")
	races := strings.Fields(list)
	for line := range strings.Lines(string(makefile)) {
		if strings.Contains(line, " -race ") {
			races = append(races, strings.Fields(line)...)
		}
	}
	for _, s := range sources(t) {
		if s.test || room(s.dir) == "docs" || slices.Contains(races, "./"+s.dir) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if _, starts := n.(*ast.GoStmt); starts {
				t.Errorf("%s starts a goroutine: name ./%s under RACES in the Makefile", s.at(n), s.dir)
			}
			return true
		})
	}
}

// TestQuietTestsAreRun: what make test leaves out, because it is run without a neighbour or without the race detector, is run so.
func TestQuietTestsAreRun(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`\n(QUIET|ALONE) := (?:\$\(QUIET\)\|)?(\S+)`).FindAllStringSubmatch(string(makefile), -1) {
		left := regexp.MustCompile(strings.ReplaceAll(m[2], "$$", "$"))
		for _, s := range sources(t) {
			for _, id := range declared(s.file) {
				if !s.test || !strings.HasPrefix(id.Name, "Test") || !left.MatchString(id.Name) {
					continue
				}
				n++
				if !regexp.MustCompile(`-run '\$\(` + m[1] + `\)' .*\./` + s.dir + `\b`).Match(makefile) {
					t.Errorf("%s: %s is run by no line of the Makefile: name ./%s where %s is run", s.at(id), id.Name, s.dir, m[1])
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d such tests were found", n)
	}
}
