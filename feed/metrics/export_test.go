package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prommodel "github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"ratescope/feed/metrics"
	"ratescope/limiter"
	"ratescope/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var dawn = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// log is a key whose log holds so many requests of the last second.
func log(name string, used int, limit int64) model.Reading {
	at := limiter.InstantOf(dawn)
	r := model.Reading{Key: name, Type: "zset", At: at, ExactKnown: true, PreviousKnown: true,
		Target: model.Target{Algorithm: limiter.SlidingLog, Window: time.Minute}}
	if limit > 0 {
		r.Target.Limit, r.Target.LimitKnown = limiter.Limit{Count: limit, Window: time.Minute}, true
	}
	r.State.Algorithm = limiter.SlidingLog
	r.State.Log = []limiter.Entry{{At: at - 1_000_000, Count: int64(used)}}
	return r
}

func collector(o metrics.Options, link model.Link, readings ...model.Reading) *metrics.Collector {
	o.Now = func() time.Time { return dawn }
	c := metrics.New(o)
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Link: link, RTT: time.Millisecond}, Sweep: model.Sweep{Passes: 1, Dropped: 3},
		Cost: model.Cost{Commands: 7, Server: 2 * time.Millisecond}, Readings: readings})
	return c
}

// scrape reads the page as Prometheus does.
func scrape(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := read(h)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func read(h http.Handler) (map[string]*dto.MetricFamily, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { _ = s.Serve(l); close(done) }()
	defer func() { s.Close(); <-done; http.DefaultClient.CloseIdleConnections() }()
	answer, err := http.Get("http://" + l.Addr().String() + "/metrics")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(prommodel.UTF8Validation)
	return parser.TextToMetricFamilies(answer.Body)
}

// value is that of a key's metric.
func value(f map[string]*dto.MetricFamily, name, key string) (float64, bool) {
	for _, m := range f[name].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "key" && l.GetValue() == key {
				return m.GetGauge().GetValue(), true
			}
		}
	}
	return 0, false
}

