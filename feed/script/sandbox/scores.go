package sandbox

import (
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
	_, lost := e.send([]string{"TYPE", args[1]}) // what is over expires
	set, _ := e.redis.SortedSet(args[1])
	if err != nil || otherErr != nil || lost != nil || set == nil {
		return nil, false
	}
	inside := 0
	for _, v := range set {
		if v == low || v == high {
			return nil, false
		}
		if v > low && v < high {
			inside++
		}
	}
	return inside, inside == 0 || verb == "ZCOUNT"
}
