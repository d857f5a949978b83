package config

import (
	"context"
	"os"
	"time"

	"ratescope/internal/backoff"
)

// look is the time between two looks at whether the file has changed.
const look = time.Second

// stamp tells versions of a file apart.
type stamp struct {
	size     int64
	modified time.Time
}

func stampOf(path string) (s stamp, there bool) {
	info, err := os.Stat(path)
	if err != nil {
		return s, false
	}
	return stamp{info.Size(), info.ModTime()}, true
}

// Follow calls changed whenever the content of a file has changed, with the configuration
// or the error of Load, until ctx ends. A file that is missing for a while, as when an
// editor replaces it, is waited for.
func Follow(ctx context.Context, path string, changed func(*Config, error)) {
	was, _ := stampOf(path)
	for backoff.Sleep(ctx, look) == nil {
		now, there := stampOf(path)
		if !there || now == was {
			continue
		}
		was = now
		changed(Load(path))
	}
}
