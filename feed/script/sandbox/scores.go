package sandbox

import (
	"math"
	"strconv"
	"strings"
)

// spare answers by a look at the scores what miniredis would sort a whole set for: a log of thousands is trimmed at each
// request, mostly of nothing. known is false where entries are removed, and where one stands at a bound.
func (e *embedded) spare(verb string, args []string) (reply any, known bool) {
	if len(args) != 4 || verb != "ZREMRANGEBYSCORE" && verb != "ZCOUNT" {
		return nil, false
	}
	low, err := strconv.ParseFloat(strings.TrimPrefix(args[2], "("), 64)
	high, otherErr := strconv.ParseFloat(strings.TrimPrefix(args[3], "("), 64)
	if err != nil || otherErr != nil {
		return nil, false
	}
	if least, looked := e.least[args[1]]; looked && high < least {
		return 0, true
	}
	_, lost := e.send([]string{"TYPE", args[1]}) // what is over expires
	set, _ := e.redis.SortedSet(args[1])
	if lost != nil || len(set) == 0 {
		return nil, false
	}
	inside, least := 0, math.Inf(1)
	for _, v := range set {
		if v == low || v == high {
			return nil, false
		}
		if v > low && v < high {
			inside++
		}
		least = min(least, v)
	}
	e.least[args[1]] = least
	return inside, inside == 0 || verb == "ZCOUNT"
}

// bound keeps what is known of the least score of a set before a command is carried out: no entry of it has a lower one. Where
// a command may write another one, nothing is known any more.
func (e *embedded) bound(verb string, args []string) {
	switch verb {
	case "ZADD":
		least, looked := e.least[args[min(1, len(args)-1)]]
		if score, err := strconv.ParseFloat(args[min(2, len(args)-1)], 64); looked && err == nil && len(args) == 4 {
			e.least[args[1]] = min(least, score)
			return
		}
	case "ZCARD", "ZCOUNT", "ZREMRANGEBYSCORE", "ZREMRANGEBYRANK", "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZSCORE", "EXPIRE", "PEXPIRE":
		return
	case "SELECT", "SWAPDB":
		clear(e.least)
	}
	for _, a := range args[1:] {
		delete(e.least, a)
	}
}
