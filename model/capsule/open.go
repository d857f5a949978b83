package capsule

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// magic begins a zip file that is not empty.
const magic = "PK\x03\x04"

// Recognize says whether the first bytes of a file may be those of a capsule.
func Recognize(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// errNotCapsule is the error of another zip file, or of one that was cut off.
var errNotCapsule = errors.New("this is no capsule, or not a whole one: give a file that \"ratescope capsule\" wrote")

// Bounds of the directory of a zip file. A capsule has nine files in it.
const (
	maxFiles     = 100
	maxDirectory = 64 << 10 // bytes
)

// Recording returns the recording in a capsule of so many bytes, to be read in place.
func Recording(r io.ReaderAt, size int64) (*io.SectionReader, error) {
	files, err := open(r, size)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name != recordingName {
			continue
		}
		offset, err := f.DataOffset()
		length := int64(f.CompressedSize64)
		switch {
		case f.Method != zip.Store:
			return nil, errors.New("the recording in this capsule was compressed once more: unpack it, and give the " + recordingName + " that was in it")
		case err != nil || length < 0 || offset < 0 || offset > size || length > size-offset:
			return nil, errNotCapsule
		}
		return io.NewSectionReader(r, offset, length), nil
	}
	return nil, errNotCapsule
}

// maxLines bounds, in bytes, what Lines returns.
const maxLines = 16 << 20

// Lines returns the lines of a file in a capsule of so many bytes, AlertsName or AuditName; nil
// where the capsule has none, or more than 16 MiB of them.
func Lines(r io.ReaderAt, size int64, name string) ([]byte, error) {
	files, err := open(r, size)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name != name || f.UncompressedSize64 > maxLines {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, errNotCapsule
		}
		defer in.Close()
		content, err := io.ReadAll(io.LimitReader(in, maxLines))
		if err != nil {
			return nil, errNotCapsule
		}
		return content, nil
	}
	return nil, nil
}

// open reads the directory of a capsule.
func open(r io.ReaderAt, size int64) ([]*zip.File, error) {
	if err := bounded(r, size); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, errNotCapsule
	}
	return z.File, nil
}

// bounded returns an error for a zip file whose directory is larger than a capsule's: to read
// that would take memory in proportion. It looks for the end of the directory as archive/zip
// does, in the last 64 KiB and the longest comment.
func bounded(r io.ReaderAt, size int64) error {
	const end = 22 // bytes of the end of the directory
	tail := make([]byte, min(size, 65<<10))
	if n, err := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) && err != nil {
		return errNotCapsule
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < end {
		return errNotCapsule
	}
	record := tail[at:]
	files, length, offset := binary.LittleEndian.Uint16(record[10:]), binary.LittleEndian.Uint32(record[12:]), binary.LittleEndian.Uint32(record[16:])
	if files > maxFiles || length > maxDirectory || int64(offset) > size { // zip64 has the largest values here
		return errNotCapsule
	}
	return nil
}
