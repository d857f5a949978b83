package format

import (
	"strconv"
	"strings"
)

// Plural returns n things, as in "1 key", "2 keys" and "3 batches".
func Plural(n int, thing string) string {
	if n != 1 {
		if strings.HasSuffix(thing, "ch") {
			thing += "e"
		}
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// Are returns n things and the verb, as in "1 key is" and "2 keys are".
func Are(n int, thing string) string {
	if n == 1 {
		return Plural(n, thing) + " is"
	}
	return Plural(n, thing) + " are"
}
