package limiter_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestStandardLibraryOnly lists all that a program links that limits in memory: nothing but
// this library's own packages and the standard library.
func TestStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".", "./layout", "./httplimit").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if !strings.HasPrefix(dep, "ratescope/limiter") {
			t.Errorf("package limiter needs %s", dep)
		}
	}
}
