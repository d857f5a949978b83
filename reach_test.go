package main

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
	"testing"
)

// TestReach bounds the methods that can be called on a type: its own and those of the types that it embeds,
// of whatever package. A type that embeds what it uses offers all of that as its own, and can be made and
// tested with all of it only. What is embedded from other modules does not count: it is one fact each.
func TestReach(t *testing.T) {
	const most = 60
	wider := map[string]int{"limiter/redisstore.Store": 62}           // may only fall
	methods, embedded := map[string][]string{}, map[string][]string{} // by "folder.Type"
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		imports := map[string]string{}
		for _, spec := range s.file.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			name := path.Base(p)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imports[name] = strings.TrimPrefix(p, "ratescope/")
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					of := typeName(n.Recv.List[0].Type, s.dir, imports)
					methods[of] = append(methods[of], n.Name.Name)
				}
				return false
			case *ast.TypeSpec:
				if st, ok := n.Type.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						if len(f.Names) == 0 {
							embedded[s.dir+"."+n.Name.Name] = append(embedded[s.dir+"."+n.Name.Name], typeName(f.Type, s.dir, imports))
						}
					}
				}
			}
			return true
		})
	}
	if len(methods) < 10 || len(embedded) < 10 {
		t.Fatalf("%d types with methods and %d that embed others were found: the rule holds for nothing", len(methods), len(embedded))
	}
	dir := func(of string) string { return of[:strings.LastIndex(of, ".")] }
	var reach func(of, from string, names map[string]bool)
	reach = func(of, from string, names map[string]bool) {
		for _, name := range methods[of] {
			if name != "" && (ast.IsExported(name) || dir(of) == from) {
				names[name] = true
			}
		}
		for _, e := range embedded[of] {
			reach(e, from, names)
		}
	}
	for of := range embedded {
		methods[of] = append(methods[of], "") // also a type without methods of its own
	}
	for of := range methods {
		names := map[string]bool{}
		if reach(of, dir(of), names); len(names) > max(most, wider[of]) {
			t.Errorf("%d methods can be called on %s, more than %d: name the fields that it embeds, or split it", len(names), of, most)
		}
	}
}

// typeName returns a type of a receiver or a field as "folder.Type"; the folder of another module is its path.
func typeName(x ast.Expr, dir string, imports map[string]string) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X, dir, imports)
	case *ast.IndexExpr:
		return typeName(x.X, dir, imports)
	case *ast.IndexListExpr:
		return typeName(x.X, dir, imports)
	case *ast.SelectorExpr:
		return imports[x.X.(*ast.Ident).Name] + "." + x.Sel.Name
	case *ast.Ident:
		return dir + "." + x.Name
	}
	return ""
}
