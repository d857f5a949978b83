package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"ratescope/model/safetext"
)

// OpenFile opens a file that a person named, to read it. The error is a UsageError of one
// sentence that names the file.
func OpenFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return f, nil
}

// ReadFile reads the whole of a file that a person named. Errors are those of OpenFile.
func ReadFile(name string) ([]byte, error) {
	f, err := OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return content, nil
}

func unreadable(name string, err error) error {
	name = safetext.Clean(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Usagef("there is no file %s: check the name", name)
	}
	return Usagef("%s cannot be read: %w", name, bare(err))
}

// Unwritable says in one sentence that a file cannot be written, and why.
func Unwritable(name string, err error) error {
	return fmt.Errorf("%s cannot be written: %w", safetext.Clean(name), bare(err))
}

// bare is an error of the file system without the path, for a sentence that has it.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}