// TestExported: every figure that is known, and none that is not, whatever the names.
func TestExported(t *testing.T) {
	denied := log("full", 20, 20)
	denied.Denied = model.Count{Known: true, N: 6}
	names := []string{"plain", `quo"te\back` + "\nline", "größe:👩", "\x1b[2Jraw", "bad\xff\xfe", "bad\xff\xfd"}
	readings := []model.Reading{denied, log("unlimited", 4, 0), {Key: "broken", Type: "hash", Err: "wrong type"}}
	for _, name := range names {
		readings = append(readings, log(name, 5, 20))
	}
	f := scrape(t, metrics.Handler(collector(metrics.Options{}, model.Live, readings...)))
	for metric, want := range map[string]float64{"used": 20, "limit": 20, "utilization_ratio": 1, "remaining": 0, "denied": 6, "window_seconds": 60, "next_admission_seconds": 59, "reading_age_seconds": 0} {
		if got, exported := value(f, "ratescope_key_"+metric, "full"); !exported || math.Abs(got-want) > 0.01 {
			t.Errorf("%s is %v %v, want %v", metric, got, exported, want)
		}
	}
	for _, metric := range []string{"limit", "utilization_ratio", "remaining", "denied", "next_admission_seconds"} {
		if got, exported := value(f, "ratescope_key_"+metric, "unlimited"); exported {
			t.Errorf("%s is %v although it is not known", metric, got)
		}
	}
	if got, exported := value(f, "ratescope_key_used", "broken"); exported {
		t.Errorf("a key that cannot be read has used %v", got)
	}
	for _, name := range []string{"plain", `quo"te\\back\nline`, "größe:👩", `\x1b[2Jraw`, `bad\xff\xfe`} {
		if got, exported := value(f, "ratescope_key_used", name); !exported || got != 5 {
			t.Errorf("%q: used is %v %v", name, got, exported)
		}
	}
	if n := len(f["ratescope_key_used"].GetMetric()); n != 8 {
		t.Errorf("%d keys have a used, want 8", n)
	}
	for metric, want := range map[string]float64{"up": 1, "source_age_seconds": 0, "round_trip_seconds": 0.001, "keys": 9, "keys_without_series": 0, "keys_not_watched": 3} {
		if got := f["ratescope_"+metric].GetMetric()[0].GetGauge().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if got := f["ratescope_watch_commands_total"].GetMetric()[0].GetCounter().GetValue(); got != 7 {
		t.Errorf("the commands are %v", got)
	}
}

func TestNothingIsKnownYet(t *testing.T) {
	f := scrape(t, metrics.Handler(metrics.New(metrics.Options{})))
	for name := range f {
		if strings.HasPrefix(name, "ratescope_") && name != "ratescope_up" {
			t.Errorf("before the first batch it tells %s", name)
		}
	}
	if f["ratescope_up"].GetMetric()[0].GetGauge().GetValue() != 0 {
		t.Errorf("before the first batch it tells %v", f)
	}
}

// TestSeriesAreBounded, stay with their keys, and the rest is counted; a key that is full
// has series whenever it came.
func TestSeriesAreBounded(t *testing.T) {
	var readings []model.Reading
	for i := range 50 {
		readings = append(readings, log(fmt.Sprint("k", i), i+1, 100))
	}
	c := collector(metrics.Options{MaxKeys: 10}, model.Live, readings...)
	first := scrape(t, metrics.Handler(c))
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Link: model.Live}, Sweep: model.Sweep{Passes: 1}, Readings: []model.Reading{log("k0", 100, 100), log("k1", 79, 100)}})
	second := scrape(t, metrics.Handler(c))
	for _, f := range []map[string]*dto.MetricFamily{first, second} {
		if n := len(f["ratescope_key_used"].GetMetric()); n != 10 || f["ratescope_keys_without_series"].GetMetric()[0].GetGauge().GetValue() != 40 {
			t.Errorf("%d keys have series", n)
		}
		if _, exported := value(f, "ratescope_key_used", "k49"); !exported {
			t.Error("the key that was the fullest first has none")
		}
	}
	if _, exported := value(second, "ratescope_key_used", "k0"); !exported {
		t.Error("a key that is full has none, because it came later")
	}
	if _, exported := value(second, "ratescope_key_used", "k1"); exported {
		t.Error("a key that is not near its limit took the series of another that is still there")
	}
	var full []model.Reading
	for i := range 25 {
		full = append(full, log(fmt.Sprint("k", i), 100, 100))
	}
	if f := scrape(t, metrics.Handler(collector(metrics.Options{MaxKeys: 10}, model.Live, full...))); len(f["ratescope_key_used"].GetMetric()) != 25 {
		t.Errorf("%d of 25 keys that are full have series", len(f["ratescope_key_used"].GetMetric()))
	}
	masked := collector(metrics.Options{Mask: true}, model.Live, log("tenant:0001:alice", 1, 9), log("tenant:0002:alice", 1, 9))
	if f := scrape(t, metrics.Handler(masked)); len(f["ratescope_key_used"].GetMetric())+int(f["ratescope_keys_without_series"].GetMetric()[0].GetGauge().GetValue()) != 2 {
		t.Error("names that look alike are neither told nor counted")
	}
}

func TestAServerThatIsAway(t *testing.T) {
	c := collector(metrics.Options{}, model.Live, log("k", 1, 9))
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Link: model.Down, Err: "gone"}})
	f := scrape(t, metrics.Handler(c))
	if f["ratescope_up"].GetMetric()[0].GetGauge().GetValue() != 0 || f["ratescope_round_trip_seconds"] != nil {
		t.Errorf("it tells %v", f)
	}
	if problems, err := testutil.GatherAndLint(c); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// TestAgesRunOn while the server is away, and /readyz says so.
