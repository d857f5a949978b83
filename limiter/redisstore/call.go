package redisstore

import (
	"context"
	"fmt"

	"ratescope/limiter"
)

// Call returns the words of the command that a Store sends for one request to a server that does not
// know the script: EVAL with the text of the script. It sends nothing. It is for reading the command
// or trying it by hand.
func Call(a limiter.Algorithm, key string, limit limiter.Limit, n int64, opts ...Option) ([]string, error) {
	s, err := newStore(nil, a, opts)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	p, err := s.check(ctx, key, limit, n)
	if err != nil {
		return nil, err
	}
	cmd := s.server.reload(ctx, s.server.command(ctx, s.plan.named(key), p, n, charges), charges)
	words := make([]string, 0, len(cmd.Args()))
	for _, arg := range cmd.Args() {
		words = append(words, fmt.Sprint(arg))
	}
	words[0] = "EVAL"
	return words, nil
}
