package report

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// CommandLines returns the lines of redis-cli that take the oldest request back, where the key's form has one, and that reset the
// key, with comments, for a shell such as bash. Whatever a name holds stays one argument. Nothing is run.
func CommandLines(r *model.Reading, server model.Server, now limiter.Instant) string {
	oldest := ""
	if keys := held(r, now); r.Type == "zset" && len(keys) == 1 {
		oldest = fmt.Sprintf("# frees one slot: takes the oldest request out of the log\n%s ZPOPMIN %s\n", command(server), shellQuote(keys[0]))
	}
	return missing(server) + oldest + changeLines(r, server, model.Change{Kind: model.Free}, now)
}

// ChangeLines returns the lines of redis-cli for a change, or a comment where no single command makes it.
func ChangeLines(r *model.Reading, server model.Server, change model.Change, now limiter.Instant) string {
	return missing(server) + changeLines(r, server, change, now)
}

func changeLines(r *model.Reading, server model.Server, change model.Change, now limiter.Instant) string {
	c := command(server)
	switch change.Kind {
	case model.Give:
		return give(r, c, change.Units, now)
	case model.Block:
		return fmt.Sprintf("# denies every request for %v, where the limiter looks for a block\n%s SET %s %s PX %d\n", change.For, c,
			shellQuote(layout.BlockedKey(r.Key)), strconv.FormatInt(int64(now.Add(change.For)), 10), change.For.Milliseconds())
	case model.Unblock:
		return fmt.Sprintf("# ends the block\n%s UNLINK %s\n", c, shellQuote(layout.BlockedKey(r.Key)))
	}
	keys := collect.Map(held(r, now), shellQuote)
	if server.Role != "cluster" { // where they may be in several slots
		keys = []string{strings.Join(keys, " ")}
	}
	lines := collect.Map(keys, func(key string) string { return fmt.Sprintf("%s UNLINK %s\n", c, key) })
	return "# resets the limit: every key has its whole limit again\n" + strings.Join(lines, "")
}

// CheckChangeLines returns an error, one sentence, where no lines make a change: no other library looks for a block of ours, and some
// forms no single command changes.
func CheckChangeLines(r *model.Reading, server model.Server, change model.Change, now limiter.Instant) error {
	if t := &r.Target; (t.Foreign() || t.Described) && (change.Kind == model.Block || change.Kind == model.Unblock) {
		return fmt.Errorf("%s looks for no block", cmp.Or(t.Library, "its program"))
	}
	lines := changeLines(r, server, change, now)
	if strings.Count(lines, "\n") > 1 { // a command follows the comment
		return nil
	}
	return errors.New(strings.TrimSpace(strings.TrimPrefix(lines, "#")))
}

// nowhere calls redis-cli so that it connects to no server until a person fills in HOST and PORT.
const nowhere = "redis-cli -h HOST -p PORT"

// missing returns a line of comment that says what to fill in; "" where the target of a server is an address for redis-cli.
func missing(server model.Server) string {
	if !strings.HasPrefix(command(server), nowhere) {
		return ""
	}
	return "# redis-cli needs -h and -p of " + safetext.Clean(cmp.Or(server.Target, "the server")) + ": fill in HOST and PORT\n"
}

// command returns how redis-cli is called for a server.
func command(server model.Server) string {
	c := nowhere
	first, _, several := strings.Cut(server.Target, ", ")
	switch u, err := url.Parse(first); {
	case err != nil, strings.Contains(server.Target, " by "): // the address is that of exporters elsewhere
	case u.Scheme == "unix" && u.Path != "":
		c = "redis-cli -s " + shellQuote(u.Path)
	case u.Scheme == "redis", u.Scheme == "rediss":
		c = "redis-cli -u " + shellQuote(first)
	}
	if server.DB > 0 {
		c += fmt.Sprintf(" -n %d", server.DB)
	}
	if several || server.Role == "cluster" {
		c += " -c"
	}
	return c
}

