package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
)

// Two windows: 3 a second and 5 an hour, decided about in one call. What the second denies
// costs nothing of the hour, and the fields have an item for each.
func ExampleNew_twoWindows() {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l, err := limiter.NewMemory(limiter.SlidingLog, limiter.WithClock(func() limiter.Instant { return now }))
	if err != nil {
		panic(err)
	}
	m, err := httplimit.New(httplimit.Config{
		Limiter:   l,
		Limits:    []limiter.Limit{{Count: 3, Window: time.Second}, {Count: 5, Window: time.Hour}},
		OnFailure: httplimit.FailOpen,
	})
	if err != nil {
		panic(err)
	}
	handler := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	for range 4 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// 200 "default-1s";r=2;t=1, "default-3600s";r=4;t=3600
	// 200 "default-1s";r=1;t=1, "default-3600s";r=3;t=3600
	// 200 "default-1s";r=0;t=1, "default-3600s";r=2;t=3600
	// 429 "default-1s";r=0;t=1, "default-3600s";r=2;t=3600
}

// A third party's cap: they take two requests an hour from us, so the third is not sent.
// With a redisstore.Store in place of the Memory the cap holds for all processes together,
// and with no Policy a request waits for its turn as long as its context allows.
func ExampleTransport() {
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "sent") }))
	defer partner.Close()
	l, err := limiter.NewMemory(limiter.SlidingLog)
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: &httplimit.Transport{
		Limiter: l, Limit: limiter.Limit{Count: 2, Window: time.Hour},
		Key:       func(*http.Request) string { return "partner" },
		Policy:    limiter.Drop(),
		OnFailure: httplimit.FailClosed,
	}}
	for range 3 {
		answer, err := client.Get(partner.URL)
		if err != nil {
			fmt.Println("not sent")
			continue
		}
		_ = answer.Body.Close()
		fmt.Println(answer.Status)
	}
	// Output:
	// 200 OK
	// 200 OK
	// not sent
}
