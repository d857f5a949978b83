package connect

import (
	"strings"
	"testing"
)

// FuzzRedact wants no password to be left in what is shown, parsed or not.
func FuzzRedact(f *testing.F) {
	f.Add("redis://user:", "@host:6379")
	f.Add("", "@host?x=")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "s3cr3t-Pa55"
		redact(before + after)
		if strings.ContainsAny(before+after, "@?/:") {
			return
		}
		if got := redact("redis://" + before + ":" + secret + "@" + after); strings.Contains(got, secret) {
			t.Errorf("%q", got)
		}
	})
}
