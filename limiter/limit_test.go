package limiter_test

import (
	"fmt"
	"testing"
	"time"

	"ratescope/limiter"
)

// TestParseLimitOfPartsOfASecond: a duration may begin with its point.
func TestParseLimitOfPartsOfASecond(t *testing.T) {
	if l, err := limiter.ParseLimit("10/.5s"); err != nil || l.Count != 10 || l.Window != 500*time.Millisecond {
		t.Errorf("%+v, %v", l, err)
	}
}

// FuzzParseLimit reads whatever is typed: what is accepted means the same when it is
// written out again.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"100/1m", "100/60s", "10/s", "5/500ms", "1/2d", "", "/", "100/", "-5/1m", "10/0s", "1/1e9s", "9223372036854775807/9999999d", "3/400d", "3/1.0000005s", "1000000000001/s", "１/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := limiter.ParseLimit(s)
		if err != nil {
			return
		}
		if err := l.Validate(); err != nil {
			t.Fatalf("%q is %+v, which no limiter takes: %v", s, l, err)
		}
		again, err := limiter.ParseLimit(fmt.Sprintf("%d/%v", l.Count, l.Window))
		if err != nil || again != l {
			t.Fatalf("%q is %+v, which is read back as %+v, %v", s, l, again, err)
		}
	})
}
