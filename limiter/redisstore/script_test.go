package redisstore_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// TestScriptsRead: people read and copy what Call returns, so it is set as if it had been
// written by hand, and holds nothing that only another variant needs.
func TestScriptsRead(t *testing.T) {
	t.Parallel()
	left := regexp.MustCompile(`\{\{|<no value>|if true|\+ 0 \+| \* 1 |ARGV\[\d+ `)
	clock := redisstore.WithClock(func() limiter.Instant { return far })
	seen := make(map[string]bool)
	for _, v := range variants() {
		for _, opts := range [][]redisstore.Option{nil, {clock}, {clock, redisstore.WithDenials()}} {
			opts = v.options(opts[:len(opts):len(opts)]...)
			for n := int64(1); n <= 2; n++ {
				words, err := redisstore.Call(v.algorithm, "user:42", limiter.Limit{Count: 7, Window: time.Second}, n, opts...)
				if err != nil {
					t.Fatal(err)
				}
				if seen[words[1]] {
					continue
				}
				seen[words[1]] = true
				depth := 0
				for line := range strings.Lines(words[1]) {
					indent := len(line) - len(strings.TrimLeft(line, " "))
					if strings.TrimSpace(line) == "" || indent%2 == 1 || indent > depth+2 || left.MatchString(line) {
						t.Errorf("%s: the line %q after one at %d in\n%s", v.name, line, depth, words[1])
					}
					depth = indent
				}
				if depth != 0 {
					t.Errorf("%s ends at %d in\n%s", v.name, depth, words[1])
				}
			}
		}
	}
}
