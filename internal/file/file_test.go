//go:build unix

package file_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ratescope/internal/file"
)

func TestRegularFilesOnly(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	if err := os.WriteFile(path("small"), []byte("rules: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path("small"), path("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("large"), make([]byte, file.MaxText+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("full"), make([]byte, file.MaxText), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		path("small"): "", path("link"): "", path("full"): "",
		path("large"):   "more than the 1048576 bytes",
		path("fifo"):    "no regular file", // opening it would wait for a writer for ever
		"/dev/zero":     "no regular file",
		folder:          "is a folder",
		path("missing"): "there is no file",
	} {
		content, err := file.Read(name)
		switch {
		case want == "" && (err != nil || len(content) == 0):
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name)):
			t.Errorf("%s: %v, want it to say %q", name, err, want)
		}
	}
}

// TestAppend refuses what another user could have put in place of the file, and goes on
// in a new line after a torn one.
func TestAppend(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	for name, text := range map[string]string{"torn": "{\"a\":1}\n{\"b\"", "whole": "{\"a\":1}\n", "empty": ""} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"torn": "{\"a\":1}\n{\"b\"\nx\n", "whole": "{\"a\":1}\nx\n", "empty": "x\n", "sub/new": "x\n",
	} {
		f, err := file.Append(path(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.WriteString("x\n")
		f.Close()
		if got, _ := os.ReadFile(path(name)); string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	for what, mode := range map[string]os.FileMode{"sub": 0o700, "sub/new": 0o600} {
		if info, err := os.Stat(path(what)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", what, info, err, mode)
		}
	}

	os.Symlink(path("whole"), path("link"))
	os.Symlink(path("nothing"), path("dangling"))
	syscall.Mkfifo(path("fifo"), 0o600)
	os.WriteFile(path("open"), nil, 0o644)
	os.Chmod(path("open"), 0o644)
	for name, want := range map[string]string{
		path("link"): "symbolic link", path("dangling"): "symbolic link", path("fifo"): "no regular file",
		path("open"): "chmod 600", "/dev/null": "no regular file", folder: "is a directory",
	} {
		f, err := file.Append(name)
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := os.Stat(path("nothing")); err == nil {
		t.Error("a file was created through a symbolic link")
	}
	if os.Geteuid() == 0 { // only root can give a file away
		os.WriteFile(path("foreign"), nil, 0o600)
		os.Chown(path("foreign"), 1, 1)
		if _, err := file.Append(path("foreign")); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("a file of another user: %v", err)
		}
	}
}

// TestUnwritableNamesARemedy: a folder that is not there, and one that this user may not write to.
func TestUnwritableNamesARemedy(t *testing.T) {
	for cause, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}: "a/b cannot be written (no such file or directory): make its folder, or choose another one",
		syscall.EACCES: "a/b cannot be written (permission denied): choose a folder that you may write to",
		syscall.EROFS:  "a/b cannot be written (read-only file system): choose a folder that you may write to",
		syscall.ENOSPC: "a/b cannot be written (no space left on device): make room, or choose another disk",
	} {
		if got := file.Unwritable("a/b", cause).Error(); got != want {
			t.Errorf("%v: %q, want %q", cause, got, want)
		}
	}
}
