package fire

import "testing"

// TestVerdict: if there is no other writer, every mark that was left is found again. A key that has expired
// meanwhile was left with its expiry, and is found to be absent.
func TestVerdict(t *testing.T) {
	const now = 1000
	of := func(content byte, expires int64) mark { return mark{[20]byte{content}, expires} }
	gone := mark{expires: absent}
	for name, c := range map[string]struct {
		left, found []mark
		lost        bool
		want        string
	}{
		"alone":                 {[]mark{of(1, -1), of(2, -1)}, []mark{of(1, -1), of(2, -1)}, false, noOthers},
		"written between":       {[]mark{of(1, -1), of(2, -1)}, []mark{of(1, -1), of(3, -1)}, false, someOthers},
		"another expiry":        {[]mark{of(1, 2000)}, []mark{of(1, 3000)}, false, someOthers},
		"created":               {[]mark{gone, of(1, -1)}, []mark{gone, of(1, -1)}, false, noOthers},
		"expired":               {[]mark{of(1, 900), of(2, 2000)}, []mark{gone, of(2, 2000)}, false, noOthers},
		"removed":               {[]mark{of(1, 2000)}, []mark{gone}, false, someOthers},
		"expired and created":   {[]mark{of(1, 900)}, []mark{of(5, 2000)}, false, someOthers},
		"created by another":    {[]mark{gone}, []mark{of(1, -1)}, false, someOthers},
		"one without an answer": {[]mark{of(1, -1)}, []mark{of(2, -1)}, true, ""},
		"unanswered, uncounted": {[]mark{of(1, -1)}, []mark{of(1, -1)}, true, noOthers},
	} {
		tr := &trace{balance: map[string]map[mark]int{"k": {}}, lost: c.lost}
		for _, m := range c.left {
			tr.balance["k"][m]++
		}
		for _, m := range c.found {
			tr.balance["k"][m]--
		}
		if got := tr.verdict(now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
