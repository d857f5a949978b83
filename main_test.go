package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"ratescope/cmd"
	"ratescope/feed/decode/library"
)

const (
	charm    = "charm.land/"
	charmX   = "github.com/charmbracelet/"
	ntcharts = "github.com/NimbleMarkets/ntcharts/"
	goRedis  = "github.com/redis/go-redis/"
	cells    = "github.com/clipperhouse/"
)

// rooms says what the packages of each room may import beside the standard library
// and their own room. The longest matching name counts.
var rooms = map[string][]string{
	".":                   {""},
	"cmd":                 {""},                                                       // ties the rooms together
	"docs":                {""},                                                       // draws the pictures
	"internal":            {"ratescope/model/safetext", "golang.org/x/sync/errgroup"}, // what several rooms share
	"internal/servertest": {"ratescope/limiter", goRedis},
	"limiter":             {},
	"limiter/redisstore":  {"ratescope/limiter", goRedis},
	// Adapters, each a module of its own, so that the limiter needs no third party.
	"limiter/grpclimit": {"ratescope/limiter", "google.golang.org/"},
	"limiter/promlimit": {"ratescope/limiter", "github.com/prometheus/client_golang/"},
	"limiter/otellimit": {"ratescope/limiter", "go.opentelemetry.io/otel/"},
	// These need a server to test and to run scenarios on.
	"limiter/limitertest": {"ratescope/limiter"},
	"limiter/scenario":    {"ratescope/limiter", goRedis},
	"model":               {"ratescope/limiter", cells},
	"feed":                {"ratescope/model", "ratescope/limiter", "ratescope/internal/", goRedis, "github.com/alicebob/miniredis/", "github.com/adrg/xdg", "go.yaml.in/yaml/", "golang.org/x/sync", "golang.org/x/time/", "github.com/aymanbagabas/go-udiff"},
	"feed/metrics":        {"ratescope/feed", "ratescope/model", "ratescope/limiter", "github.com/prometheus/client_golang/", "github.com/prometheus/client_model/", "golang.org/x/crypto/", "ratescope/internal"},
	"feed/script/sandbox": {"ratescope/feed/script", "ratescope/model", "ratescope/limiter", goRedis, "github.com/alicebob/miniredis/", "github.com/yuin/gopher-lua"},
	"themes":              {charm + "lipgloss/", charmX + "x/ansi"},
	"tui":                 {"ratescope/model", "ratescope/limiter", "ratescope/themes", charm, charmX, cells},
	"tui/class":           {"ratescope/model", "ratescope/tui", charm, charmX, cells, "golang.org/x/"},
	"tui/chart":           {"ratescope/model", "ratescope/limiter", "ratescope/themes", "ratescope/tui", charm, charmX, cells, ntcharts},
}

// room returns the longest name of rooms that holds dir.
func room(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := rooms[dir]; ok {
			return dir
		}
	}
	return "."
}

// modulePath returns the path of the module, which its owner may change.
func modulePath(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
}

func TestImportsGoOneWay(t *testing.T) {
	module := modulePath(t)
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		in := room(s.dir)
		if in == "." && s.dir != "." {
			t.Errorf("%s is in no room of the house", s.name)
		}
		for _, spec := range s.file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(name, "/")
			standard := !strings.Contains(first, ".") && !strings.HasPrefix(name, module+"/")
			own := name == module+"/"+in || strings.HasPrefix(name, module+"/"+in+"/")
			allowed := slices.ContainsFunc(rooms[in], func(prefix string) bool { return strings.HasPrefix(name, prefix) })
			if !standard && !own && !allowed {
				t.Errorf("%s imports %s, which %s may not", s.at(spec), name, in)
			}
		}
	}
}

// Functions of package time that look at this machine's clock, and that wait on it.
var (
	clocks = []string{"Now", "Since", "Until"}
	waits  = []string{"Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
)

func TestTimeIsExplicit(t *testing.T) {
	where := map[string][]string{}
	for _, s := range sources(t) {
		top, _, _ := strings.Cut(s.dir, "/")
		if s.test || top != "limiter" && top != "model" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				pkg, ok := sel.X.(*ast.Ident)
				reads := slices.Contains(clocks, sel.Sel.Name)
				switch {
				case !ok || pkg.Name != "time" || !reads && !slices.Contains(waits, sel.Sel.Name):
				case top == "model":
					t.Errorf("%s uses the clock: time.%s", s.at(n), sel.Sel.Name)
				case reads:
					where[s.name] = append(where[s.name], s.at(n))
				}
			}
			return true
		})
	}
	if len(where) != 1 {
		t.Errorf("limiter has its clock in one file, but reads it in %d: %v", len(where), where)
	}
}

