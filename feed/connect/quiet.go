package connect

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// quiet is a logger that writes nothing.
type quiet struct{}

// Printf drops the line.
func (quiet) Printf(context.Context, string, ...any) {}

// SilenceLogs keeps go-redis from writing to standard error, which a screen owns: what goes wrong
// is reported in the batches. It is for the program to call, once, since it holds for every
// client of the process.
func SilenceLogs() { redis.SetLogger(quiet{}) }
