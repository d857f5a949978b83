package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestJourney holds the way of a reading in architecture.md to the tree: every function that it names is
// in the package that it names, and there are as many as it says.
func TestJourney(t *testing.T) {
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, journey, _ := strings.Cut(string(text), "\n## A reading,")
	journey, _, _ = strings.Cut(journey, "\n## ")
	functions := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|(.*)\\|$").FindAllStringSubmatch(journey, -1) {
		declared := functionsOf(t, filepath.Join("..", row[1]))
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			functions++
			if !declared[name[1]] {
				t.Errorf("architecture.md sends a reading through %s of %s, which is not there", name[1], row[1])
			}
		}
	}
	if says := fmt.Sprintf("\nThese are %d functions", functions); functions == 0 || !strings.Contains(journey, says) {
		t.Errorf("the table has %d functions, and the text below it says another number", functions)
	}
}

// functionsOf returns the functions of a package, and its methods as Type.method.
func functionsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no source: %v", dir, err)
	}
	declared := map[string]bool{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if p, ok := of.(*ast.StarExpr); ok {
					of = p.X
				}
				if g, ok := of.(*ast.IndexExpr); ok { // a generic type
					of = g.X
				}
				name = fmt.Sprintf("%s.%s", of, name)
			}
			declared[name] = true
		}
	}
	return declared
}
