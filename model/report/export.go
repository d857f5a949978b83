package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/marker"
)

// Export writes the snapshot of b to a new file in a folder and returns its path. The
// name says when, by the server's clock; a file that is there already is never changed.
func Export(folder string, b model.Batch, o Options) (path string, err error) {
	return export(folder, b.At, "json", func(w io.Writer) error { return SnapshotOf(b, o).JSON(w) })
}

// ExportRows writes a row for every reading of b, at b's instant, to a new file as Export does.
func ExportRows(folder string, b model.Batch, f Format, o Options) (path string, err error) {
	rows := make([]Row, len(b.Readings))
	for i := range b.Readings {
		rows[i] = RowOf(&b.Readings[i], b.At, o)
	}
	return export(folder, b.At, string(f), func(w io.Writer) error { return WriteRows(w, f, b.Server.Target, rows) })
}

// ExportEvents writes what happened at a server to a new file as Export does.
func ExportEvents(folder string, at limiter.Instant, f Format, server string, list []marker.Marker, o Options) (path string, err error) {
	return export(folder, at, "events."+string(f), func(w io.Writer) error { return WriteEvents(w, f, server, list, o) })
}

func export(folder string, at limiter.Instant, extension string, write func(io.Writer) error) (path string, err error) {
	path = filepath.Join(folder, "ratescope-"+at.Time().Format("20060102-150405.000")+"."+extension)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("nothing was exported to %s: %w", path, err)
	}
	if err = write(f); err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", fmt.Errorf("the export to %s is not whole: %w", path, err)
	}
	return path, nil
}