// writers says which files alone may call what a write to a server needs: a client
// without the guard that refuses writing commands, and a limiter over a client.
var writers = map[string][]string{
	"redis.NewClient":          {"feed/connect/open.go", "feed/demo/embedded.go"},
	"redis.NewClusterClient":   {"feed/connect/open.go"},
	"redis.NewFailoverClient":  {"feed/connect/open.go"},
	"redis.NewUniversalClient": {},
	"redis.NewRing":            {},
	"redisstore.New":           {"feed/fire/link.go", "feed/demo/embedded.go", "limiter/scenario/run.go"},
	"feed.Connect":             {"cmd/verify.go", "cmd/check.go"},
}

// TestOnePlaceWrites: on a server of others, only the injector writes, and verify on
// request. Whatever else is to be fired or written has to go through them.
func TestOnePlaceWrites(t *testing.T) {
	unguarded := map[string]int{}
	called := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok {
				name := pkg.Name + "." + sel.Sel.Name
				if files, known := writers[name]; known && !slices.Contains(files, s.name) {
					t.Errorf("%s calls %s, which only %v may", s.at(call), name, files)
				}
				called[name] = true
			}
			// Endpoint.Open(name, pool, guard): without a guard the client may write.
			if room(s.dir) == "feed" && sel.Sel.Name == "Open" && len(call.Args) == 3 {
				if id, ok := call.Args[2].(*ast.Ident); ok && id.Name == "nil" {
					unguarded[s.name]++
				}
			}
			return true
		})
	}
	if len(unguarded) != 2 || unguarded["feed/fire/link.go"] != 1 || unguarded["feed/source.go"] != 1 {
		t.Errorf("clients that may write are made once in feed/fire/link.go and once in feed/source.go, but in %v", unguarded)
	}
	for name, files := range writers {
		if len(files) > 0 && !called[name] {
			t.Errorf("nothing calls %s any more: remove the rule about it", name)
		}
	}
}

func TestSizes(t *testing.T) {
	const maxFile, maxFunc, maxDir = 500, 80, 40
	inDir := map[string]int{}
	for _, s := range sources(t) {
		if s.lines > maxFile {
			t.Errorf("%s has %d lines, more than %d", s.name, s.lines, maxFile)
		}
		if s.test {
			continue
		}
		inDir[s.dir]++
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.places.Position(f.End()).Line - s.places.Position(f.Pos()).Line + 1
			if lines > maxFunc {
				t.Errorf("%s: %s has %d lines, more than %d", s.at(f), f.Name.Name, lines, maxFunc)
			}
		}
	}
	for dir, n := range inDir {
		if n > maxDir && dir != "feed/decode/library" && dir != "cmd" { // one file a library, one a command
			t.Errorf("%s has %d files, more than %d", dir, n, maxDir)
		}
	}
}

// TestExpressionsCompile: what collect.Regexp compiles at its first use only, staticcheck does not look at.
func TestExpressionsCompile(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "collect.Regexp" {
				return true
			}
			expression := "" // of its literals: a constant between them is a part by itself
			ast.Inspect(call, func(part ast.Node) bool {
				if literal, ok := part.(*ast.BasicLit); ok {
					text, _ := strconv.Unquote(literal.Value) // it is Go
					expression += text
				}
				return true
			})
			if n++; expression == "" {
				t.Errorf("%s: no literal", s.at(call))
			}
			if _, err := regexp.Compile(expression); err != nil {
				t.Errorf("%s: %v", s.at(call), err)
			}
			return true
		})
	}
	if n < 40 {
		t.Errorf("%d expressions were found", n)
	}
}

// maxColumns bounds a line of the product; a tab counts as one column.
const maxColumns = 140

func TestLinesAreNarrow(t *testing.T) {
	for _, s := range sources(t) {
		for i, columns := range s.columns {
			if columns > maxColumns && !s.test {
				t.Errorf("%s:%d has %d columns, more than %d", s.name, i+1, columns, maxColumns)
			}
		}
	}
}

var banned = []string{"util", "utils", "helper", "helpers", "common", "manager", "core", "data", "misc"}

