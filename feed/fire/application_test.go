package fire

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/httprate"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"ratescope/model"
)

// served answers requests with a handler in this process, on the clock of a synctest bubble.
type served struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// firedAt fires an order at a handler, on virtual time, and returns what came of each request.
func firedAt(t *testing.T, h http.Handler, order model.Order) (list []model.Fired) {
	t.Helper()
	a, err := NewApplication(Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit")}, Call{URL: "http://127.0.0.1/"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.client.Transport = served{h}
	order.Key, order.Cost = a.Shown(), 1
	if _, err := a.Fire(t.Context(), order, func(f model.Fired) { list = append(list, f) }); err != nil {
		t.Fatal(err)
	}
	return list
}

// ok is an application that has nothing to say.
var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// TestWrongRetryAfterOfALibrary: go-chi/httprate weighs the window before, as a sliding window counter does, and
// its Retry-After names the whole window whatever that says: the finding names the moment at which its own
// store had room for a request.
func TestWrongRetryAfterOfALibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 10 * time.Second
		limited := httprate.NewRateLimiter(20, window)
		edge := func() time.Time { return time.Now().Truncate(window).Add(window) }
		time.Sleep(time.Until(edge()))
		firedAt(t, limited.Handler(ok), model.Order{N: 20}) // the window is full
		time.Sleep(time.Until(edge()))                      // and is the one before
		list := firedAt(t, limited.Handler(ok), model.Order{N: 40, Rate: 100})
		// One of 20 has room once less than 19.5 of them count, that is after a fortieth of the window.
		room := window / 40
		for _, f := range list {
			if since := f.Sent.Sub(list[0].Sent); f.Outcome == model.Admitted && (since < room || since > room+20*time.Millisecond) {
				t.Fatalf("a request is admitted after %v, want %v", since, room)
			}
		}
		found := model.Findings(list)
		if len(found) == 0 || found[0].Header != "Retry-After" || found[0].Said.D != window || found[0].True.D > 20*time.Millisecond || !strings.Contains(found[0].What, "was admitted") {
			t.Errorf("a Retry-After of %v, where a request was admitted after %v, gives %+v", window, room, found)
		}
	})
}

// byGCRA is ok behind the middleware of throttled/throttled: 20 a minute and 4 at once.
func byGCRA(t *testing.T) http.Handler {
	t.Helper()
	store, err := memstore.NewCtx(0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerMin(20), MaxBurst: 4})
	if err != nil {
		t.Fatal(err)
	}
	return (&throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: &throttled.VaryBy{Method: true}}).RateLimit(ok)
}

// TestRightRetryAfterOfALibrary: throttled/throttled says when its GCRA admits the next request, rounded up to
// the second, and a client that comes then is admitted: nothing is found. Behind a proxy that names
// half a minute instead, that is.
func TestRightRetryAfterOfALibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := firedAt(t, byGCRA(t), model.Order{N: 300, Rate: 10})
		denied := 0
		for _, f := range list {
			if f.Outcome == model.Denied {
				denied++
			}
		}
		if found := model.Findings(list); denied < 200 || len(found) != 0 {
			t.Errorf("of %d requests %d are denied, and found is %+v", len(list), denied, found)
		}
		limited := byGCRA(t)
		proxy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			limited.ServeHTTP(answer, r)
			if answer.Code == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "30")
			}
			w.WriteHeader(answer.Code)
		})
		found := model.Findings(firedAt(t, proxy, model.Order{N: 300, Rate: 10}))
		if len(found) != 1 || !strings.Contains(found[0].What, "after 30s") || !strings.Contains(found[0].What, "was admitted") {
			t.Errorf("found is %+v", found)
		}
	})
}
