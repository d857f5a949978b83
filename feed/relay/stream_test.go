package relay

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// board is the state of an exporter.
type board struct {
	model.Board
	hub *Hub
}

func newBoard(clients int, mask bool) *board {
	b := &board{}
	b.hub = NewHub(HubOptions{Header: record.Header{By: "a test", Mask: mask}, Clients: clients, Take: b.Apply, State: b.Batch})
	return b
}

func (b *board) put(batch model.Batch) { b.hub.Put(batch) }

// collected are the batches of a source.
type collected struct {
	mu   sync.Mutex
	list []model.Batch
}

func (c *collected) put(b model.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, b)
}

// last returns the latest batch for which ok holds, and whether there is one.
func (c *collected) last(ok func(model.Batch) bool) (model.Batch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range slices.Backward(c.list) {
		if ok(b) {
			return b, true
		}
	}
	return model.Batch{}, false
}

func tells(key string) func(model.Batch) bool {
	return func(b model.Batch) bool {
		return slices.ContainsFunc(b.Readings, func(r model.Reading) bool { return r.Key == key })
	}
}

// await waits until a batch comes for which ok holds.
func await(t *testing.T, c *collected, what string, ok func(model.Batch) bool) model.Batch {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if b, found := c.last(ok); found {
			return b
		}
	}
	t.Fatalf("%s never comes", what)
	return model.Batch{}
}

// run runs a source of a server until the test ends.
func run(t *testing.T, o Options) *collected {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.patient = time.Hour // a busy machine may stand still for seconds
	var c collected
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, c.put) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the source ended with %v", err)
		}
	})
	return &c
}

// TestAStreamTellsAll: a dashboard gets what was before it came, what comes, and another one that
// joins changes nothing for it.
func TestAStreamTellsAll(t *testing.T) {
	b := newBoard(3, false)
	mux := http.NewServeMux()
	mux.Handle(Path, b.hub)
	server := httptest.NewServer(mux)
	defer server.Close()
	defer b.hub.Close()
	at := dawn
	b.put(told(at, "old", "both"))
	first := run(t, Options{URLs: []string{server.URL}})
	got := await(t, first, "what was before", tells("old"))
	if len(got.Readings) != 2 || len(got.Readings[0].Arrivals) != 0 || got.Server.Link != model.Live || got.Server.Target != "redis://s by "+server.URL {
		t.Errorf("the first batch is %+v", got)
	}
	at = at.Add(refresh)
	b.put(told(at, "both", "new"))
	got = await(t, first, "what comes", tells("new"))
	if len(got.Readings) != 2 || len(got.Readings[0].Arrivals) != 1 || got.Cost.Commands != 10 {
		t.Errorf("the second batch is %+v", got)
	}
	second := run(t, Options{URLs: []string{server.URL}})
	await(t, second, "what was before the second", func(b model.Batch) bool { return len(b.Readings) == 3 })
	at = at.Add(refresh)
	last := told(at, "late")
	last.Gone = []string{"old"}
	b.put(last)
	for _, c := range []*collected{first, second} {
		if got := await(t, c, "what comes to both", tells("late")); !slices.Equal(got.Gone, []string{"old"}) {
			t.Errorf("gone are %v", got.Gone)
		}
	}
	b.hub.Close()
	await(t, first, "the end of the stream", func(b model.Batch) bool { return b.Server.Link == model.Down && b.Server.Err != "" })
}

// TestNamesAreHiddenAlike: with Mask a key has one name in every stream and every frame.
func TestNamesAreHiddenAlike(t *testing.T) {
	b := newBoard(2, true)
	server := httptest.NewServer(b.hub)
	defer server.Close()
	defer b.hub.Close()
	b.put(told(dawn, "user:0001:limit", "user:0002:limit"))
	one := run(t, Options{URLs: []string{server.URL}})
	before := keysOf(await(t, one, "the first", func(b model.Batch) bool { return len(b.Readings) == 2 }))
	b.put(told(dawn.Add(refresh), "user:0002:limit", "user:0001:limit"))
	after := keysOf(await(t, one, "the second", func(b model.Batch) bool { return len(b.Readings) == 2 && b.At > limiter.InstantOf(dawn) }))
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) || before[0] == before[1] || strings.Contains(before[0], "0001") || strings.Contains(before[1], "0002") {
		t.Errorf("the names are %v, then %v", before, after)
	}
}

// TestTooManyReaders: the Hub says so, and lets one go that does not read.
func TestTooManyReaders(t *testing.T) {
	b := newBoard(1, false)
	c, _ := b.hub.join(false)
	w := httptest.NewRecorder()
	b.hub.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path, nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a reader too many is answered %d", w.Code)
	}
	c.push(make([]byte, maxQueued))
	if _, in := b.hub.take(c); !in {
		t.Error("it was let go for as much as may wait")
	}
	c.push(make([]byte, maxQueued))
	c.push(make([]byte, 1))
	if queue, in := b.hub.take(c); in || len(queue) > 0 {
		t.Errorf("%d texts wait for a client that does not read", len(queue))
	}
	b.hub.leave(c)
	b.hub.Close()
	if c, _ := b.hub.join(false); c != nil {
		t.Error("a Hub that has ended takes another client")
	}
}

