package file_test

import (
	"os"
	"path/filepath"
	"strings"
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
