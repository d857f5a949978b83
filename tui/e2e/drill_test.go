package e2e

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ratescope/feed/replay"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// hook is a webhook that keeps what it gets.
type hook struct {
	*httptest.Server
	mu  sync.Mutex
	got []map[string]any
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var said map[string]any
		if err := json.Unmarshal(body, &said); err != nil {
			t.Errorf("the webhook got %s: %v", body, err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, said)
	}))
	t.Cleanup(h.Close)
	return h
}

// of returns what came of one alert, in order.
func (h *hook) of(alert string) (list []map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, said := range h.got {
		if said["alert"] == alert {
			list = append(list, said)
		}
	}
	return list
}

// seconds are units admitted at a key, by the second.
type seconds map[int64]int64

// truth is what the log of a key says.
func truth(t *testing.T, s redisServer, key string) seconds {
	t.Helper()
	sum := seconds{}
	for i, line := range strings.Split(s.cli(t, "ZRANGE", key, "0", "-1", "WITHSCORES"), "\n") {
		if i%2 == 0 {
			continue
		}
		ms, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum[int64(ms)/1000]++
	}
	return sum
}

// replayed reads the recording of a capsule: the arrivals of each key by the second, what was
// fired from here, and the board that a replay ends with.
func replayed(t *testing.T, file string) (keys map[string]seconds, fired []model.Fired, board *model.Board) {
	t.Helper()
	f, under, err := replay.Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer under.Close()
	in, err := f.From(0)
	if err != nil {
		t.Fatal(err)
	}
	keys, board = map[string]seconds{}, &model.Board{}
	for {
		b, err := in.Next()
		if err == io.EOF {
			return keys, fired, board
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Readings {
			if keys[r.Key] == nil {
				keys[r.Key] = seconds{}
			}
			for _, a := range r.Arrivals {
				keys[r.Key][int64(a.At)/1e6] += a.N
			}
		}
		fired = append(fired, b.Fired...)
		board.Apply(b)
	}
}

// content returns a file of a capsule.
func content(t *testing.T, capsule, name string) string {
	t.Helper()
	z, err := zip.OpenReader(capsule)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		t.Fatalf("%s has no %s: %v", capsule, name, err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDrill is an incident from its beginning to what is told of it afterwards: a key comes
// over its limit, the webhook hears of it once and of its end once, a capsule is saved, the
// server is lost and comes back empty, and a replay has the same numbers, second by second,
// with the requests that were fired from here marked.
func TestDrill(t *testing.T) {
	t.Parallel()
	s := startRedis(t, "--save", "", "--appendonly", "no")
	h := newHook(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	text := "rules: [{match: 'rl:*', algorithm: sliding-log, limit: 10/4m}]\nalerts:\n" +
		"  - {name: throttled, match: 'rl:*', when: utilization >= 1, for: 200ms, severity: page, webhook: '" + h.URL + "/s3cret'}\n" +
		"  - {name: lost, when: forgotten, webhook: '" + h.URL + "/s3cret'}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// Of a window of four minutes a timeline, and a recording, tells arrivals by the second.
	n := 0
	hit := func(key string, times int) {
		for range times {
			n++
			s.cli(t, "ZADD", key, strconv.FormatInt(s.now(t).UnixMilli(), 10), fmt.Sprintf("m%d", n))
		}
		s.cli(t, "PEXPIRE", key, "240000")
	}
	s.cli(t, "SET", "session:1", "v4lue-of-another-program")
	hit("rl:calm", 3)
	hit("rl:hot", 9)

	term := openTerminal(t, 160, 48)
	term.run("cd %s && %s --redis %s --watch 'rl:*' --config %s --allow-inject", dir, program, s.URL(), config)
	term.wait("LIVE", "! arms", " 9/10 ", " 3/10 ")
	term.selectRow("rl:hot")
	term.arm()
	fire := func(outcome string) {
		t.Helper()
		term.fireOne("the audit file says "+outcome, func() {}, func() bool {
			return strings.Contains(strings.Join(auditLines(t, term.env), "\n"), `"outcome":"`+outcome+`"`)
		})
	}
	fire("admitted")
	term.wait(" 10/10 ")
	fire("denied")
	servertest.Await(t, "the webhook hears of the alert", func() bool { return len(h.of("throttled")) == 1 })
	begin := h.of("throttled")[0]
	for field, want := range map[string]any{"state": "firing", "severity": "page", "key": "rl:hot", "value": 1.0, "limit": 10.0, "window_ms": 240_000.0, "server": s.URL()} {
		if begin[field] != want {
			t.Errorf("the webhook got %s %v, want %v", field, begin[field], want)
		}
	}
	hit("rl:calm", 2)
	term.wait(" 5/10 ")
	hot, calm := truth(t, s, "rl:hot"), truth(t, s, "rl:calm")

	s.cli(t, "ZREMRANGEBYRANK", "rl:hot", "0", "5")
	servertest.Await(t, "the webhook hears of its end", func() bool { return len(h.of("throttled")) == 2 })
	if over := h.of("throttled")[1]; over["state"] != "resolved" || over["key"] != "rl:hot" || over["since_ms"] != begin["since_ms"] {
		t.Errorf("the webhook got %v after %v", over, begin)
	}

	first := saveCapsule(t, term, dir, 1)
	checkDrill(t, first, hot, calm)

	s.Kill()
	term.wait("DOWN")
	s.Server.Start()
	servertest.Await(t, "the webhook hears of the limits", func() bool { return len(h.of("lost")) == 1 })
	if lost := h.of("lost")[0]; lost["state"] != "firing" || lost["key"] != nil || lost["value"] != 2.0 {
		t.Errorf("the webhook got %v", lost)
	}
	term.wait("2 of 2 limits were forgot") // as far as there is room
	second := saveCapsule(t, term, dir, 2)
	term.press("q")
	term.settled()
	if events := content(t, second, "events.jsonl"); !strings.Contains(events, "2 of 2 limits were forgotten") {
		t.Errorf("the events are\n%s", events)
	}
	checkDrill(t, second, hot, calm)
	if got := len(h.of("throttled")); got != 2 {
		t.Errorf("%d posts about one key that came over its limit once", got)
	}

	told := ratescope(t, "replay", second, "--plain", "--speed", "1000")
	told.ok(t, nil)
	for _, want := range []string{"rl:hot is throttled", "2 of 2 limits were forgotten", "end of the recording"} {
		if !strings.Contains(told.out, want) {
			t.Errorf("the replay does not tell %q:\n%s", want, told.out)
		}
	}
	term.run("%s replay %s --speed 200", program, first)
	term.wait("REPLAY", "end of recording", "rl:hot", " 4/10 ", " 5/10 ")
	term.press("q")
	term.settled()
}

// saveCapsule presses I and returns the file, the nth that was saved in a folder.
func saveCapsule(t *testing.T, term *terminal, dir string, nth int) string {
	t.Helper()
	term.press("I")
	var files []string
	servertest.Await(t, "the capsule is there", func() bool {
		files, _ = filepath.Glob(filepath.Join(dir, "ratescope-*.zip"))
		if len(files) != nth {
			return false
		}
		info, err := os.Stat(files[nth-1]) // empty while it is found out whether it can be made
		return err == nil && info.Size() > 0
	})
	return files[nth-1] // their names are times
}

// checkDrill holds a capsule to what the server had.
func checkDrill(t *testing.T, capsule string, hot, calm seconds) {
	t.Helper()
	keys, fired, board := replayed(t, capsule)
	for name, want := range map[string]seconds{"rl:hot": hot, "rl:calm": calm} {
		if !reflect.DeepEqual(keys[name], want) {
			t.Errorf("by the second, %s had %v, and the replay has %v", name, want, keys[name])
		}
	}
	if len(fired) != 2 || fired[0].Outcome != model.Admitted || fired[1].Outcome != model.Denied || fired[0].Key != "rl:hot" || fired[0].Audit == "" {
		t.Errorf("the replay has as fired %+v, want one admitted and one denied", fired)
	}
	var bins [4 * model.BinsPerWindow]model.Bin
	line := board.Key("rl:hot").Timeline
	line.Columns(bins[:], line.Index(board.At), 1)
	admitted, denied := 0, 0
	for _, b := range bins {
		admitted, denied = admitted+int(b.InjectedAdmitted), denied+int(b.InjectedDenied)
	}
	if admitted != 1 || denied != 1 {
		t.Errorf("%d admitted and %d denied are marked as fired from here, want 1 and 1", admitted, denied)
	}
	if audit := content(t, capsule, "audit.jsonl"); strings.Count(audit, `"outcome":"pending"`) != 2 || strings.Contains(audit, `"dump"`) {
		t.Errorf("the audit lines are\n%s", audit)
	}
	summary := content(t, capsule, "summary.md")
	for _, want := range []string{"`rl:hot`", "is throttled", "**firing** (page)", "LIVE"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, summary)
		}
	}
	if shown := content(t, capsule, "config.yaml"); strings.Contains(shown, "s3cret") || !strings.Contains(shown, "throttled") {
		t.Errorf("the configuration is\n%s", shown)
	}
	zipped := []byte(content(t, capsule, "recording.jsonl.gz"))
	plain, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := io.ReadAll(plain)
	if err != nil || !bytes.Contains(recorded, []byte("rl:hot")) {
		t.Fatalf("the recording is not whole: %v", err)
	}
	for _, text := range []string{string(recorded), summary, content(t, capsule, "keys.json"), content(t, capsule, "health.json"), content(t, capsule, "picture.svg")} {
		if strings.Contains(text, "v4lue") {
			t.Errorf("the value of a key that is no limiter is in the capsule:\n%s", text)
		}
	}
	info, err := os.Stat(capsule)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v %v", info.Mode(), err)
	}
}