// TestRefusals: every answer that is no stream is a sentence with a remedy, without the password.
func TestRefusals(t *testing.T) {
	for code, want := range map[int]string{401: "--password-file", 403: "--host", 404: "no ratescope exporter", 503: "--max-connections", 302: "answers 302", 200: "no ratescope exporter"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "u" || password != "secret" {
				t.Errorf("asked as %q", user)
			}
			w.Header().Set("Location", "http://elsewhere.invalid/")
			w.WriteHeader(code)
			io.WriteString(w, "\x1b[31mno stream\n")
		}))
		c := run(t, Options{URLs: []string{strings.Replace(server.URL, "//", "//u@", 1)}, Password: "secret"})
		b := await(t, c, want, func(b model.Batch) bool { return b.Server.Err != "" })
		if !strings.Contains(b.Server.Err, want) || strings.Contains(b.Server.Err, "secret") || strings.Contains(b.Server.Target, "secret") || strings.Contains(b.Server.Err, "\x1b") {
			t.Errorf("%d is told as %q", code, b.Server.Err)
		}
		server.Close()
	}
}

// TestURLs: what is no exporter's URL is refused without telling its password.
func TestURLs(t *testing.T) {
	for _, urls := range [][]string{nil, {"localhost:9464"}, {"redis://u:secret@h"}, {"http://"}, {"http://u:secret@h/?a=b"}, {"http://u:secret@h\x7f"}, {"http://h", "http://u@h/"}} {
		if _, err := New(Options{URLs: urls}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", urls, err)
		}
	}
	if s, err := New(Options{URLs: []string{"https://u:secret@h:1/behind/a/proxy/"}}); err != nil || s.names[0] != "https://h:1/behind/a/proxy" {
		t.Errorf("%v, %v", s, err)
	}
}

// pipes is an exporter whose streams a test writes itself.
type pipes struct {
	mu   sync.Mutex
	ends []*io.PipeWriter
	err  error
}

func (p *pipes) open(context.Context, int) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	r, w := io.Pipe()
	p.ends = append(p.ends, w)
	return r, nil
}

// latest returns the stream that was opened last, and how many there were.
func (p *pipes) latest() (*io.PipeWriter, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends[len(p.ends)-1], len(p.ends)
}

// fail has streams opened no more from now on, or again with nil.
func (p *pipes) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// TestReconnect: on virtual time, an exporter that goes and comes back is asked at most once a
// second, is away meanwhile, and what it says then counts. One that holds the connection and says nothing is
// asked anew.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pipes
		var c collected
		s := &Source{names: []string{"http://a"}, open: p.open}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, c.put) }()
		say := func(keys ...string) {
			t.Helper()
			synctest.Wait()
			out, _ := p.latest()
			w, err := record.NewWriter(out, false, record.Header{})
			for range 3 {
				if err == nil {
					err = w.Write(told(time.Now(), keys...))
				}
				time.Sleep(refresh)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		last := func() model.Batch { b, _ := c.last(func(model.Batch) bool { return true }); return b }
		say("k1")
		if last().Server.Link != model.Live {
			t.Fatalf("a stream leads to %+v", last().Server)
		}
		p.fail(errors.New("cannot be reached: refused"))
		out, _ := p.latest()
		out.Close()
		time.Sleep(10 * time.Second)
		if b := last(); b.Server.Link != model.Down || b.Server.Down < 9*time.Second || !strings.Contains(b.Server.Err, "refused") {
			t.Errorf("after ten seconds away: %+v", b.Server)
		}
		p.fail(nil)
		time.Sleep(time.Second)
		say("k2")
		if b, ok := c.last(tells("k2")); !ok || b.Server.Link != model.Live {
			t.Errorf("it is back: %+v", b.Server)
		}
		if _, ok := c.last(func(b model.Batch) bool { return slices.Contains(b.Gone, "k1") }); !ok {
			t.Error("a key that went meanwhile is still there")
		}
		_, before := p.latest()
		time.Sleep(10 * time.Second)
		if _, after := p.latest(); last().Server.Link != model.Down || after == before {
			t.Errorf("after ten seconds of silence: %+v, %d streams more", last().Server, after-before)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestHostileStreams: what is no stream ends it and nothing else, and a flood is held up.
func TestHostileStreams(t *testing.T) {
	head := `{"recording":{"version":1,"by":"x","at":1,"server":{"target":"\u001b[31m"}}}` + "\n"
	for name, text := range map[string]string{
		"empty":           "",
		"another version": strings.Replace(head, `"version":1`, `"version":99`, 1),
		"no frame":        head + `{"b":{"at":1,"link":1}}` + "\n",
		"deep":            head + `{"anew":0}` + "\n" + `{"r":` + strings.Repeat("[", 1<<20) + "\n",
		"far off":         head + `{"anew":0}` + "\n" + `{"r":{"id":1,"key":{"name":"k","type":"zset","algorithm":"gcra","limit":9223372036854775807,"per":9223372036854775807},"at":-9223372036854775808,"tat":9223372036854775807}}` + "\n" + `{"b":{"at":9223372036854775807,"link":250,"cost":[-1,-1,-9223372036854775808]}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
			defer server.Close()
			c := run(t, Options{URLs: []string{server.URL}})
			b := await(t, c, "an end", func(b model.Batch) bool { return b.Server.Err != "" })
			if strings.Contains(b.Server.Err, "\x1b") {
				t.Errorf("it is told as %q", b.Server.Err)
			}
			var board model.Board
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, b := range c.list {
				board.Apply(b)
				board.Refresh(b.At)
			}
		})
	}
}
