package limiter

import (
	"context"
	"fmt"
)

// Call returns the words of the command with which Redis decides about one request, EVAL
// with the whole script, as it would be sent to a server that has not seen the script
// yet. Nothing is sent. It is for people who want to read it or try it by hand.
func Call(a Algorithm, key string, limit Limit, n int64, opts ...Option) ([]string, error) {
	r, err := newRedis(nil, a, opts)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	b, err := r.check(ctx, key, limit, n)
	if err != nil {
		return nil, err
	}
	cmd := r.reload(ctx, r.command(ctx, key, b, n, charges), charges)
	words := make([]string, 0, len(cmd.Args()))
	for _, arg := range cmd.Args() {
		words = append(words, fmt.Sprint(arg))
	}
	words[0] = "EVAL"
	return words, nil
}
