package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// slowCommand returns what may be told of a command in the slow log: its name and its keys. The
// other arguments are values, of keys that may be no limiters, and may be secrets: of these there is
// only how many they were.
func slowCommand(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name, rest := strings.ToLower(args[0]), args[1:]
	told := min(len(rest), 1) // the key, or the subcommand
	switch {
	case slices.Contains([]string{"auth", "hello", "echo", "ping", "acl", "migrate"}, name):
		told = 0
	case strings.HasPrefix(name, "eval") || strings.HasPrefix(name, "fcall"):
		return slowScript(args)
	}
	return withRest(args[:1+told], len(rest)-told)
}

// slowScript tells of a script its digest or its function, and its keys.
func slowScript(args []string) string {
	if len(args) < 3 {
		return withRest(args[:1], len(args)-1)
	}
	told := []string{args[0]}
	if !strings.EqualFold(args[0], "eval") && !strings.EqualFold(args[0], "eval_ro") { // else it is a program, with whatever stands in it
		told = append(told, args[1])
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 {
		n = 0
	}
	n = min(n, len(args)-3)
	return withRest(append(told, args[3:3+n]...), len(args)-3-n)
}

// withRest joins what is told, and says how many arguments are not.
func withRest(told []string, more int) string {
	text := strings.Join(told, " ")
	switch {
	case more == 1:
		text += " (1 more argument)"
	case more > 1:
		text += fmt.Sprintf(" (%d more arguments)", more)
	}
	return text
}
