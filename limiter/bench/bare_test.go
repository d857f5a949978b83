package bench

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// bareCalls are the bounds of what a limiter can do: the script that decides, called by its
// digest, and nothing made of its answer. plain goes through go-redis, one call at a time;
// rueidis through a client that puts the calls of all goroutines into one pipeline.
func bareCalls(b *testing.B, client *redis.Client, address string, keys []string) []remote {
	pipelined, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pipelined.Close)
	var all []remote
	for name, a := range map[string]limiter.Algorithm{"fixed": limiter.FixedWindow, "gcra": limiter.GCRA, "log": limiter.SlidingLog} {
		type call struct{ keys, args []string }
		calls := map[string]call{}
		digest := ""
		for _, key := range keys {
			words, err := redisstore.Call(a, key, limiter.Limit{Count: 1_000_000, Window: time.Minute}, 1)
			if err != nil {
				b.Fatal(err)
			}
			sum := sha1.Sum([]byte(words[1]))
			digest = hex.EncodeToString(sum[:])
			if err := client.ScriptLoad(context.Background(), words[1]).Err(); err != nil {
				b.Fatal(err)
			}
			calls[key] = call{words[3:4], words[4:]}
		}
		all = append(all, remote{name + "/plain EVALSHA", func(ctx context.Context, key string) error {
			c := calls[key]
			args := make([]any, len(c.args))
			for i, arg := range c.args {
				args[i] = arg
			}
			return client.EvalSha(ctx, digest, c.keys, args...).Err()
		}}, remote{name + "/rueidis EVALSHA", func(ctx context.Context, key string) error {
			c := calls[key]
			return pipelined.Do(ctx, pipelined.B().Evalsha().Sha1(digest).Numkeys(1).Key(c.keys...).Arg(c.args...).Build()).Error()
		}})
	}
	return all
}
