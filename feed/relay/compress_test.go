package relay

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhoTakesGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true, "deflate": false, "gzip;q=0": false, "gzip; q=0.000": false, "identity, gzip;q=0.01": true,
	} {
		r := httptest.NewRequest(http.MethodGet, Path, nil)
		r.Header.Set("Accept-Encoding", header)
		if got := takesGzip(r); got != want {
			t.Errorf("%q takes gzip: %v, want %v", header, got, want)
		}
	}
}

// TestStreamsAreCompressed for who takes that, with the same lines as for others.
func TestStreamsAreCompressed(t *testing.T) {
	b := newBoard(2, false)
	mux := http.NewServeMux()
	mux.Handle(Path, b.hub)
	server := httptest.NewServer(mux)
	defer server.Close()
	at := dawn
	b.put(told(at, "old"))
	open := func(encoding, answered string) *http.Response {
		r, err := http.NewRequest(http.MethodGet, server.URL+Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", encoding)
		answer, err := server.Client().Do(r)
		if err != nil || answer.Header.Get("Content-Encoding") != answered {
			t.Fatalf("%v: %q", err, answer.Header.Get("Content-Encoding"))
		}
		return answer
	}
	plain, zipped := open("identity", ""), open("gzip", "gzip")
	defer plain.Body.Close()
	defer zipped.Body.Close()
	const batches = 20
	for range batches { // an answer has begun: its client is told of all that comes
		at = at.Add(refresh)
		b.put(told(at, "old", "new"))
	}
	in, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	want, got := linesOf(t, plain.Body, batches+1), linesOf(t, in, batches+1)
	if got != want {
		t.Errorf("compressed it says\n%s\nand otherwise\n%s", got, want)
	}
	b.hub.Close()
}

// linesOf returns the lines up to the end of so many batches.
func linesOf(t *testing.T, r io.Reader, batches int) string {
	t.Helper()
	var all strings.Builder
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for batches > 0 && lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), `{"b":`) {
			batches--
		}
	}
	if batches > 0 {
		t.Fatalf("%d batches are missing: %v", batches, lines.Err())
	}
	return all.String()
}
