package file

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts content into the place of a file whose content is was, nil where there is none
// yet. A reader sees the one or the other and nothing in between; permissions are kept, a new
// file is for its owner alone, and of a symbolic link the file that it leads to is replaced. It
// refuses where the file has changed since was was read. The error is one sentence that names
// the file.
func Replace(name string, was, content []byte) error {
	path, mode := name, fs.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(name); err == nil {
		path = target
	}
	now, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return Unwritable(name, err)
		}
	case err != nil:
		return unreadable(name, err)
	default:
		info, err := os.Stat(path)
		if err != nil {
			return unreadable(name, err)
		}
		mode = info.Mode().Perm()
	}
	if !bytes.Equal(now, was) {
		return Unwritable(name, errors.New("it has changed meanwhile: try again"))
	}
	if err := replace(path, content, mode); err != nil {
		return Unwritable(name, err)
	}
	return nil
}

// replace writes a file beside the one at path, and gives it its name when it is on disk.
func replace(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = cmp.Or(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
