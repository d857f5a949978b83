// Package file opens the files that a person names on the command line or in the
// configuration. It imports nothing that talks to a server, so that what only plays a
// recording needs no Redis client.
//
// Open and Read take regular files alone: a device such as /dev/zero never ends, and a
// pipe may never begin.
package file

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ratescope/model/safetext"
)

// MaxText bounds, in bytes, what Read takes for a file that a person writes by hand: a
// configuration, a scenario, a password.
const MaxText = 1 << 20

// Open opens a regular file for reading. The error is one sentence that names the file.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name) // before it is opened: opening a pipe waits for its writer
	if err := regular(name, info, err); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	info, err = f.Stat()
	if err := regular(name, info, err); err != nil { // it may have been replaced in between
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(name string, info fs.FileInfo, err error) error {
	switch {
	case err != nil:
		return unreadable(name, err)
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", safetext.Clean(name))
	}
	return fmt.Errorf("%s is no regular file: copy what it holds into one", safetext.Clean(name))
}

// Read returns the content of a regular file of at most MaxText bytes. The error is one
// sentence that names the file.
func Read(name string) ([]byte, error) { return read(name, MaxText) }

// ReadAny returns the content of a regular file of at most so many bytes, and nil where there is no file of that name. The error is
// one sentence that names the file.
func ReadAny(name string, most int64) ([]byte, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return read(name, most)
}

func read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case int64(len(content)) > most:
		return nil, fmt.Errorf("%s has more than the %d bytes that are read: check the name", safetext.Clean(name), most)
	}
	return content, nil
}

func unreadable(name string, err error) error {
	name = safetext.Clean(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s: check the name", name)
	}
	return fmt.Errorf("%s cannot be read: %w", name, bare(err))
}

// Unwritable returns the sentence that a file cannot be written, why, and what to do.
func Unwritable(name string, err error) error {
	remedy := "choose a folder that you may write to"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "make its folder, or choose another one"
	case errors.Is(err, fs.ErrExist):
		remedy = "give another name"
	case errors.Is(err, syscall.ENOSPC):
		remedy = "make room, or choose another disk"
	}
	return fmt.Errorf("%s cannot be written (%w): %s", safetext.Clean(name), bare(err), remedy)
}

// bare returns an error of the file system without the path, for a sentence that has it.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	if l := (*os.LinkError)(nil); errors.As(err, &l) {
		return l.Err
	}
	return err
}

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
	size, err := private(f)
	if last := make([]byte, 1); err == nil && size > 0 {
		if _, err = f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			_, err = f.Write([]byte{'\n'})
		}
	}
	if err != nil {
		f.Close()
		return nil, bare(err)
	}
	return f, nil
}

// private returns the size of f, which has to be a regular file that its owner, this user, alone may use.
func private(f *os.File) (size int64, err error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return 0, bare(err)
	case !info.Mode().IsRegular():
		return 0, errors.New("it is no regular file: remove it or name another")
	case !owned(info):
		return 0, errors.New("it belongs to another user: remove it")
	case !exclusive(info):
		return 0, fmt.Errorf("others may use it (%v): run chmod 600 %s", info.Mode().Perm(), safetext.Clean(f.Name()))
	}
	return info.Size(), nil
}

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
		return fmt.Errorf("%s cannot be written, it has changed meanwhile: try again", safetext.Clean(name))
	}
	if err := Create(path, true, func(f *os.File) error {
		_, err := f.Write(content)
		return cmp.Or(err, f.Chmod(mode), f.Sync())
	}); err != nil {
		return Unwritable(name, err)
	}
	return nil
}

// Create writes a file that is for its owner alone, and gives it its name when it is whole; one that is there is written over with
// force alone. A file that cannot be finished does not stay. The error is one clause without the name.
func Create(name string, force bool, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return bare(err)
	}
	defer os.Remove(f.Name())
	if err = cmp.Or(write(f), f.Close()); err != nil {
		return bare(err)
	}
	if !force { // unlike a rename, a link writes over nothing; where a file system has none, the name is taken first
		if err = os.Link(f.Name(), name); err == nil || errors.Is(err, fs.ErrExist) {
			return bare(err)
		}
		taken, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return bare(err)
		}
		taken.Close()
	}
	return bare(os.Rename(f.Name(), name))
}
