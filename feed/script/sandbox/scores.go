package sandbox

import (
	"math"
	"strconv"
	"strings"
)

// Miniredis sorts all of a sorted set for each command that asks for scores. A log of thousands is trimmed at each
// request, mostly of nothing: a lower bound of its scores tells that without sorting.

// keepsScores are the commands that leave no lower score in a set than it had.
const keepsScores = " ZREMRANGEBYSCORE ZREMRANGEBYRANK ZREM ZPOPMIN ZPOPMAX ZCARD ZCOUNT ZSCORE ZRANK ZREVRANK ZRANGE ZREVRANGE " +
	"ZRANGEBYSCORE ZREVRANGEBYSCORE EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST PTTL EXISTS TYPE DEL UNLINK "

// spare answers what needs no look at the scores: known is false where it does.
func (e *embedded) spare(verb string, args []string) (reply any, known bool) {
	if len(args) != 4 || verb != "ZREMRANGEBYSCORE" && verb != "ZCOUNT" {
		return nil, false
	}
	lowest, known := e.lowest[args[1]]
	low, err := score(args[2])
	high, otherErr := score(args[3])
	switch {
	case !known || err != nil || otherErr != nil:
	case verb == "ZREMRANGEBYSCORE" && high < lowest:
		return 0, true
	case verb == "ZCOUNT" && low < lowest && math.IsInf(high, 1):
		reply, err = e.send([]string{"ZCARD", args[1]})
		return reply, err == nil
	}
	return nil, false
}

// learn keeps the bounds as a command leaves them.
func (e *embedded) learn(verb string, args []string) {
	switch {
	case verb == "FLUSHDB":
		clear(e.lowest)
	case len(args) < 2:
	case verb == "ZREMRANGEBYSCORE":
		reply, err := e.send([]string{"ZRANGE", args[1], "0", "0", "WITHSCORES"})
		list, _ := reply.([]any)
		e.lowest[args[1]] = math.Inf(1)
		if len(list) == 2 {
			text, _ := list[1].(string)
			e.lowest[args[1]], err = score(text)
		}
		if err != nil {
			delete(e.lowest, args[1])
		}
	case verb == "ZADD" && len(args) == 4:
		lowest, known := e.lowest[args[1]]
		if added, err := score(args[2]); err != nil {
			delete(e.lowest, args[1])
		} else if known {
			e.lowest[args[1]] = min(lowest, added)
		}
	case !strings.Contains(keepsScores, " "+verb+" "):
		for _, k := range keysOf(args) {
			delete(e.lowest, k)
		}
	}
}

// score reads a score as a command has it, without the mark of an end that is open.
func score(text string) (float64, error) {
	return strconv.ParseFloat(strings.TrimPrefix(text, "("), 64)
}
