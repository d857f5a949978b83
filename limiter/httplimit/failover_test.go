package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
)

// TestMiddlewareFailsOver lets a Memory decide while the store does not answer: the limit
// holds, a request costs a timeout until the store counts as away and none after that, and
// each that waited is told.
func TestMiddlewareFailsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		changes := 0
		m, err := httplimit.New(httplimit.Config{
			Limiter: silentStore{}, Limit: twoAMinute, OnFailure: httplimit.FailOver, Fallback: memory(t),
			Timeout: 20 * time.Millisecond, Failures: 2, Probe: time.Minute,
			OnError:  func(r *http.Request, _ error) { reported = append(reported, r.RemoteAddr) },
			OnChange: func(bool, error) { changes++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for i, want := range []int{200, 200, 429, 429} {
			if w := get(m.Handler(hello), "10.0.0.1"); w.Code != want || w.Header().Get("RateLimit") == "" {
				t.Errorf("request %d: %d %v", i, w.Code, w.Header())
			}
		}
		if took := time.Since(start); took != 40*time.Millisecond || len(reported) != 2 || reported[0] != "10.0.0.1:1234" || changes != 1 {
			t.Errorf("took %v, told %v, %d changes", took, reported, changes)
		}
		if got, want := m.Counts(), (httplimit.Counts{Admitted: 2, Denied: 2, FailedOver: 4, Skipped: 2}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestMiddlewareStopsAsking: an open limit costs no timeout either once the store is away, and
// counts what it let through.
func TestMiddlewareStopsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := httplimit.New(httplimit.Config{Limiter: silentStore{}, Limit: twoAMinute, OnFailure: httplimit.FailOpen, Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 100 {
			if w := get(m.Handler(hello), "10.0.0.1"); w.Code != 200 {
				t.Fatal(w.Code)
			}
		}
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("100 requests took %v, want five timeouts", took)
		}
		if got, want := m.Counts(), (httplimit.Counts{FailedOpen: 100, Skipped: 95}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestTransportTimeout: a request that we send waits one Timeout for a silent store, and none
// after five, and is then sent or not as was chosen.
func TestTransportTimeout(t *testing.T) {
	for _, c := range []struct {
		onFailure httplimit.Failure
		want      httplimit.Counts
	}{
		{httplimit.FailOpen, httplimit.Counts{FailedOpen: 20, Skipped: 15}},
		{httplimit.FailClosed, httplimit.Counts{FailedClosed: 20, Skipped: 15}},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &httplimit.Transport{
				Limiter: silentStore{}, Limit: twoAMinute, OnFailure: c.onFailure, Timeout: 20 * time.Millisecond,
				Base: answering(http.StatusOK),
			}
			start := time.Now()
			for range 20 {
				response, err := tr.RoundTrip(httptest.NewRequest(http.MethodGet, "http://other.example/", nil))
				if sent := err == nil; sent != (c.onFailure == httplimit.FailOpen) {
					t.Fatalf("sent %v, error %v", sent, err)
				}
				if err == nil {
					_ = response.Body.Close()
				}
			}
			if took := time.Since(start); took != 100*time.Millisecond {
				t.Errorf("20 requests took %v, want five timeouts", took)
			}
			if got := tr.Counts(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	tr := &httplimit.Transport{Limiter: memory(t), Limit: twoAMinute, OnFailure: httplimit.FailOpen, Timeout: -1}
	if _, err := tr.RoundTrip(httptest.NewRequest(http.MethodGet, "http://other.example/", nil)); err == nil || !strings.Contains(err.Error(), "Timeout") {
		t.Errorf("a negative timeout: %v", err)
	}
}

// answering sends nothing and returns an answer of that status.
type answering int

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody, Request: r}, nil
}

// TestNothingGiven: what is nil or not set up is an error, or a 500, and no panic.
func TestNothingGiven(t *testing.T) {
	var noMemory *limiter.Memory
	var noQueue *limiter.Queue
	l := memory(t)
	for says, c := range map[string]httplimit.Config{
		"no limiter":      {Limiter: noMemory, Limit: twoAMinute, OnFailure: httplimit.FailOpen},
		"policy":          {Limiter: l, Limit: twoAMinute, OnFailure: httplimit.FailOpen, Policy: noQueue},
		"nil *limiter":    {Limiter: l, Limit: twoAMinute, OnFailure: httplimit.FailOver, Fallback: noMemory},
		"belong together": {Limiter: l, Limit: twoAMinute, OnFailure: httplimit.FailOver},
		"Timeout":         {Limiter: l, Limit: twoAMinute, OnFailure: httplimit.FailOpen, Timeout: -1},
	} {
		if _, err := httplimit.New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	if w := get(new(httplimit.Middleware).Handler(hello), "10.0.0.1"); w.Code != 500 {
		t.Errorf("the zero Middleware: %d", w.Code)
	}
	tr := &httplimit.Transport{Limiter: noMemory, OnFailure: httplimit.FailOpen, Limit: twoAMinute}
	if _, err := tr.RoundTrip(httptest.NewRequest("GET", "http://partner.example/", nil)); err == nil || !strings.Contains(err.Error(), "not set up") {
		t.Errorf("a transport with a nil limiter: %v", err)
	}
}
