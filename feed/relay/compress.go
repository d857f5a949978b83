package relay

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// compressor makes members of a gzip stream. What is told at once is a member of its own, so that it is
// compressed once for all clients, whenever each of them came. The zero value is ready.
type compressor struct {
	zip *gzip.Writer
	out bytes.Buffer
}

// member returns a text as a whole gzip member.
func (c *compressor) member(text []byte) []byte {
	c.out.Reset()
	if c.zip == nil {
		c.zip = gzip.NewWriter(&c.out)
	}
	c.zip.Reset(&c.out)
	_, _ = c.zip.Write(text) // memory alone: nothing of this fails
	_ = c.zip.Flush()        // gzip.Reader returns what ends a member only when the next one has begun
	_ = c.zip.Close()
	return bytes.Clone(c.out.Bytes())
}

// takesGzip reports whether who asks takes an answer that is compressed with gzip.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		refused := strings.Trim(strings.TrimPrefix(strings.TrimSpace(quality), "q="), "0.") == "" && quality != ""
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return !refused
		}
	}
	return false
}
