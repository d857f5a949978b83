package fire

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
)

// contents are the commands that read a whole key and the command that writes it anew, by type.
var contents = map[string]struct {
	read  []any // the key comes second
	write string
}{
	"string": {[]any{"get"}, "set"}, "hash": {[]any{"hgetall"}, "hset"}, "list": {[]any{"lrange", 0, -1}, "rpush"},
	"set": {[]any{"smembers"}, "sadd"}, "zset": {[]any{"zrange", 0, -1, "withscores"}, "zadd"},
}

// dryRun runs a script on an embedded Redis with a copy of its keys, and returns what it wrote there as one line.
// The server is only read.
func (l *link) dryRun(ctx context.Context, text string, keys []string, args []any, at limiter.Instant) string {
	held, err := l.copies(ctx, keys)
	if err != nil {
		return "it was not tried on a copy: " + err.Error()
	}
	call := append([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys...)
	for _, a := range args {
		call = append(call, fmt.Sprint(a))
	}
	var on sandbox.Stage
	defer on.Close()
	ran, err := on.Run(at, held, call)
	if err != nil {
		return "it failed on a copy: " + err.Error()
	}
	var wrote []string
	for _, c := range ran {
		if !connect.IsReadCommand(strings.ToLower(c.Verb())) {
			wrote = append(wrote, c.Text+" = "+c.Answer)
		}
	}
	if wrote == nil {
		return "on a copy it wrote nothing"
	}
	return "on a copy it wrote " + strings.Join(wrote, ", ")
}

// copies returns the commands that write keys of an embedded Redis as they are now. The error is a clause.
func (l *link) copies(ctx context.Context, keys []string) (list [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	for _, k := range keys {
		var typ *redis.StatusCmd
		var size *redis.IntCmd
		var left *redis.DurationCmd
		_, err := l.client().Pipelined(ctx, func(p redis.Pipeliner) error {
			typ, size, left = p.Type(ctx, k), p.MemoryUsage(ctx, k), p.PTTL(ctx, k)
			return nil
		})
		if err != nil && !replied(err) {
			return nil, fmt.Errorf("%s", connect.Explain(err, l.endpoint.Shown))
		}
		as, known := contents[typ.Val()]
		switch {
		case typ.Val() == "none":
			continue
		case !known:
			return nil, fmt.Errorf("its type is %s", typ.Val())
		case size.Val() > maxSaved:
			return nil, fmt.Errorf("it is too large")
		}
		values, err := l.client().Do(ctx, append([]any{as.read[0], k}, as.read[1:]...)...).Result()
		if err != nil {
			return nil, fmt.Errorf("%s", connect.Explain(err, l.endpoint.Shown))
		}
		words := flat([]string{as.write, k}, values)
		if typ.Val() == "zset" { // a member comes before its score, and ZADD takes it after it
			for n := 2; n+1 < len(words); n += 2 {
				words[n], words[n+1] = words[n+1], words[n]
			}
		}
		list = append(list, words)
		if ttl := left.Val(); ttl > 0 {
			list = append(list, []string{"pexpire", k, strconv.FormatInt(ttl.Milliseconds(), 10)})
		}
	}
	return list, nil
}

// flat appends a reply to words, element by element.
func flat(words []string, reply any) []string {
	switch r := reply.(type) {
	case []any:
		for _, v := range r {
			words = flat(words, v)
		}
		return words
	case map[any]any:
		for k, v := range r {
			words = flat(append(words, fmt.Sprint(k)), v)
		}
		return words
	case float64:
		return append(words, strconv.FormatFloat(r, 'f', -1, 64))
	}
	return append(words, fmt.Sprint(reply))
}
