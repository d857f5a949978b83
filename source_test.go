package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// source is one Go file of the repository.
type source struct {
	name    string // from the top, with slashes
	dir     string // "." at the top
	test    bool   // a test, or of a package that serves tests alone
	lines   int
	columns []int // of each line, in runes
	file    *ast.File
	places  *token.FileSet
}

// at says where a node is, for the message of a failure.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.places.Position(n.Pos()).Line)
}

// sources returns every Go file, parsed once for all tests.
func sources(t *testing.T) []source {
	t.Helper()
	list, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("only %d Go files were found: the rules hold for nothing", len(list))
	}
	return list
}

var parsed = sync.OnceValues(func() (list []source, err error) {
	places := token.NewFileSet()
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata"):
			return fs.SkipDir // testdata holds programs of their own, with modules of their own
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(places, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		var columns []int
		for line := range strings.Lines(string(text)) {
			columns = append(columns, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
		}
		slashed := filepath.ToSlash(name)
		list = append(list, source{
			name: slashed, dir: path.Dir(slashed), file: file, places: places,
			test:  strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(slashed), "test"),
			lines: len(columns), columns: columns,
		})
		return nil
	})
	return list, err
})
