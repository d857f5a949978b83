package layout

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// derived returns a name in the hash slot of a key, from which the key can be read back: its base
// followed by a suffix. A plain key is wrapped in braces. A key that has a hash tag keeps it and is
// set apart by a colon. A key that cannot be wrapped, because it is empty or begins with a closing
// brace, gets a tag of its own. The three forms differ in the character before the suffix, so that no
// two keys share a name.
func derived(key, suffix string) string {
	switch {
	case hashTag(key) != "":
		return key + ":" + suffix
	case key == "" || key[0] == '}':
		return "{!}" + key + "!" + suffix
	}
	return "{" + key + "}" + suffix
}

// keyOf reads a key from the base of derived names; ok is false when it is none.
func keyOf(base string) (key string, ok bool) {
	if base == "" {
		return "", false
	}
	switch base[len(base)-1] {
	case ':':
		key = base[:len(base)-1]
	case '!':
		key = strings.TrimPrefix(base[:len(base)-1], "{!}")
	case '}':
		key = strings.TrimPrefix(base[:len(base)-1], "{")
	}
	return key, derived(key, "") == base
}

// marker begins the names that Named makes. Such a name is escaped too where a caller chose it.
const marker = "{%"

// Named returns the name on the server of a limiter's key under a prefix. That is prefix + key, unless
// a cluster would hash all of it although it holds a closing brace, as {}x does: then no other name
// can be put in its slot, and the key is escaped within a hash tag. So is one that would be named as what
// is kept beside another, as alice::blocked under {api}: would. No two keys share a name. Without a
// prefix a name is the key as it is, for it may be that of another program.
func Named(prefix, key string) string {
	name := prefix + key
	if prefix != "" && (strings.HasPrefix(key, marker) ||
		strings.IndexByte(name, '}') >= 0 && (hashTag(name) == "" || isDerived(prefix, name))) {
		return prefix + marker + url.PathEscape(key) + "}"
	}
	return name
}

// isDerived reports whether a name is one that derived returns for another under the same prefix.
func isDerived(prefix, name string) bool {
	cut := max(strings.LastIndexByte(name, ':'), 0)
	key, _, _, ok := ParseKey(name)
	switch ":" + strings.TrimLeft(name[cut:], ":0123456789") { // the length of a window is a number and its unit
	case ":ms", ":us", deniedSuffix, blockedSuffix, endsSuffix, scratchSuffix:
		key, ok = keyOf(name[:cut])
	}
	return ok && strings.HasPrefix(key, prefix)
}

// SharesSlots reports whether a prefix lets every key have further names in its slot: not where it
// has an empty hash tag, with which a cluster hashes the whole of each name.
func SharesSlots(prefix string) bool { return hashTag(prefix) != "" || !strings.Contains(prefix, "{}") }

// Tag returns what a cluster hashes of a name: names with the same one are in one slot.
func Tag(name string) string { return cmp.Or(hashTag(name), name) }

// hashTag returns what Redis Cluster hashes instead of the whole key, "" for the whole.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !closed {
		return ""
	}
	return tag
}

// OfWindow names what one of several limits on a key keeps: after its window, so that
// limits with different windows do not share counters, and in the slot of the key.
func OfWindow(key string, window time.Duration) string {
	length, unit := int64(window/time.Microsecond), "us"
	if length%1000 == 0 {
		length, unit = length/1000, "ms"
	}
	return derived(key, ":"+strconv.FormatInt(length, 10)+unit)
}
