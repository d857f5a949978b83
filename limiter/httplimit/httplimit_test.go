package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
)

var twoAMinute = limiter.Limit{Count: 2, Window: time.Minute}

func memory(t testing.TB, opts ...limiter.Option) *limiter.Memory {
	t.Helper()
	m, err := limiter.NewMemory(limiter.SlidingLog, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// away is a limiter whose store does not answer.
type away struct{ limiter.Limiter }

func (away) AllowN(context.Context, string, limiter.Limit, int64) (limiter.Decision, error) {
	return limiter.Decision{}, limiter.ErrUnknownOutcome
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

func get(h http.Handler, from string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from + ":1234"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestMiddleware(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	m, err := httplimit.New(httplimit.Config{
		Limiter: memory(t, limiter.WithClock(func() limiter.Instant { return now })), Limit: twoAMinute, OnFailure: httplimit.FailOpen, Name: "api",
	})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Handler(hello)
	for i, want := range []struct {
		status    int
		rateLimit string
		retry     string
	}{
		{200, `"api";r=1;t=60`, ""},
		{200, `"api";r=0;t=60`, ""},
		{429, `"api";r=0;t=60`, "60"},
	} {
		w := get(h, "10.0.0.1")
		if w.Code != want.status || w.Header().Get("RateLimit") != want.rateLimit || w.Header().Get("Retry-After") != want.retry ||
			w.Header().Get("RateLimit-Policy") != `"api";q=2;w=60` {
			t.Errorf("request %d: %d %v", i, w.Code, w.Header())
		}
	}
	if w := get(h, "10.0.0.2"); w.Code != 200 {
		t.Errorf("another client: %d", w.Code)
	}
	now = now.Add(59*time.Second + 100*time.Millisecond)
	w := get(h, "10.0.0.1")
	if w.Header().Get("Retry-After") != "1" {
		t.Fatalf("0.9 s before the slot frees: %v", w.Header())
	}
	now = now.Add(time.Second)
	if w := get(h, "10.0.0.1"); w.Code != 200 {
		t.Errorf("after waiting as long as it said: %d", w.Code)
	}
	if got := m.Counts(); got != (httplimit.Counts{Admitted: 4, Denied: 2}) {
		t.Errorf("%+v", got)
	}
}

// TestDenialIsTheHandlersOwn lets the handler of denied requests say what they are, which it
// may only before the status is sent.
func TestDenialIsTheHandlersOwn(t *testing.T) {
	bodies := map[string]http.HandlerFunc{
		`{"error":"slow down"}`: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTeapot) // it cannot make another status of it
			_, _ = io.WriteString(w, `{"error":"slow down"}`)
		},
		"": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") },
		"at once": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, "at once")
		},
	}
	for body, denied := range bodies {
		m, err := httplimit.New(httplimit.Config{
			Limiter: memory(t), OnFailure: httplimit.FailClosed, Denied: denied,
			LimitFor: func(*http.Request) limiter.Limit { return limiter.Limit{Count: 1, Window: time.Hour} },
		})
		if err != nil {
			t.Fatal(err)
		}
		h := m.Handler(hello)
		if w := get(h, "10.0.0.1"); w.Code != 200 {
			t.Fatalf("the first request: %d", w.Code)
		}
		w := get(h, "10.0.0.1")
		if w.Code != 429 || w.Body.String() != body || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
		}
	}
}

func TestMiddlewareWithoutStore(t *testing.T) {
	for choice, status := range map[httplimit.Failure]int{httplimit.FailOpen: 200, httplimit.FailClosed: 503} {
		m, err := httplimit.New(httplimit.Config{Limiter: away{}, Limit: twoAMinute, OnFailure: choice})
		if err != nil {
			t.Fatal(err)
		}
		if w := get(m.Handler(hello), "10.0.0.1"); w.Code != status {
			t.Errorf("%d, want %d", w.Code, status)
		}
		if c := m.Counts(); c.FailedOpen+c.FailedClosed != 1 || c.Admitted+c.Denied != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// TestMiddlewareGetsNobodyPast: a key or a cost that no limiter takes is no way around a
// limit that fails open.
func TestMiddlewareGetsNobodyPast(t *testing.T) {
	m, err := httplimit.New(httplimit.Config{
		Limiter: memory(t), Limit: twoAMinute, OnFailure: httplimit.FailOpen,
		Key:  func(r *http.Request) string { return r.Header.Get("X-API-Key") },
		Cost: func(r *http.Request) int64 { return r.ContentLength },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  string
		cost int64
	}{{strings.Repeat("k", limiter.MaxKeyLen+1), 1}, {"k", limiter.MaxCount + 1}} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("X-API-Key", c.key)
		r.ContentLength = c.cost
		w := httptest.NewRecorder()
		m.Handler(hello).ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("a key of %d bytes, cost %d: %d", len(c.key), c.cost, w.Code)
		}
	}
	if got := m.Counts(); got != (httplimit.Counts{FailedClosed: 2}) {
		t.Errorf("%+v", got)
	}
}

// TestMiddlewarePlans gives each caller the limit of its plan, in the fields too.
func TestMiddlewarePlans(t *testing.T) {
	plans := map[string]limiter.Limit{"10.0.0.1": twoAMinute, "10.0.0.2": {Count: 9, Window: time.Hour}, "10.0.0.3": {Window: time.Hour}}
	m, err := httplimit.New(httplimit.Config{
		Limiter: memory(t), Limit: twoAMinute, OnFailure: httplimit.FailOpen,
		LimitFor: func(r *http.Request) limiter.Limit { return plans[httplimit.RemoteHost(r)] },
	})
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"10.0.0.1": `"default";q=2;w=60 "default";r=1;t=60`,
		"10.0.0.2": `"default";q=9;w=3600 "default";r=8;t=3600`,
	} {
		w := get(m.Handler(hello), from)
		if got := w.Header().Get("RateLimit-Policy") + " " + w.Header().Get("RateLimit"); w.Code != 200 || got != want {
			t.Errorf("%s: %d %s, want %s", from, w.Code, got, want)
		}
	}
}

