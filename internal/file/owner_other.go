//go:build !unix

package file

import "io/fs"

// noFollow is no option here.
const noFollow = 0

// owned and exclusive are true where access lists, not modes, say who may use a file: it
// is in a folder of this user.
func owned(fs.FileInfo) bool     { return true }
func exclusive(fs.FileInfo) bool { return true }
