package redisstore

import (
	"context"
	"fmt"

	"ratescope/limiter"
)

// Call returns the words of the command with which a Store decides about one request, EVAL
// with the whole script, as it is sent to a server that has not seen the script yet.
// Nothing is sent. It is for people who want to read it or try it by hand.
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
	cmd := s.reload(ctx, s.command(ctx, s.prefix+key, p, n, charges), charges)
	words := make([]string, 0, len(cmd.Args()))
	for _, arg := range cmd.Args() {
		words = append(words, fmt.Sprint(arg))
	}
	words[0] = "EVAL"
	return words, nil
}