// TestMiddlewareWithoutLimit: a plan that has no limit is a fault of the program, which is
// told, and no bad request of the client.
func TestMiddlewareWithoutLimit(t *testing.T) {
	for _, none := range []limiter.Limit{{}, {Window: time.Hour}} {
		var reported error
		m, err := httplimit.New(httplimit.Config{
			Limiter: memory(t), OnFailure: httplimit.FailOpen,
			LimitFor: func(*http.Request) limiter.Limit { return none },
			OnError:  func(_ *http.Request, err error) { reported = err },
		})
		if err != nil {
			t.Fatal(err)
		}
		if w := get(m.Handler(hello), "10.0.0.1"); w.Code != 500 || reported == nil {
			t.Errorf("%+v: %d, told %v", none, w.Code, reported)
		}
	}
}

// TestMiddlewareLimits holds a client to 3 a second and 5 an hour with one call: what the
// second denies costs nothing of the hour, and the fields name both.
func TestMiddlewareLimits(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	m, err := httplimit.New(httplimit.Config{
		Limiter: memory(t, limiter.WithClock(func() limiter.Instant { return now })), OnFailure: httplimit.FailOpen, Name: "api",
		Limits: []limiter.Limit{{Count: 3, Window: time.Second}, {Count: 5, Window: time.Hour}},
	})
	if err != nil {
		t.Fatal(err)
	}
	admitted := 0
	for range 2 {
		for range 30 {
			if get(m.Handler(hello), "10.0.0.1").Code == 200 {
				admitted++
			}
		}
		now = now.Add(time.Second)
	}
	if admitted != 5 {
		t.Errorf("%d admitted in two bursts of 30, want 3 and the 2 that the hour has left", admitted)
	}
	w := get(m.Handler(hello), "10.0.0.1")
	if got, want := w.Header().Get("RateLimit"), `"api-1s";r=3;t=0, "api-3600s";r=0;t=3598`; w.Code != 429 || got != want {
		t.Errorf("%d %s, want %s", w.Code, got, want)
	}
	if got, want := w.Header().Get("RateLimit-Policy"), `"api-1s";q=3;w=1, "api-3600s";q=5;w=3600`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// silentStore does not answer before its context is over.
type silentStore struct{ limiter.Limiter }

func (silentStore) AllowN(ctx context.Context, _ string, _ limiter.Limit, _ int64) (limiter.Decision, error) {
	<-ctx.Done()
	return limiter.Decision{}, ctx.Err()
}

// TestMiddlewareTimeout bounds what a silent store costs each of many requests.
func TestMiddlewareTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported atomic.Int64
		m, err := httplimit.New(httplimit.Config{
			Limiter: silentStore{}, Limit: twoAMinute, OnFailure: httplimit.FailOpen, Timeout: 100 * time.Millisecond,
			OnError: func(*http.Request, error) { reported.Add(1) },
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if w := get(m.Handler(hello), "10.0.0.1"); w.Code != 200 {
					t.Errorf("%d", w.Code)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != 100*time.Millisecond || reported.Load() != 200 || m.Counts().FailedOpen != 200 {
			t.Errorf("200 requests took %v, %d told, %+v", took, reported.Load(), m.Counts())
		}
	})
}

// TestMiddlewareGivesUp: a request whose own deadline passes while it waits is told so.
func TestMiddlewareGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := httplimit.New(httplimit.Config{
			Limiter: memory(t), Limit: twoAMinute, OnFailure: httplimit.FailOpen, Policy: limiter.Throttle(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			get(m.Handler(hello), "10.0.0.1")
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
		r.RemoteAddr = "10.0.0.1:1234"
		w := httptest.NewRecorder()
		m.Handler(hello).ServeHTTP(w, r)
		if w.Code != 503 || m.Counts() != (httplimit.Counts{Admitted: 2, GaveUp: 1}) {
			t.Errorf("%d %+v", w.Code, m.Counts())
		}
	})
}

// TestWaitInVainIsADenial: a denied request whose policy's own time is over while it waits is denied, also
// where requests without a decision pass. The limiter's clock stands still, so that no wait is long enough.
func TestWaitInVainIsADenial(t *testing.T) {
	queue, err := limiter.NewQueue(1, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for name, policy := range map[string]limiter.Policy{"throttle": limiter.Throttle(50 * time.Millisecond), "queue": queue} {
		synctest.Test(t, func(t *testing.T) {
			m := newMiddleware(t, httplimit.Config{
				Limiter:   memory(t, limiter.WithClock(func() limiter.Instant { return 0 })),
				Limit:     limiter.Limit{Count: 1, Window: 10 * time.Millisecond},
				OnFailure: httplimit.FailOpen, Policy: policy,
			})
			for i, want := range []int{200, 429, 429, 429} {
				if w := get(m.Handler(hello), "10.0.0.1"); w.Code != want {
					t.Errorf("%s: request %d got %d, want %d", name, i, w.Code, want)
				}
			}
		})
	}
}

func TestMiddlewareThrottles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := httplimit.New(httplimit.Config{
			Limiter: memory(t), Limit: limiter.Limit{Count: 1, Window: time.Second}, OnFailure: httplimit.FailClosed,
			Policy: limiter.Or(limiter.Throttle(1500*time.Millisecond), limiter.Reject()),
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 3 {
			if w := get(m.Handler(hello), "10.0.0.1"); w.Code != 200 {
				t.Fatal(w.Code)
			}
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("three requests took %v", took)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	l := memory(t)
	for says, c := range map[string]httplimit.Config{
		"no limiter":   {Limit: twoAMinute, OnFailure: httplimit.FailOpen},
		"not chosen":   {Limiter: l, Limit: twoAMinute},
		"out of range": {Limiter: l, OnFailure: httplimit.FailOpen},
		"header":       {Limiter: l, Limit: twoAMinute, OnFailure: httplimit.FailOpen, Name: "a\"b\r\n"},
	} {
		if _, err := httplimit.New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

type sender func(*http.Request) (*http.Response, error)

func (f sender) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type body struct{ closed bool }

func (b *body) Read([]byte) (int, error) { return 0, io.EOF }
func (b *body) Close() error             { b.closed = true; return nil }

// TestTransport keeps us under a cap of two a second, and gives up when that would take
// longer than the caller has.
func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		tr := &httplimit.Transport{
			Limiter: memory(t), Limit: limiter.Limit{Count: 2, Window: time.Second}, OnFailure: httplimit.FailClosed,
			Base: sender(func(*http.Request) (*http.Response, error) {
				sent++
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			}),
		}
		start := time.Now()
		for range 5 {
			r, _ := http.NewRequest("GET", "https://partner.example/otp", nil)
			if _, err := tr.RoundTrip(r); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 2*time.Second || sent != 5 {
			t.Errorf("%d sent in %v", sent, took)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		for i := range 2 {
			payload := &body{}
			r, _ := http.NewRequestWithContext(ctx, "POST", "https://partner.example/otp", payload)
			_, err := tr.RoundTrip(r)
			if i == 1 && (!errors.Is(err, limiter.ErrLimited) || !payload.closed) {
				t.Errorf("beyond the deadline: %v, body closed %v", err, payload.closed)
			}
		}
		if sent != 6 {
			t.Errorf("%d sent, want 6", sent)
		}
		tr.Limiter = away{}
		r, _ := http.NewRequest("GET", "https://partner.example/otp", nil)
		if _, err := tr.RoundTrip(r); !errors.Is(err, limiter.ErrUnknownOutcome) || sent != 6 {
			t.Errorf("without a store, closed: %v", err)
		}
		tr.OnFailure = httplimit.FailOpen
		if _, err := tr.RoundTrip(r); err != nil || sent != 7 {
			t.Errorf("without a store, open: %v", err)
		}
	})
}

func Example() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.GCRA, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	m, err := httplimit.New(httplimit.Config{
		Limiter: l, Limit: limiter.Limit{Count: 60, Window: time.Minute, Burst: 1},
		Key:       func(r *http.Request) string { return r.Header.Get("X-API-Key") },
		OnFailure: httplimit.FailOpen,
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-API-Key", "42")
		w := httptest.NewRecorder()
		m.Handler(hello).ServeHTTP(w, r)
		fmt.Printf("%d %s %q\n", w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "default";r=0;t=1 ""
	// 429 "default";r=0;t=1 "1"
}
