package sandbox

import (
	"strconv"
	"strings"
)

// keyless are commands without a key, which a limiter may run.
const keyless = " TIME PING ECHO PUBLISH SPUBLISH RANDOMKEY DBSIZE INFO KEYS SCAN SELECT SCRIPT LOLWUT WAIT COMMAND FUNCTION "

// places say where the keys of commands stand whose first argument is not their one key: from, step, and
// how many arguments at the end are none.
var places = map[string]struct{ from, step, rest int }{
	"MGET": {1, 1, 0}, "DEL": {1, 1, 0}, "UNLINK": {1, 1, 0}, "EXISTS": {1, 1, 0}, "TOUCH": {1, 1, 0}, "WATCH": {1, 1, 0},
	"MSET": {1, 2, 0}, "MSETNX": {1, 2, 0}, "RENAME": {1, 1, 0}, "RENAMENX": {1, 1, 0}, "COPY": {1, 1, 0},
	"SUNION": {1, 1, 0}, "SINTER": {1, 1, 0}, "SDIFF": {1, 1, 0}, "RPOPLPUSH": {1, 1, 0}, "PFCOUNT": {1, 1, 0},
	"BLPOP": {1, 1, 1}, "BRPOP": {1, 1, 1}, "OBJECT": {2, 9, 0}, "XGROUP": {2, 9, 0}, "XINFO": {2, 9, 0}, "BITOP": {2, 1, 0},
}

// keysOf returns the keys that a command touches.
func keysOf(args []string) []string {
	verb := strings.ToUpper(args[0])
	switch {
	case len(args) < 2 || strings.Contains(keyless, " "+verb+" "):
		return nil
	case strings.HasPrefix(verb, "Z") && strings.HasSuffix(verb, "STORE") && verb != "ZRANGESTORE":
		return append(counted(args[2:]), args[1])
	case verb == "ZUNION" || verb == "ZINTER" || verb == "ZDIFF" || verb == "ZINTERCARD" || verb == "SINTERCARD":
		return counted(args[1:])
	}
	at, known := places[verb]
	if !known {
		return args[1:2]
	}
	var keys []string
	for i := at.from; i < len(args)-at.rest; i += at.step {
		keys = append(keys, args[i])
	}
	return keys
}

// counted returns keys behind their number.
func counted(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n >= len(args) {
		return nil
	}
	return append([]string(nil), args[1:1+n]...)
}
