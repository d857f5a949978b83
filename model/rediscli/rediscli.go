// Package rediscli writes the lines of redis-cli that change a limiter by hand, for a server that
// ratescope may not write to. Nothing is run.
package rediscli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// Lines returns the lines that take the oldest request back, where the key's form has one, and
// that reset the key, with comments, for a shell such as bash. Whatever a name holds stays one
// argument.
func Lines(r *model.Reading, server model.Server, now limiter.Instant) string {
	c := command(server)
	oldest := ""
	if keys := held(r, now); r.Type == "zset" && len(keys) == 1 {
		oldest = fmt.Sprintf("# frees one slot: takes the oldest request out of the log\n%s ZPOPMIN %s\n", c, ShellQuote(keys[0]))
	}
	return oldest + For(r, server, model.Change{Kind: model.Free}, now)
}

// For returns the lines of a change, or a comment where no single command makes it.
func For(r *model.Reading, server model.Server, change model.Change, now limiter.Instant) string {
	c := command(server)
	switch change.Kind {
	case model.Give:
		return give(r, c, change.Units, now)
	case model.Block:
		return fmt.Sprintf("# denies every request for %v, where the limiter looks for a block\n%s SET %s %s PX %d\n", change.For, c,
			ShellQuote(layout.BlockedKey(r.Key)), strconv.FormatInt(int64(now.Add(change.For)), 10), change.For.Milliseconds())
	case model.Unblock:
		return fmt.Sprintf("# ends the block\n%s UNLINK %s\n", c, ShellQuote(layout.BlockedKey(r.Key)))
	}
	return "# resets the limit: everybody has a full budget again\n" + unlink(c, server, held(r, now))
}

// Can says in one sentence why no lines make a change, or returns nil: no other library looks for a
// block of ours, and some forms no single command changes.
func Can(r *model.Reading, server model.Server, change model.Change, now limiter.Instant) error {
	if r.Target.Foreign() && (change.Kind == model.Block || change.Kind == model.Unblock) {
		return fmt.Errorf("%s looks for no block", r.Target.Library)
	}
	lines := For(r, server, change, now)
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, "#") {
			return nil
		}
	}
	return errors.New(strings.TrimSpace(strings.TrimPrefix(lines, "#")))
}

// command is how redis-cli is called for a server.
func command(server model.Server) string {
	c := "redis-cli"
	target := server.Target
	if scheme, _, ok := strings.Cut(target, "://"); ok && (scheme == "redis" || scheme == "rediss") && !strings.ContainsAny(target, ", ") {
		c += " -u " + ShellQuote(target)
	}
	if server.Role == "cluster" {
		c += " -c"
	}
	return c
}

// held returns the keys that hold what a limiter has counted.
func held(r *model.Reading, now limiter.Instant) []string {
	if windows := r.Target.Library == model.OwnLibrary || r.Target.Layout.Suffixed; len(r.Members) > 0 && !windows { // the next may have begun
		return counted(r, r.Members)
	}
	return r.Target.Keys(r.Key, now)
}

// unlink removes keys; on a cluster they may be in several slots.
func unlink(c string, server model.Server, keys []string) string {
	if server.Role == "cluster" {
		var b strings.Builder
		for _, key := range keys {
			fmt.Fprintf(&b, "%s UNLINK %s\n", c, ShellQuote(key))
		}
		return b.String()
	}
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = ShellQuote(key)
	}
	return fmt.Sprintf("%s UNLINK %s\n", c, strings.Join(quoted, " "))
}

// give takes units off the forms that one command changes: a log, and a counter that holds them.
func give(r *model.Reading, c string, units int64, now limiter.Instant) string {
	if lines := raise(r, c, model.Change{Kind: model.Give, Units: units}); lines != "" {
		return lines
	}
	keys := held(r, now)
	kind := r.Target.Algorithm.Kind()
	counter := kind == limiter.KindWindow || kind == limiter.KindWeighted
	switch current := r.Gauge(now).Current; {
	case r.Type == "zset" && len(keys) == 1:
		return fmt.Sprintf("# gives %d more: takes the newest requests out of the log\n%s ZREMRANGEBYRANK %s %d -1\n", units, c,
			ShellQuote(keys[0]), -units)
	case r.Type == "string" && counter && len(keys) > 0 && current.Known && current.N > 0:
		n := min(units, current.N)
		return fmt.Sprintf("# gives %d more, of the %d in the window now; the counter must not fall below 0\n%s DECRBY %s %d\n", n, current.N, c,
			ShellQuote(keys[0]), n)
	case r.Type == "string" && counter:
		return "# the window has no requests that could be given back\n"
	}
	return fmt.Sprintf("# no single command gives room to this form (%s): free it, or let ratescope write\n", r.Target.Algorithm)
}

// ShellQuote returns a string as one word of bash: between single quotes, or, where it holds
// bytes that a terminal may obey or lose, with escapes between $' and '.
func ShellQuote(s string) string {
	printable := true
	for i := range len(s) {
		printable = printable && s[i] >= ' ' && s[i] <= '~'
	}
	if printable {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "\\%03o", c) // three digits always: what follows cannot join them
		}
	}
	return b.String() + "'"
}
