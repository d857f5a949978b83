//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// noFollow refuses symbolic links, and does not wait for the reader of a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// owned reports whether this user owns a file.
func owned(info fs.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && int(stat.Uid) == os.Geteuid()
}

// exclusive reports whether its owner alone may use a file.
func exclusive(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