func TestAgesRunOn(t *testing.T) {
	now := dawn
	c := metrics.New(metrics.Options{Now: func() time.Time { return now }})
	ready := func() int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/readyz", nil)
		r.Host = "localhost"
		metrics.Handler(c).ServeHTTP(w, r)
		return w.Code
	}
	if ready() != http.StatusServiceUnavailable {
		t.Error("it is ready before the server answered")
	}
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Link: model.Live}, Readings: []model.Reading{log("k", 1, 9)}})
	if ready() != http.StatusOK {
		t.Error("it is not ready while the server answers")
	}
	now = dawn.Add(90 * time.Second)
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: now, Server: model.Server{Link: model.Down, Err: "gone"}})
	f := scrape(t, metrics.Handler(c))
	if age, _ := value(f, "ratescope_key_reading_age_seconds", "k"); age != 90 || f["ratescope_source_age_seconds"].GetMetric()[0].GetGauge().GetValue() != 90 {
		t.Errorf("after 90 s the reading is %v s old", age)
	}
	if ready() != http.StatusServiceUnavailable {
		t.Error("it is ready while the server is away")
	}
}

// TestStates counts every key once.
func TestStates(t *testing.T) {
	broken, likely := log("broken", 1, 9), log("likely", 9, 9)
	broken.Err, likely.Target.Evidence = "it is a list", model.Likely
	c := collector(metrics.Options{Build: "1.2"}, model.Live, log("full", 9, 9), log("near", 8, 9), log("ok", 1, 9), log("open", 1, 0), broken, likely)
	f := scrape(t, metrics.Handler(c))
	for _, m := range f["ratescope_keys_by_state"].GetMetric() {
		want := 1.0
		if m.GetLabel()[0].GetValue() == "was_throttled" {
			want = 0
		}
		if m.GetGauge().GetValue() != want {
			t.Errorf("%v", m)
		}
	}
	if n := len(f["ratescope_keys_by_state"].GetMetric()); n != 7 || f["ratescope_keys_sick"].GetMetric()[0].GetGauge().GetValue() != 1 || f["ratescope_build_info"] == nil {
		t.Errorf("%d states, %v", n, f["ratescope_keys_sick"])
	}
	if _, exported := value(f, "ratescope_key_used", "likely"); exported {
		t.Error("a key that may be no limiter has series")
	}
}

// idle is a source that says little.
type idle struct{}

func (idle) Run(ctx context.Context, emit func(model.Batch)) error {
	emit(model.Batch{At: 1, Local: dawn, Server: model.Server{Link: model.Live}})
	<-ctx.Done()
	return nil
}

func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- metrics.Serve(ctx, idle{}, l, metrics.New(metrics.Options{})) }()
	for path, want := range map[string]struct {
		code int
		text string
	}{"/": {200, `href="metrics"`}, "/metrics": {200, "ratescope_up"}, "/elsewhere": {404, ""}} {
		answer, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != want.code || !strings.Contains(string(body), want.text) {
			t.Errorf("%s: %d %v %q", path, answer.StatusCode, err, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

// TestHost answers no request that a page of another server could have made a browser
// send, after its name was rebound to this machine.
func TestHost(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	h := metrics.Handler(metrics.New(metrics.Options{Hosts: []string{"Exporter.example"}}))
	for host, want := range map[string]int{
		"localhost:9464": 200, "LOCALHOST": 200, "localhost.:9464": 200, "127.0.0.1:9464": 200, "10.1.2.3": 200, "[::1]:9464": 200, "[::1]": 200,
		name + ":9464": 200, "exporter.example:9464": 200, "ratescope:9464": 200, "ratescope.prod.svc:9464": 200, "ratescope.prod.svc.cluster.local.": 200,
		"ratescope.prod:9464": 403, "svc": 200, "cluster.local": 403, "evil.example:9464": 403, "evilsvc.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example:80": 403, "": 403,
	} {
		for _, path := range []string{"/metrics", "/"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s of host %q is answered with %d, want %d", path, host, w.Code, want)
			}
		}
	}
}
