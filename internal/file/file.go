// Package file opens the files that a person names on the command line or in the
// configuration. It imports nothing that talks to a server, so that what only plays a
// recording needs no Redis client.
//
// Open and Read take regular files alone: a device such as /dev/zero never ends, and a
// pipe may never begin.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"ratescope/model/safetext"
)

// MaxText bounds, in bytes, what Read takes for a file that a person writes by hand: a
// configuration, a scenario, a password.
const MaxText = 1 << 20

// Open opens a regular file for reading. The error is one sentence that names the file.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name) // before it is opened: opening a pipe waits for its writer
	if err != nil {
		return nil, unreadable(name, err)
	}
	if err := regular(name, info); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	if info, err = f.Stat(); err == nil { // it may have been replaced in between
		err = regular(name, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(name string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", safetext.Clean(name))
	}
	return fmt.Errorf("%s is no regular file: copy what it holds into one", safetext.Clean(name))
}

// Read returns the content of a regular file of at most MaxText bytes. The error is one
// sentence that names the file.
func Read(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxText+1))
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case len(content) > MaxText:
		return nil, fmt.Errorf("%s has more than the %d bytes that are read: check the name", safetext.Clean(name), MaxText)
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

// Unwritable returns the sentence that a file cannot be written, and why.
func Unwritable(name string, err error) error {
	return fmt.Errorf("%s cannot be written: %w", safetext.Clean(name), bare(err))
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
