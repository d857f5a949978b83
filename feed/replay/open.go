package replay

import (
	"context"
	"fmt"
	"io"
	"math"

	"ratescope/internal/file"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/model/safetext"
)

// Open finds its way through the recording of that name, or the one in the capsule of that
// name, and returns what ends it. The error is one sentence that names the file.
func Open(ctx context.Context, name string) (*record.File, io.Closer, error) {
	in, under, err := Stream(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := record.Open(ctx, in)
	if err != nil {
		under.Close()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, fmt.Errorf("%s cannot be replayed: %w", safetext.Clean(name), err)
	}
	return f, under, nil
}

// Stream opens a file, of a capsule the recording in it, and returns what closes it. The error
// is one sentence that names the file.
func Stream(name string) (*io.SectionReader, io.Closer, error) {
	f, err := file.Open(name)
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, 4)
	if n, _ := f.ReadAt(head, 0); !report.RecognizeCapsule(head[:n]) {
		return io.NewSectionReader(f, 0, math.MaxInt64), f, nil
	}
	info, err := f.Stat()
	if err == nil {
		var in *io.SectionReader
		if in, err = report.CapsuleRecording(f, info.Size()); err == nil {
			return in, f, nil
		}
	}
	f.Close()
	return nil, nil, fmt.Errorf("%s cannot be opened: %w", safetext.Clean(name), err)
}

// MaxRead bounds, in bytes, the recording that Read takes.
const MaxRead = 256 << 20

// Read returns the content of a recording, also of one in a capsule, and that of any other file
// as file.Read does. The error is one sentence that names the file.
func Read(name string) ([]byte, error) {
	in, under, err := Stream(name)
	if err != nil {
		return nil, err
	}
	defer under.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(in, head)
	if !record.Recognize(head[:n]) {
		return file.Read(name)
	}
	if _, err = in.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", safetext.Clean(name), err)
	}
	content, err := io.ReadAll(io.LimitReader(in, MaxRead+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", safetext.Clean(name), err)
	case len(content) > MaxRead:
		return nil, fmt.Errorf("%s is a recording of more than %d million bytes: record a shorter time", safetext.Clean(name), MaxRead/1_000_000)
	}
	return content, nil
}
