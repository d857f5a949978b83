package connect

import "testing"

// TestScannerCounts feeds the scanner byte by byte and at once.
func TestScannerCounts(t *testing.T) {
	for in, want := range map[string]int{
		"+OK\r\n":                                    1,
		"+OK\r\n-ERR no\r\n:5\r\n_\r\n,1.5\r\n":      5,
		"$-1\r\n$0\r\n\r\n$3\r\na\r\n\r\n":           3,
		"*0\r\n*-1\r\n*2\r\n:1\r\n*1\r\n+x\r\n":      3,
		"%1\r\n+a\r\n*2\r\n:1\r\n:2\r\n":             1,
		"|1\r\n+ttl\r\n:5\r\n$2\r\nok\r\n":           1,
		"*1\r\n|1\r\n+a\r\n:1\r\n+b\r\n:3\r\n":       2,
		">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n":     1,
		"=7\r\ntxt:abc\r\n!3\r\nERR\r\n~1\r\n:1\r\n": 3,
		"*2\r\n$1\r\na\r\n":                          0,
	} {
		var whole, pieces scanner
		if n, err := whole.scan([]byte(in)); n != want || err != nil {
			t.Errorf("%q: %d values, %v, want %d", in, n, err, want)
		}
		sum := 0
		for i := range len(in) {
			n, err := pieces.scan([]byte{in[i]})
			if err != nil {
				t.Errorf("%q: %v", in, err)
			}
			sum += n
		}
		if sum != want {
			t.Errorf("%q byte by byte: %d values, want %d", in, sum, want)
		}
	}
}

// FuzzScanner: whatever a server sends, the pieces in which it comes make no difference,
// and no more memory is held than one line and the open groups take.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nabc\r\n|1\r\n+a\r\n:1\r\n%1\r\n+k\r\n_\r\n"), 3)
	f.Add([]byte("$9223372036854775806\r\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		piece = max(1, piece)
		var whole, pieces scanner
		n, err := whole.scan(in)
		sum := 0
		var broken error
		for rest := in; len(rest) > 0 && broken == nil; rest = rest[min(piece, len(rest)):] {
			var k int
			k, broken = pieces.scan(rest[:min(piece, len(rest))])
			sum += k
		}
		if sum != n || (err == nil) != (broken == nil) {
			t.Errorf("%d values and %v at once, %d and %v in pieces of %d", n, err, sum, broken, piece)
		}
		if len(whole.open) > maxReplyDepth || len(whole.line) > maxReplyLine+len(in) {
			t.Errorf("%d groups and %d bytes are held", len(whole.open), len(whole.line))
		}
	})
}
