package cmd

import (
	"context"
	"encoding/base64"

	"ratescope/feed"
	"ratescope/model/report"

	"github.com/spf13/cobra"
)

func newPeek(p *program) *cobra.Command {
	c := helped("peek KEY")
	p.jsonFlag(c)
	p.keyFlag(c)
	cost := c.Flags().Int64("cost", 1, "cost of the request")
	return p.command(c, several, func(c *cobra.Command, args []string) error {
		return p.key(c, args, func(src server, name string) error {
			return peekKey(c.Context(), src, name, *cost, p.output(c))
		})
	}, keyFlags)
}

// keyFlag adds the flag for keys that cannot be typed.
func (p *program) keyFlag(c *cobra.Command) {
	c.Flags().BoolVar(&p.keyBase64, "key-base64", false, "KEY is in base64, as the JSON has the names that are not valid UTF-8")
}

// key opens the server for the one key that the arguments are.
func (p *program) key(c *cobra.Command, args []string, f func(src server, name string) error) error {
	switch {
	case len(args) != 1:
		return usagef("%s needs one key and was given %d: name it as it is in Redis", c.Name(), len(args))
	case args[0] == "":
		return usagef("%s needs one key and was given an empty name: name it as it is in Redis", c.Name())
	}
	name := args[0]
	if p.keyBase64 {
		bytes, err := base64.StdEncoding.DecodeString(name)
		if err != nil || len(bytes) == 0 {
			return usagef("--key-base64 does not take %q: give what \"ratescope snapshot --json\" has as key_base64", name)
		}
		name = string(bytes)
	}
	return p.opened(func(src server) error { return f(src, name) }, name)
}

// peekKey prints what would happen to a request of a cost at the key now. src watches that key
// alone.
func peekKey(ctx context.Context, src feed.Source, key string, cost int64, o output) error {
	if cost < 1 {
		return usagef("a cost of %d is out of range: give 1 or more", cost)
	}
	batch, r, err := feed.ReadKey(ctx, src, key)
	if err != nil {
		return err
	}
	o.lacks(batch)
	if t, err := r.Aim(); err == nil && r.Type == "none" {
		r.Target, r.State.Algorithm = t, t.Algorithm // what Fire would make of it
	}
	return o.print(report.PeekOf(&r, batch.At, cost, o.Names))
}
