package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ratescope/model/safetext"
)

// Append opens a file for appending lines that only its owner may read, and creates it
// and its folder with permissions for the owner alone. It refuses what another user could
// have put there to be written through or to be read: a symbolic link, a pipe or a device,
// a file of another owner, a file that others may read or write. Where the last line is
// torn, because a program or its machine went down in the middle of it, the file goes on
// in a new line. The error is one clause without the name.
func Append(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, bare(err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		if info, failed := os.Lstat(name); failed == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, errors.New("it is a symbolic link: remove it")
		}
		return nil, bare(err)
	}
	if err = private(f); err == nil {
		err = endLine(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// private returns nil when f is a regular file that its owner, this user, alone may use.
func private(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return bare(err)
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file: remove it or name another")
	case !owned(info):
		return errors.New("it belongs to another user: remove it")
	case !exclusive(info):
		return fmt.Errorf("others may use it (%v): run chmod 600 %s", info.Mode().Perm(), safetext.Clean(f.Name()))
	}
	return nil
}

// endLine ends a line that was torn.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return bare(err)
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = f.Write([]byte{'\n'})
	return err
}
