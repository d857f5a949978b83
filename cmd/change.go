package cmd

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ratescope/feed/cli"
	"ratescope/model"
)

// afterChange ends the help of each command that changes a key.
const afterChange = "\n\nIt needs --allow-inject, is in the audit file before it is sent, and ratescope undo takes it back where no other program has written since: " +
	"what is removed is saved first, with its expiry. --lines writes nothing and prints the lines of redis-cli that do it by hand. " +
	"Of keys of other libraries those that can be fired at can be freed; where Upstash, Redisson or Bucket4j keeps the limit itself in Redis, give raises that."

func newFree(p *program) *cobra.Command {
	return changeCommand(p, &cobra.Command{
		Use: "free KEY", Short: "Make a key as new",
		Long:    "Make a key as new: what it has counted is removed, and a block, too. The denials that were recorded stay." + afterChange,
		Example: "ratescope free rl:alice --redis redis://localhost:6379 --allow-inject",
	}, 1, func([]string) (model.Change, error) { return model.Change{Kind: model.Free}, nil })
}

func newGive(p *program) *cobra.Command {
	return changeCommand(p, &cobra.Command{
		Use: "give KEY [N]", Short: "Give a key room for N more requests",
		Long: "Give a key room for N more requests, 20 without N: the newest that count are refunded, never more than are there.\n\n" +
			"Where a library keeps the limit itself in Redis (the dynamic limit of @upstash/ratelimit, the hash of Redisson, the value of Bucket4j) that limit is raised by N, for all who share it, until its application sets it anew; " +
			"undo lowers it again, also where requests were counted since, and is refused where the limit was set since." + afterChange,
		Example: "ratescope give rl:alice 20 --redis redis://localhost:6379 --allow-inject",
	}, 2, func(rest []string) (model.Change, error) {
		c := model.Change{Kind: model.Give, Units: model.UsualGift}
		if len(rest) > 0 {
			n, err := strconv.ParseInt(rest[0], 10, 64)
			if err != nil {
				return c, cli.Usagef("give does not take %q: name a key and how many units, as in give rl:alice 20", rest[0])
			}
			c.Units = n
		}
		return c, nil
	})
}

func newBlock(p *program) *cobra.Command {
	c := &cobra.Command{
		Use: "block KEY", Short: "Deny every request of a key for a while",
		Long:    "Deny every request of a key for a while. Only limiters of this project that were made with a Block look for it, and nothing on the server says so before the first block." + afterChange,
		Example: "ratescope block rl:alice --for 10m --redis redis://localhost:6379 --allow-inject",
	}
	lasts := c.Flags().Duration("for", 10*time.Minute, "how long, 1ms to 24h")
	return changeCommand(p, c, 1, func([]string) (model.Change, error) { return model.Change{Kind: model.Block, For: *lasts}, nil })
}

func newUnblock(p *program) *cobra.Command {
	return changeCommand(p, &cobra.Command{
		Use: "unblock KEY", Short: "End the block of a key",
		Long:    "End the block of a key. What it has counted stays." + afterChange,
		Example: "ratescope unblock rl:alice --redis redis://localhost:6379 --allow-inject",
	}, 1, func([]string) (model.Change, error) { return model.Change{Kind: model.Unblock}, nil })
}

// changeCommand completes a command that changes a key; read makes the change of the arguments after the
// key, of which there are at most so many with it.
func changeCommand(p *program, c *cobra.Command, most int, read func(rest []string) (model.Change, error)) *cobra.Command {
	var order cli.FireOptions
	c.Flags().StringVar(&order.Reason, "reason", "", "why, for the audit file")
	lines := c.Flags().Bool("lines", false, "write nothing, and print the lines of redis-cli")
	p.jsonFlag(c)
	p.keyFlag(c)
	return p.command(c, func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > most {
			return p.key(c, args, nil) // says what is wrong
		}
		change, err := read(args[1:])
		if err != nil {
			return err
		}
		return p.key(c, args[:1], func(src cli.Server, name string) error {
			order.Armed, order.Refused, order.Production, order.Ask = p.armed(), p.refused(), p.Named().Production, question()
			return cli.Change(c.Context(), src, model.Order{Key: name, Change: change}, order, *lines, p.output(c))
		})
	}, screenFlags, []string{"ascii", "watch", "refresh"})
}
