package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
)

// variant is one of the fields of a convention, and the names of its values in their order.
type variant struct {
	name  string
	value *uint8
	names []string
}

// variants returns the fields of a convention by the names that files use.
func variants(c *limiter.Convention) []variant {
	return []variant{
		{"edge", (*uint8)(&c.Edge), []string{"half-open", "closed"}},
		{"alignment", (*uint8)(&c.Alignment), []string{"epoch", "first-request"}},
		{"rounding", (*uint8)(&c.Rounding), []string{"floor", "exact", "round"}},
		{"rule", (*uint8)(&c.Rule), []string{"fits", "below"}},
		{"denied", (*uint8)(&c.Denied), []string{"free", "charged"}},
		{"refill", (*uint8)(&c.Refill), []string{"greedy", "interval"}},
	}
}

// conventionFile is a convention in a file. What is not named is the default, except for the
// rounding: a story that does not mention one speaks of plain arithmetic, where no fraction is dropped.
type conventionFile map[string]any

func (f conventionFile) parse() (limiter.Convention, error) {
	c := limiter.Convention{Rounding: limiter.RoundExact}
	fields := variants(&c)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		value := f[name]
		if ms, ok := value.(float64); ok && name == "block_ms" {
			c.Block = millis(ms)
			continue
		}
		i := slices.IndexFunc(fields, func(v variant) bool { return v.name == name })
		if i < 0 {
			return c, fmt.Errorf("unknown field %q in the convention", name)
		}
		if value == "" {
			continue
		}
		at := slices.Index(fields[i].names, fmt.Sprint(value))
		if at < 0 {
			return c, fmt.Errorf("convention %s is %q: write %s", name, fmt.Sprint(value), strings.Join(fields[i].names, " or "))
		}
		*fields[i].value = uint8(at)
	}
	return c, nil
}

// SetWord gives one of the fields of a convention the value that a word names, and reports whether it names one.
func SetWord(c *limiter.Convention, word string) bool {
	for _, v := range variants(c) {
		if at := slices.Index(v.names, word); at >= 0 {
			*v.value = uint8(at)
			return true
		}
	}
	return false
}

// Words names the values of all fields of a convention as files do.
func Words(c limiter.Convention) map[string]string {
	words := map[string]string{}
	for _, v := range variants(&c) {
		words[v.name] = v.names[min(int(*v.value), len(v.names)-1)]
	}
	return words
}

// Describe names what differs from the default, as in "closed, charged"; "" for nothing.
func Describe(c limiter.Convention) string {
	var words []string
	for _, v := range variants(&c) {
		if *v.value > 0 && int(*v.value) < len(v.names) {
			words = append(words, v.names[*v.value])
		}
	}
	if c.Block > 0 {
		words = append(words, "block "+c.Block.String())
	}
	return strings.Join(words, ", ")
}

// ParseWords is the inverse of Describe.
func ParseWords(text string) (c limiter.Convention, err error) {
	if text == "" {
		return c, nil
	}
	for word := range strings.SplitSeq(text, ", ") {
		known := SetWord(&c, word)
		if block, found := strings.CutPrefix(word, "block "); found {
			c.Block, err = time.ParseDuration(block)
			known = err == nil && c.Block >= 0
		}
		if !known {
			return c, fmt.Errorf("convention %q is none: use words as in closed, charged", word)
		}
	}
	return c, nil
}
