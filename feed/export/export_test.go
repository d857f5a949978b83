package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prommodel "github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"ratescope/feed/export"
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

func collector(o export.Options, link model.Link, readings ...model.Reading) *export.Collector {
	o.Now = func() time.Time { return dawn }
	c := export.New(o)
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

// TestWhatIsTold: every figure that is known, and none that is not, whatever the names.
func TestWhatIsTold(t *testing.T) {
	denied := log("full", 20, 20)
	denied.Denied = model.Count{Known: true, N: 6}
	names := []string{"plain", `quo"te\back` + "\nline", "größe:👩", "\x1b[2Jraw", "bad\xff\xfe", "bad\xff\xfd"}
	readings := []model.Reading{denied, log("unlimited", 4, 0), {Key: "broken", Type: "hash", Err: "wrong type"}}
	for _, name := range names {
		readings = append(readings, log(name, 5, 20))
	}
	f := scrape(t, export.Handler(collector(export.Options{}, model.Live, readings...)))
	for metric, want := range map[string]float64{"used": 20, "limit": 20, "utilization_ratio": 1, "remaining": 0, "denied": 6, "window_seconds": 60, "next_admission_seconds": 59, "reading_age_seconds": 0} {
		if got, told := value(f, "ratescope_key_"+metric, "full"); !told || math.Abs(got-want) > 0.01 {
			t.Errorf("%s is %v %v, want %v", metric, got, told, want)
		}
	}
	for _, metric := range []string{"limit", "utilization_ratio", "remaining", "denied", "next_admission_seconds"} {
		if got, told := value(f, "ratescope_key_"+metric, "unlimited"); told {
			t.Errorf("%s is %v although it is not known", metric, got)
		}
	}
	if got, told := value(f, "ratescope_key_used", "broken"); told {
		t.Errorf("a key that cannot be read has used %v", got)
	}
	for _, name := range names[:4] {
		if got, told := value(f, "ratescope_key_used", name); !told || got != 5 {
			t.Errorf("%q: used is %v %v", name, got, told)
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
	f := scrape(t, export.Handler(export.New(export.Options{})))
	if len(f) != 1 || f["ratescope_up"].GetMetric()[0].GetGauge().GetValue() != 0 {
		t.Errorf("before the first batch it tells %v", f)
	}
}

// TestSeriesAreBounded, stay with their keys, and the rest is counted.
func TestSeriesAreBounded(t *testing.T) {
	var readings []model.Reading
	for i := range 50 {
		readings = append(readings, log(fmt.Sprint("k", i), i+1, 100))
	}
	c := collector(export.Options{MaxKeys: 10}, model.Live, readings...)
	first := scrape(t, export.Handler(c))
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Link: model.Live}, Sweep: model.Sweep{Passes: 1}, Readings: []model.Reading{log("k0", 100, 100)}})
	second := scrape(t, export.Handler(c))
	for _, f := range []map[string]*dto.MetricFamily{first, second} {
		if n := len(f["ratescope_key_used"].GetMetric()); n != 10 || f["ratescope_keys_without_series"].GetMetric()[0].GetGauge().GetValue() != 40 {
			t.Errorf("%d keys have series", n)
		}
		if _, told := value(f, "ratescope_key_used", "k49"); !told {
			t.Error("the fullest key has none")
		}
	}
	if _, told := value(second, "ratescope_key_used", "k0"); told {
		t.Error("a key took the series of another that is still there")
	}
	masked := collector(export.Options{Mask: true}, model.Live, log("tenant:0001:alice", 1, 9), log("tenant:0002:alice", 1, 9))
	if f := scrape(t, export.Handler(masked)); len(f["ratescope_key_used"].GetMetric())+int(f["ratescope_keys_without_series"].GetMetric()[0].GetGauge().GetValue()) != 2 {
		t.Error("names that look alike are neither told nor counted")
	}
}

func TestAServerThatIsAway(t *testing.T) {
	c := collector(export.Options{}, model.Live, log("k", 1, 9))
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Link: model.Down, Err: "gone"}})
	f := scrape(t, export.Handler(c))
	if f["ratescope_up"].GetMetric()[0].GetGauge().GetValue() != 0 || f["ratescope_round_trip_seconds"] != nil {
		t.Errorf("it tells %v", f)
	}
	if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
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
	go func() { ended <- export.Serve(ctx, idle{}, l, export.New(export.Options{})) }()
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
