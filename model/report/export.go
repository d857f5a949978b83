package report

import (
	"fmt"
	"os"
	"path/filepath"

	"ratescope/model"
)

// Export writes the snapshot of b to a new file in a folder and returns its path. The
// name says when, by the server's clock; a file that is there already is never changed.
func Export(folder string, b model.Batch, o Options) (path string, err error) {
	path = filepath.Join(folder, "ratescope-"+b.At.Time().Format("20060102-150405.000")+".json")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("nothing was exported to %s: %w", path, err)
	}
	if err = SnapshotOf(b, o).JSON(f); err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", fmt.Errorf("the export to %s is not whole: %w", path, err)
	}
	return path, nil
}
