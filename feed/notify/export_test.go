package notify

import "net/http"

// SetTransport sends all POSTs through rt from now on, and returns the one of before.
func SetTransport(rt http.RoundTripper) (was http.RoundTripper) {
	was, client.Transport = client.Transport, rt
	return was
}