func TestNames(t *testing.T) {
	for _, s := range sources(t) {
		base := strings.TrimSuffix(path.Base(s.name), ".go")
		for _, word := range append(strings.Split(base, "_"), strings.Split(s.dir, "/")...) {
			if slices.Contains(banned, word) && word != "testdata" {
				t.Errorf("%s has %q in its path, which says nothing", s.name, word)
			}
		}
		if s.test {
			continue
		}
		for _, id := range declared(s.file) {
			first := words(id.Name)[0]
			if strings.EqualFold(first, "get") {
				t.Errorf("%s: %s begins with Get", s.at(id), id.Name)
			}
			pkg := s.file.Name.Name
			if id.IsExported() && !isMethod(s.file, id) && len(id.Name) > len(pkg) && strings.EqualFold(first, pkg) {
				t.Errorf("%s: %s.%s says %s twice", s.at(id), pkg, id.Name, pkg)
			}
		}
	}
}

// isMethod reports whether a name is that of a method: its package is not said before it.
func isMethod(f *ast.File, id *ast.Ident) bool {
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Name == id && fn.Recv != nil
	})
}

// declared are the names that a file gives to what it has at top level.
func declared(f *ast.File) []*ast.Ident {
	var list []*ast.Ident
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			list = append(list, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					list = append(list, spec.Name)
				case *ast.ValueSpec:
					list = append(list, spec.Names...)
				}
			}
		}
	}
	return list
}

// words takes a Go name apart: newHTTPServer is new, H, T, T, P, Server, which is
// good enough to find whole words.
func words(name string) []string {
	var list []string
	start := 0
	for i, r := range name {
		if i > start && unicode.IsUpper(r) {
			list = append(list, name[start:i])
			start = i
		}
	}
	return append(list, name[start:])
}

func TestTestingStaysOutOfTheProgram(t *testing.T) {
	module := modulePath(t)
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if dep == "testing" || strings.HasPrefix(dep, module+"/") && strings.HasSuffix(dep, "test") {
			t.Errorf("the program holds the package %s, which is for tests", dep)
		}
	}
}

// maxReadme bounds the README: what more there is to say stands in docs.
const maxReadme = 200

// TestReadme holds the README to the program: it is short, the two commands that do all the set-up are
// there, and it counts the libraries.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	libraries := fmt.Sprintf("%d libraries are known", len(library.All()))
	for _, says := range []string{"go run .", "make test", "go install .", libraries} {
		if !strings.Contains(readme, says) {
			t.Errorf("README.md does not say %q", says)
		}
	}
	if n := strings.Count(readme, "\n"); n > maxReadme {
		t.Errorf("README.md has %d lines, more than %d", n, maxReadme)
	}
}

// TestDocumentedCommands: every command, flag and make target in a document exists.
func TestDocumentedCommands(t *testing.T) {
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)\n```").FindAllStringSubmatch(string(text), -1) {
			for _, m := range regexp.MustCompile(`(?m)^make ([a-z]+)`).FindAllStringSubmatch(block[1], -1) {
				if !strings.Contains(string(makefile), "\n"+m[1]+":") {
					t.Errorf("%s says %q, and the Makefile has no such target", name, m[0])
				}
			}
			for _, m := range regexp.MustCompile(`(?m)^(?:ratescope|go run \.)(?:[ \t]+(.+))?$`).FindAllStringSubmatch(block[1], -1) {
				checkCommand(t, name, m[0], m[1])
			}
		}
	}
}

// checkCommand fails where a document says a line with a command or a flag that does not exist.
func checkCommand(t *testing.T, name, line, rest string) {
	t.Helper()
	shell := regexp.MustCompile(`[ \t]*[#|].*`) // comments, and what the output is piped into
	root := cmd.Tree()
	args := strings.Fields(shell.ReplaceAllString(rest, ""))
	command, _, err := root.Find(args)
	if err != nil {
		t.Errorf("%s says %q: %v", name, line, err)
		return
	}
	if len(args) > 0 && command == root && !strings.HasPrefix(args[0], "-") {
		t.Errorf("%s says %q, and there is no such command", name, line)
	}
	for _, arg := range args {
		flag, long := strings.CutPrefix(arg, "--")
		flag, _, _ = strings.Cut(flag, "=")
		if long && command.Flag(flag) == nil && command.InheritedFlags().Lookup(flag) == nil {
			t.Errorf("%s says %q, and there is no flag --%s", name, line, flag)
		}
	}
}

// TestArchitecture holds the list of packages to the tree: every package is named, and every
// one that is named exists.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	exists := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir != "." && !strings.Contains(s.dir, "testdata") {
			exists[s.dir] = true
		}
	}
	for dir := range exists {
		if !named[dir] {
			t.Errorf("docs/architecture.md does not name the package %s", dir)
		}
	}
	for dir := range named {
		if !exists[dir] {
			t.Errorf("docs/architecture.md names the package %s, which does not exist", dir)
		}
	}
}
