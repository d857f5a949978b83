package rediscli

import (
	"fmt"
	"slices"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
)

// counted leaves out of the keys of a limiter those that hold how it limits: without its hash,
// Redisson refuses every request with an error.
func counted(r *model.Reading, keys []string) []string {
	stored, ok := r.Target.StoredLimit(r.Key)
	if !ok || stored.Left == "" {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == stored.Key })
}

// raise returns the lines that raise a limit that its library keeps in Redis, with those that take it
// back as comments; "" for others.
func raise(r *model.Reading, c string, change model.Change) string {
	stored, ok := r.Target.StoredLimit(r.Key)
	what, raises := r.Target.RaiseOf(r.Key, change)
	if !ok || !raises {
		return ""
	}
	text, key, units := fmt.Sprintf("# raises %s, until its application sets it anew", what), ShellQuote(stored.Key), change.Units
	switch r.Target.Library {
	case "redisson":
		text += fmt.Sprintf("; back: HSET %s rate %d\n%s HSET %s rate %d\n", key, what.From.Count, c, key, what.To.Count)
		if slices.Contains(r.Members, stored.Left) {
			text += fmt.Sprintf("# adds as much to the permits that are left; back: DECRBY\n%s INCRBY %s %d\n", c, ShellQuote(stored.Left), units)
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
