package file_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ratescope/internal/file"
)

// TestReplace keeps permissions and links, writes nothing over a change that came meanwhile, and
// leaves no other file behind.
func TestReplace(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "new", "config.yaml"), filepath.Join(folder, "link")
	if err := file.Replace(path, nil, []byte("a")); err != nil {
		t.Fatal(err)
	}
	holds := func(want string, mode os.FileMode) {
		t.Helper()
		content, err := os.ReadFile(path)
		info, failed := os.Stat(path)
		if err != nil || failed != nil || string(content) != want || info.Mode().Perm() != mode {
			t.Errorf("%q %v %v, want %q with %v", content, err, failed, want, mode)
		}
	}
	holds("a", 0o600)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace(link, []byte("a"), []byte("b")); err != nil {
		t.Fatal(err)
	}
	holds("b", 0o640)
	if target, err := os.Readlink(link); err != nil || target != path {
		t.Errorf("the link is %q %v", target, err)
	}
	if err := file.Replace(path, []byte("a"), []byte("c")); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("over a change: %v", err)
	}
	holds("b", 0o640)
	if err := file.Replace(folder, nil, []byte("c")); err == nil {
		t.Error("a folder was replaced")
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("the folder holds %v %v", all, err)
	}
}

// TestCreate writes over nothing without force, and leaves nothing of a file that could not be finished.
func TestCreate(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "report.md")
	write := func(text string, err error) func(*os.File) error {
		return func(f *os.File) error { _, failed := f.WriteString(text); return cmp.Or(err, failed) }
	}
	for _, c := range []struct {
		text  string
		force bool
		fails error
		says  string
		holds string
	}{
		{"torn", false, syscall.ENOSPC, "make room", ""},
		{"a", false, nil, "", "a"},
		{"b", false, nil, "(file exists): give another name", "a"},
		{"torn", true, syscall.ENOSPC, "make room", "a"},
		{"c", true, nil, "", "c"},
	} {
		err := file.Create(path, c.force, write(c.text, c.fails))
		content, _ := os.ReadFile(path)
		all, _ := os.ReadDir(folder)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(file.Unwritable(path, err).Error(), c.says) ||
			string(content) != c.holds || len(all) != min(len(c.holds), 1) {
			t.Errorf("%q, force %v: %v, it holds %q, the folder %v", c.text, c.force, err, content, all)
		}
	}
}
