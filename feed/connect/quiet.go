package connect

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// quiet keeps go-redis from writing to standard error, which a screen owns: what goes
// wrong is reported in the batches.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