// held returns the keys that hold what a limiter has counted.
func held(r *model.Reading, now limiter.Instant) []string {
	if windows := r.Target.Library == model.OwnLibrary || r.Target.Layout.Suffixed; len(r.Members) > 0 && !windows {
		stored, ok := r.Target.StoredLimit(r.Key)
		return slices.DeleteFunc(slices.Clone(r.Members), func(k string) bool { // without its hash, Redisson refuses every request
			return ok && stored.Left != "" && k == stored.Key
		})
	}
	return r.Target.Keys(r.Key, now)
}

// give takes units off the forms that one command changes: a log, and a counter that holds them.
func give(r *model.Reading, c string, units int64, now limiter.Instant) string {
	if lines := raise(r, c, model.Change{Kind: model.Give, Units: units}); lines != "" {
		return lines
	}
	keys := held(r, now)
	kind := describe.KindOf(r.Target.Algorithm)
	counter := kind == describe.Window || kind == describe.Weighted
	switch current := r.Gauge(now).Current; {
	case r.Type == "zset" && len(keys) == 1:
		return fmt.Sprintf("# gives %d more: takes the newest requests out of the log\n%s ZREMRANGEBYRANK %s %d -1\n", units, c,
			shellQuote(keys[0]), -units)
	case r.Type == "string" && counter && len(keys) > 0 && current.Known && current.N > 0:
		n := min(units, current.N)
		return fmt.Sprintf("# gives %d more, of the %d in the window now; the counter must not fall below 0\n%s DECRBY %s %d\n", n,
			current.N, c, shellQuote(keys[0]), n)
	case r.Type == "string" && counter:
		return "# the window has no requests that could be given back\n"
	}
	return fmt.Sprintf("# no single command gives room to this form (%s): free it, or let ratescope write\n", r.Target.Algorithm)
}

// shellQuote returns a string as one word of bash: between single quotes, or, where it holds
// bytes that a terminal may obey or lose, with escapes between $' and '.
func shellQuote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
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

// raise returns the lines that raise a limit that its library keeps in Redis, with those that take it
// back as comments; "" for others.
func raise(r *model.Reading, c string, change model.Change) string {
	stored, ok := r.Target.StoredLimit(r.Key)
	what, raises := r.Target.RaiseOf(r.Key, change)
	if !ok || !raises {
		return ""
	}
	text, key, units := fmt.Sprintf("# raises %s, until its application sets it anew", what), shellQuote(stored.Key), change.Units
	switch r.Target.Library {
	case "redisson":
		text += fmt.Sprintf("; back: HSET %s rate %d\n%s HSET %s rate %d\n", key, what.From.Count, c, key, what.To.Count)
		if slices.Contains(r.Members, stored.Left) {
			text += fmt.Sprintf("# adds as much to the permits that are left; back: DECRBY\n%s INCRBY %s %d\n", c,
				shellQuote(stored.Left), units)
		}
		return text
	case "bucket4j":
		if slices.Contains(r.Notes, model.OneOfSeveral) {
			return "# its value holds several limits: call replaceConfiguration in its application, or free it\n"
		}
		back := ""
		set := func(at int, from, to int64) string {
			back += fmt.Sprintf("# printf '%s' | %s -x SETRANGE %s %d\n", octal(from), c, key, at)
			return fmt.Sprintf("printf '%s' | %s -x SETRANGE %s %d\n", octal(to), c, key, at)
		}
		lines := set(model.Bucket4jCapacity, what.From.Burst, what.To.Burst)
		if what.To.Count != what.From.Count {
			lines += set(model.Bucket4jRefill, what.From.Count, what.To.Count)
		}
		return text + "; its tokens come with the next refills\n" + lines + "# back:\n" + back
	}
	from, to := what.From.Count, what.To.Count
	if r.Target.Algorithm == limiter.TokenBucket { // the size of its buckets
		from, to = what.From.Burst, what.To.Burst
	}
	return text + fmt.Sprintf("; back: SET %s %d KEEPTTL\n%s SET %s %d KEEPTTL\n", key, from, c, key, to)
}

// octal writes a number of eight bytes, the highest first, as printf reads it.
func octal(n int64) string {
	var b strings.Builder
	for shift := 56; shift >= 0; shift -= 8 {
		fmt.Fprintf(&b, "\\%03o", byte(n>>shift))
	}
	return b.String()
}
