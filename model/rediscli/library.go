package rediscli

import (
	"fmt"
	"slices"
	"strings"

	"ratescope/model"
)

// redissonHash returns the name of the hash that holds rate and interval of a Redisson limiter, and
// the key of the permits that are left, "" where none were taken yet.
func redissonHash(r *model.Reading) (hash, value string) {
	hash = r.Key
	if name, rest, ok := strings.Cut(strings.TrimPrefix(r.Key, "{"), "}:"); ok && strings.HasPrefix(rest, "value") {
		hash = name // each client has its own permits
	}
	for _, m := range r.Members {
		if strings.HasPrefix(m, "{"+hash+"}:value") {
			value = m
		}
	}
	return hash, value
}

// counted leaves out of the keys of a limiter those that hold how it limits: without its hash,
// Redisson refuses every request with an error.
func counted(r *model.Reading, keys []string) []string {
	if r.Target.Library != "redisson" {
		return keys
	}
	hash, _ := redissonHash(r)
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == hash })
}

// giveOf returns the lines that give room to limiters whose limit lies in Redis, with those that
// take it back as comments; "" for others.
func giveOf(r *model.Reading, c string, units int64) string {
	limit := r.Target.Limit.Count
	switch t := &r.Target; {
	case t.Library == "redisson" && t.LimitFrom == model.LimitOfKey:
		hash, value := redissonHash(r)
		text := fmt.Sprintf("# raises the limit of all who share it from %d to %d in %v, until the application sets it anew; back: HSET %s rate %d\n%s HSET %s rate %d\n",
			limit, limit+units, t.Window, ShellQuote(hash), limit, c, ShellQuote(hash), limit+units)
		if value == "" {
			return text
		}
		return fmt.Sprintf("# gives %d more once: adds to the permits that are left\n%s INCRBY %s %d\n", units, c, ShellQuote(value), units) + text
	case t.Library == "upstash-ratelimit" && t.LimitFrom == model.LimitOfSibling:
		prefix, ok := strings.CutSuffix(r.Pattern, "*")
		if !ok || strings.ContainsAny(prefix, `\*?[`) {
			return ""
		}
		key := ShellQuote(prefix + "dynamic:global")
		return fmt.Sprintf("# raises the limit of every id under %s from %d to %d, until the application sets it anew; back: SET %s %d\n%s SET %s %d\n",
			ShellQuote(prefix), limit, limit+units, key, limit, c, key, limit+units)
	case t.Library == "bucket4j":
		return "# its limits and tokens are one binary value, which no line of redis-cli changes exactly: call addTokens or replaceConfiguration in its application, or free it\n"
	}
	return ""
}
