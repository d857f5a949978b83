package sandbox

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"ratescope/limiter"
)

// TestSpareAnswersAsRedis sends random commands at two keys to two servers, of which one answers by the scores where it can. Both
// answer alike, whatever came between.
func TestSpareAnswersAsRedis(t *testing.T) {
	var pair [2]*embedded
	for i := range pair {
		e, err := newEmbedded("return 1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.close() })
		pair[i] = e
	}
	r := rand.New(rand.NewPCG(1, 2))
	at, known := limiter.InstantOf(time.Unix(1_700_000_000, 0)), 0
	for n := range 20_000 {
		key, other, score := string("ab"[r.IntN(2)]), string("ab"[r.IntN(2)]), fmt.Sprint(r.IntN(40))
		low, high := fmt.Sprint(r.IntN(20)-5), fmt.Sprint(r.IntN(40))
		args := [][]string{
			{"ZADD", key, score, fmt.Sprint("m", r.IntN(30))}, {"ZADD", key, score, fmt.Sprint("m", r.IntN(30))},
			{"ZADD", key, "5", "x", score, "y"}, {"ZADD", key, "NX", score, "z"}, {"ZADD", key}, {"ZINCRBY", key, "-3", "m1"},
			{"ZREM", key, fmt.Sprint("m", r.IntN(30))}, {"ZREMRANGEBYSCORE", key, "-inf", score}, {"ZREMRANGEBYSCORE", key, low, "(" + high},
			{"ZCOUNT", key, low, high}, {"ZCOUNT", key, "-inf", score}, {"ZCARD", key}, {"ZRANGE", key, "0", "0"}, {"DEL", key},
			{"PEXPIRE", key, "50"}, {"RENAME", key, other}, {"SET", key, "1"}, {"ZUNIONSTORE", key, "2", key, other}, {"HSET", key, "f", "1"},
		}[r.IntN(19)]
		if at = at.Add(time.Duration(r.IntN(10)) * time.Millisecond); n%50 == 0 {
			for _, e := range pair {
				_ = e.setClock(at)
			}
		}
		if _, ok := pair[0].spare(args[0], args); ok {
			known++
		}
		got, err := pair[0].dispatch(args)
		want, failed := pair[1].send(args)
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(failed) {
			t.Fatalf("%d: %q is answered by %v, %v; want %v, %v", n, args, got, err, want, failed)
		}
	}
	if known < 500 {
		t.Errorf("%d answers are by the scores", known)
	}
}
