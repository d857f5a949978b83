package httplimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
)

func user(r *http.Request) string { return r.Header.Get("X-User") }

func newMiddleware(t *testing.T, c httplimit.Config) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// as sends a request of a user from an address.
func as(h http.Handler, from, who string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from + ":1234"
	r.Header.Set("X-User", who)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestRules holds an address and a user to limits of their own, by plan and with several windows: what
// one denies costs nothing of the other, and the fields have an item for each.
func TestRules(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	m := newMiddleware(t, httplimit.Config{
		Limiter: memory(t, limiter.WithClock(func() limiter.Instant { return now })), OnFailure: httplimit.FailOpen,
		Rules: []httplimit.Rule{
			{Name: "address", Key: httplimit.RemoteHost, Limits: []limiter.Limit{{Count: 4, Window: time.Minute}}},
			{Name: "user", Key: user, LimitsFor: func(r *http.Request) []limiter.Limit {
				if user(r) == "gold" {
					return []limiter.Limit{{Count: 100, Window: time.Hour}}
				}
				return []limiter.Limit{{Count: 2, Window: 500 * time.Millisecond}, {Count: 3, Window: time.Hour}}
			}},
		},
	})
	h := m.Handler(hello)
	for i, c := range []struct {
		from, who, left string
		status          int
	}{
		{"10.0.0.1", "ada", `"address";r=3;t=60, "user-500ms";r=1;t=1, "user-3600s";r=2;t=3600`, 200},
		{"10.0.0.1", "ada", `"address";r=2;t=60, "user-500ms";r=0;t=1, "user-3600s";r=1;t=3600`, 200},
		{"10.0.0.1", "ada", `"address";r=2;t=60, "user-500ms";r=0;t=1, "user-3600s";r=1;t=3600`, 429},
		{"10.0.0.1", "gold", `"address";r=1;t=60, "user";r=99;t=3600`, 200},
		{"10.0.0.1", "", `"address";r=0;t=60`, 200},
		{"10.0.0.1", "gold", `"address";r=0;t=60, "user";r=99;t=3600`, 429},
		{"10.0.0.2", "gold", `"address";r=3;t=60, "user";r=98;t=3600`, 200},
		{"10.0.0.2", "10.0.0.1", `"address";r=2;t=60, "user-500ms";r=1;t=1, "user-3600s";r=2;t=3600`, 200}, // a user who is named as an address
	} {
		w := as(h, c.from, c.who)
		if got := w.Header().Get("RateLimit"); w.Code != c.status || got != c.left {
			t.Errorf("request %d: %d %s, want %d %s", i, w.Code, got, c.status, c.left)
		}
	}
	if got, want := as(h, "10.0.0.3", "bob").Header().Get("RateLimit-Policy"), `"address";q=4;w=60, "user-500ms";q=2, "user-3600s";q=3;w=3600`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFieldsNameEachLimit: no two limits of a request have one name, whatever the rules are called.
func TestFieldsNameEachLimit(t *testing.T) {
	one := func(d time.Duration) limiter.Limit { return limiter.Limit{Count: 1, Window: d} }
	m := newMiddleware(t, httplimit.Config{Limiter: memory(t), OnFailure: httplimit.FailOpen, Rules: []httplimit.Rule{
		{Name: "user", Key: user, Limits: []limiter.Limit{one(500 * time.Millisecond), one(time.Hour), one(1500 * time.Microsecond)}},
		{Name: "user-500ms", Key: user, Limits: []limiter.Limit{one(time.Minute)}},
		{Name: "user-3600s", Key: user, Limits: []limiter.Limit{one(time.Minute), one(time.Second)}},
	}})
	h := as(m.Handler(hello), "10.0.0.1", "ada").Header()
	want := `"user-500ms";q=1, "user-3600s";q=1;w=3600, "user-1.5ms";q=1, "user-500ms'";q=1;w=60, "user-3600s-60s";q=1;w=60, "user-3600s-1s";q=1;w=1`
	if got := h.Get("RateLimit-Policy"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	names := map[string]bool{}
	for _, item := range strings.Split(h.Get("RateLimit"), ", ") {
		name, _, _ := strings.Cut(item, ";")
		if names[name] || !strings.Contains(h.Get("RateLimit-Policy"), name+";q") {
			t.Errorf("%s stands twice, or for no policy: %s", name, h.Get("RateLimit"))
		}
		names[name] = true
	}
}

// TestFieldsOfABurst: what is left is no more than the quota.
func TestFieldsOfABurst(t *testing.T) {
	l, err := limiter.NewMemory(limiter.GCRA)
	if err != nil {
		t.Fatal(err)
	}
	m := newMiddleware(t, httplimit.Config{Limiter: l, Limit: limiter.Limit{Count: 2, Window: time.Hour, Burst: 9}, OnFailure: httplimit.FailOpen})
	if got := get(m.Handler(hello), "10.0.0.1").Header().Get("RateLimit"); !strings.HasPrefix(got, `"default";r=2;`) {
		t.Error(got)
	}
}

// refusing is a limiter for which the request is why there is no decision.
type refusing struct {
	limiter.Limiter
	err error
}

func (r refusing) AllowN(context.Context, string, limiter.Limit, int64) (limiter.Decision, error) {
	return limiter.Decision{}, r.err
}

// TestOwnFaultsNeverOpen: what the name or the value causes is no trouble of the store.
func TestOwnFaultsNeverOpen(t *testing.T) {
	for err, status := range map[error]int{limiter.ErrWrongType: 503, limiter.ErrNotOnStore: 503, limiter.ErrBadRequest: 400} {
		for _, deny := range []bool{false, true} {
			want := status
			if deny && status == 503 {
				want = 429
			}
			m := newMiddleware(t, httplimit.Config{Limiter: refusing{err: err}, Limit: twoAMinute, OnFailure: httplimit.FailOpen, DenyForeign: deny})
			if w := get(m.Handler(hello), "10.0.0.1"); w.Code != want {
				t.Errorf("%v, DenyForeign %v: %d, want %d", err, deny, w.Code, want)
			}
		}
		tr := &httplimit.Transport{Limiter: refusing{err: err}, Limit: twoAMinute, OnFailure: httplimit.FailOpen, Base: answering(200)}
		if _, got := tr.RoundTrip(httptest.NewRequest("GET", "http://other.example/", nil)); !errors.Is(got, err) {
			t.Errorf("a transport: %v, want %v", got, err)
		}
	}
}

// TestUnknownCosts: a body whose length is not known is no way around a limit of bytes, and one without
// a body is a request all the same.
func TestUnknownCosts(t *testing.T) {
	m := newMiddleware(t, httplimit.Config{
		Limiter: memory(t), Limit: twoAMinute, OnFailure: httplimit.FailOpen,
		Cost: func(r *http.Request) int64 { return r.ContentLength },
	})
	codes := map[int]int{}
	for i := range 20 {
		r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("chunks")))
		if i%2 == 0 {
			r = httptest.NewRequest("GET", "/", nil)
		}
		w := httptest.NewRecorder()
		m.Handler(hello).ServeHTTP(w, r)
		codes[w.Code]++
	}
	if codes[200] != 2 || codes[429] != 8 || codes[400] != 10 {
		t.Errorf("%v", codes)
	}
}

// TestNewAsksTheStore: limits about which nothing can be decided are refused before the first request.
func TestNewAsksTheStore(t *testing.T) {
	blocking := memory(t, limiter.WithBlock(time.Minute))
	gcra, err := limiter.NewMemory(limiter.GCRA)
	if err != nil {
		t.Fatal(err)
	}
	key := httplimit.RemoteHost
	second := limiter.Limit{Count: 1, Window: time.Second}
	for says, c := range map[string]httplimit.Config{
		"have the window":       {Limiter: memory(t), Limits: []limiter.Limit{second, second}},
		"17 limits":             {Limiter: memory(t), Limits: make17()},
		"a block belongs":       {Limiter: blocking, Limits: []limiter.Limit{second, twoAMinute}},
		"century":               {Limiter: gcra, Limit: limiter.Limit{Count: 1, Window: limiter.MaxWindow, Burst: 1000}},
		"one limit at a time":   {Limiter: away{}, Limits: []limiter.Limit{second}},
		"stand alone":           {Limiter: memory(t), Limit: second, Rules: []httplimit.Rule{{Name: "a", Key: key, Limits: []limiter.Limit{second}}}},
		"not complete":          {Limiter: memory(t), Rules: []httplimit.Rule{{Name: "a", Key: key}}},
		"cannot stand":          {Limiter: memory(t), Rules: []httplimit.Rule{{Name: "a:b", Key: key, Limits: []limiter.Limit{second}}}},
		"two rules":             {Limiter: memory(t), Rules: []httplimit.Rule{{Name: "a", Key: key, Limits: []limiter.Limit{second}}, {Name: "a", Key: key, Limits: []limiter.Limit{twoAMinute}}}},
		"counts and denies not": {Limiter: memory(t), Rules: []httplimit.Rule{{Name: "a", Key: key, Limits: []limiter.Limit{{Window: time.Second}}}}},
	} {
		c.OnFailure = httplimit.FailOpen
		if _, err := httplimit.New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func make17() []limiter.Limit {
	limits := make([]limiter.Limit, 17)
	for i := range limits {
		limits[i] = limiter.Limit{Count: 1, Window: time.Duration(i+1) * time.Second}
	}
	return limits
}

// TestClientIP names clients as they come: through proxies, with what they wrote into the field
// themselves, and by IPv6.
func TestClientIP(t *testing.T) {
	key, err := httplimit.ClientIP(0, "10.0.0.0/8", "2001:db8:ffff::/48", "192.0.2.7", "::ffff:172.16.0.0/108", "::ffff:192.0.2.8", "fe80::/10")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"203.0.113.9:80", nil, "203.0.113.9"},
		{"203.0.113.9:80", []string{"198.51.100.1"}, "203.0.113.9"}, // not through a proxy of ours
		{"10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:80", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"}, // the client wrote 1.1.1.1
		{"10.0.0.1:80", []string{"1.1.1.1", "198.51.100.1,10.9.9.9"}, "198.51.100.1"},
		{"10.0.0.1:80", []string{"198.51.100.1, 192.0.2.7"}, "198.51.100.1"},
		{"10.0.0.1:80", []string{"junk, 198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:80", []string{"198.51.100.1, junk"}, "10.0.0.1"},
		{"10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"10.0.0.1:80", nil, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		{"10.0.0.1:80", []string{"[2001:db8:1:2:3:4:5:6]:4711"}, "2001:db8:1:2::/64"},
		{"10.0.0.1:80", []string{"2001:db8:1:2:9:9:9:9"}, "2001:db8:1:2::/64"},
		{"10.0.0.1:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.0.0.1]:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"[2001:db8:ffff::1]:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"172.20.0.1:80", []string{"198.51.100.1, ::ffff:172.31.255.255"}, "198.51.100.1"},
		{"172.32.0.1:80", []string{"198.51.100.1"}, "172.32.0.1"},
		{"192.0.2.8:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"[fe80::1%eth0]:80", nil, "fe80::/64"},
		{"[fe80::1%eth0]:80", []string{"198.51.100.1, [fe80::2%eth0]:81"}, "198.51.100.1"},
		{"@", nil, "@"}, // a unix socket
		{"", nil, "unknown"},
		{"10.0.0.1:80", []string{"7.7.7.7, " + strings.Repeat("10.0.0.2, ", 1000) + "10.0.0.3"}, "7.7.7.7"},
		{"10.0.0.1:80", []string{"198.51.100.1,,"}, "10.0.0.1"},
		{"10.0.0.1:80", []string{" \t198.51.100.1\t "}, "198.51.100.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		for _, f := range c.forwarded {
			r.Header.Add("X-Forwarded-For", f)
		}
		if got := key(r); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.peer, c.forwarded, got, c.want)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	for from, want := range map[string]string{"[2001:db8:1:2:3::4]:9": "2001:db8:1:2::/64", "[::ffff:1.2.3.4]:9": "1.2.3.4", "1.2.3.4:9": "1.2.3.4", "": "unknown", ":80": ":80"} {
		if r.RemoteAddr = from; httplimit.RemoteHost(r) != want {
			t.Errorf("%s is named %s, want %s", from, httplimit.RemoteHost(r), want)
		}
	}
	single, err := httplimit.ClientIP(128)
	if r.RemoteAddr = "[2001:db8::1]:1"; err != nil || single(r) != "2001:db8::1" {
		t.Errorf("128 bits: %q, %v", single(r), err)
	}
	for _, bad := range []string{"10.0.0.0/33", "::ffff:10.0.0.0/90", "proxy.example", ""} {
		if _, err := httplimit.ClientIP(0, bad); err == nil {
			t.Errorf("the network %q is taken", bad)
		}
	}
	if _, err := httplimit.ClientIP(8); err == nil {
		t.Error("8 bits are taken")
	}
}

// FuzzClientIP: whatever a client writes into the field, it is named by what the proxy saw.
func FuzzClientIP(f *testing.F) {
	key, err := httplimit.ClientIP(0, "10.0.0.0/8")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("1.2.3.4", "junk")
	f.Add("10.0.0.2, 10.0.0.3", ",,,")
	f.Fuzz(func(t *testing.T, first, second string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header["X-Forwarded-For"] = []string{first, second + ", 203.0.113.9", "10.0.0.9"}
		if got := key(r); got != "203.0.113.9" {
			t.Errorf("%q %q: %q", first, second, got)
		}
		r.RemoteAddr = "198.51.100.1:1"
		if got := key(r); got != "198.51.100.1" {
			t.Errorf("%q %q from no proxy: %q", first, second, got)
		}
	})
}

// TestSkip excepts preflights and health checks, which are counted nowhere.
func TestSkip(t *testing.T) {
	m := newMiddleware(t, httplimit.Config{
		Limiter: memory(t), Limit: twoAMinute, OnFailure: httplimit.FailClosed,
		Skip: func(r *http.Request) bool { return httplimit.Preflight(r) || r.URL.Path == "/healthz" },
	})
	codes := map[string]int{}
	for range 3 {
		for _, method := range []string{"GET /healthz", "OPTIONS /", "HEAD /", "PREFLIGHT /"} {
			verb, path, _ := strings.Cut(method, " ")
			r := httptest.NewRequest(strings.Replace(verb, "PREFLIGHT", "OPTIONS", 1), path, nil)
			if verb == "PREFLIGHT" {
				r.Header.Set("Origin", "https://other.example")
				r.Header.Set("Access-Control-Request-Method", "PUT")
			}
			w := httptest.NewRecorder()
			m.Handler(hello).ServeHTTP(w, r)
			codes[fmt.Sprint(verb, " ", w.Code)]++
		}
	}
	if got, want := fmt.Sprint(codes), "map[GET 200:3 HEAD 200:1 HEAD 429:2 OPTIONS 200:1 OPTIONS 429:2 PREFLIGHT 200:3]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := m.Counts(), (httplimit.Counts{Admitted: 2, Denied: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestProtocols asks over real connections: a denied HEAD has no body, each stream of HTTP/2 is a
// request, and a connection that is upgraded is one, which the handler gets whole.
func TestProtocols(t *testing.T) {
	three := limiter.Limit{Count: 3, Window: time.Hour}
	upgrade := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			hello(w, r)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nopen")
		_ = buffered.Flush()
	})
	m := newMiddleware(t, httplimit.Config{Limiter: memory(t), Limit: three, OnFailure: httplimit.FailClosed, Key: func(r *http.Request) string { return r.Proto }})
	server := httptest.NewUnstartedServer(m.Handler(upgrade))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for i, want := range []int{200, 200, 200, 429} {
		response, err := server.Client().Head(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != want || response.Proto != "HTTP/2.0" || len(text) > 0 {
			t.Errorf("stream %d: %d over %s with %q", i, response.StatusCode, response.Proto, text)
		}
	}
	plain := httptest.NewServer(m.Handler(upgrade))
	t.Cleanup(plain.Close)
	for i, want := range []int{101, 101, 101, 429} {
		conn, err := net.Dial("tcp", plain.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != want {
			t.Errorf("upgrade %d: %d", i, response.StatusCode)
		}
		_ = conn.Close()
	}
}

// TestConfigIsACopy: what the caller does to its Config afterwards changes no running Middleware.
func TestConfigIsACopy(t *testing.T) {
	for _, several := range []bool{false, true} {
		limits := []limiter.Limit{twoAMinute}
		rules := []httplimit.Rule{{Name: "user", Key: user, Limits: []limiter.Limit{twoAMinute}}}
		c := httplimit.Config{Limiter: memory(t), OnFailure: httplimit.FailClosed, Limits: limits}
		if several {
			c.Limits, c.Rules = nil, rules
		}
		m := newMiddleware(t, c)
		limits[0].Count, rules[0].Name, rules[0].Limits[0].Count = 100, "other", 100
		policy := as(m.Handler(hello), "10.0.0.1", "ada").Header().Get("RateLimit-Policy")
		if !strings.Contains(policy, ";q=2;") || strings.Contains(policy, "other") {
			t.Errorf("after a change by the caller: %s", policy)
		}
	}
}
