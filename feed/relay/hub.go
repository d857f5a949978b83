// Package relay hands what one process watches to dashboards on other machines, so that
// fifty people who look cost the server what one does. A Hub is the end of the exporter, a
// Source that of a dashboard.
//
// # The stream
//
// GET /v1/frames of an exporter answers with a recording that does not end: lines of JSON
// in the format of package record, uncompressed. The first batch tells where everything
// stands, the latest reading of every key without its arrivals; each batch after it is what
// the exporter's source reported at one refresh. In the middle of the stream another first
// line and frame may come, when another client has joined; nothing after a frame refers to
// what is before it. A client that does not read is let go when maxQueued bytes wait for it.
//
// # What a Source believes
//
// An exporter is another program, and what it says is untrusted: a line, a batch and the logs
// are bounded as those of a recording are, and beside them the keys and their names, the
// bytes between two batches and the batches a second. Nothing is ever fired through it.
//
// Several exporters that share the keys of one server by --shard are put together: a key
// belongs to the exporter that told of it last. What is of the whole server is taken from the
// first exporter that answers. One that is away is named as a node of a cluster is, and its
// keys stay as they were last seen.
package relay

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratescope/model"
	"ratescope/model/handoff"
	"ratescope/model/record"
)

// Path is where an exporter answers with the stream.
const Path = "/v1/frames"

// HubOptions says what a Hub tells. Take and State are required; they never run at the same time.
type HubOptions struct {
	// Header is the first line of the stream; its instant and server are set from what is told.
	Header record.Header
	// Take takes in a batch, and State returns where everything stands with all that were taken in.
	// State is called from any goroutine.
	Take  func(model.Batch)
	State func() model.Batch
	// Clients is how many may read at once; 0 means one.
	Clients int
}

const (
	maxQueued  = 32 << 20         // bytes that wait for one client
	maxMasked  = 100_000          // keys whose hidden names are remembered
	writeLimit = 10 * time.Second // of one write to a client
	retryAfter = 5                // seconds, when there are too many clients
)

// Hub hands what a source reports to the clients of its stream. Every batch is encoded once
// for all of them, and none while no dashboard reads. Make one with NewHub. It is safe for
// concurrent use.
type Hub struct {
	o HubOptions

	mu      sync.Mutex
	clients map[*client]bool
	joined  bool           // a client came since the last batch
	out     *record.Writer // into encoded; nil while no dashboard reads
	mask    *record.Masker // nil: names are told as they are
	encoded bytes.Buffer
	zip     compressor
	ended   context.Context
	end     context.CancelFunc
}

// client is one reader of the stream.
type client struct {
	ready  handoff.Signal
	queue  [][]byte
	queued int
	zip    bool // it takes gzip
	out    bool // it was let go
}

// NewHub returns a Hub without clients.
func NewHub(o HubOptions) *Hub {
	o.Clients = max(o.Clients, 1)
	h := &Hub{o: o, clients: map[*client]bool{}}
	h.ended, h.end = context.WithCancel(context.Background())
	if o.Header.Mask { // by the Hub: a Writer gives each stream names of its own
		h.mask = record.NewMasker()
		h.o.Header.Mask, h.o.Header.Rules, h.o.Header.Watch = false, nil, h.mask.Patterns(o.Header.Watch)
	}
	return h
}

// Put takes in a batch and tells it to all clients. It does not wait for them.
func (h *Hub) Put(b model.Batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.o.Take(b)
	if len(h.clients) == 0 {
		h.out = nil
		return
	}
	if h.mask != nil && h.mask.Keys() > maxMasked {
		h.mask = record.NewMasker()
		for c := range h.clients { // to whom the keys have other names from now on
			c.close()
		}
		return
	}
	b = h.mask.Batch(b)
	h.encoded.Reset()
	if h.joined || h.out == nil {
		h.joined = false
		h.out = h.writer(&h.encoded, &b)
	}
	if h.out.Write(b) != nil {
		h.out = nil // what cannot be said begins anew with the next batch
		return
	}
	text := bytes.Clone(h.encoded.Bytes())
	var zipped []byte
	for c := range h.clients {
		if !c.zip {
			c.push(text)
			continue
		}
		if zipped == nil {
			zipped = h.zip.member(text)
		}
		c.push(zipped)
	}
}

// writer begins a recording with what is told of the server now.
func (h *Hub) writer(to *bytes.Buffer, b *model.Batch) *record.Writer {
	header := h.o.Header
	header.At, header.Server = b.At, b.Server
	w, _ := record.NewWriter(to, false, header) // memory alone: it does not fail
	return w
}

// push queues text. The Hub must be locked.
func (c *client) push(text []byte) {
	if c.queued += len(text); c.queued > maxQueued {
		c.close()
		return
	}
	c.queue = append(c.queue, text)
	c.ready.Send()
}

// close lets the client go. The Hub must be locked.
func (c *client) close() {
	c.out, c.queue = true, nil
	c.ready.Send()
}

// take returns what waits for c, and false when it was let go.
func (h *Hub) take(c *client) ([][]byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue := c.queue
	c.queue, c.queued = nil, 0
	return queue, !c.out
}

// join adds a client, and returns where everything stands when it joins: the batches after that are queued
// for it. The client is nil where there are too many, or the Hub has ended. With zip it gets gzip.
func (h *Hub) join(zip bool) (*client, model.Batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) >= h.o.Clients || h.ended.Err() != nil {
		return nil, model.Batch{}
	}
	c := &client{ready: handoff.NewSignal(), zip: zip}
	h.clients[c], h.joined = true, true
	b := h.o.State()
	for i := range b.Readings {
		r := &b.Readings[i]
		r.Arrivals, r.Trace, r.Since = nil, nil, 0 // of the past
	}
	return c, h.mask.Batch(b)
}

func (h *Hub) leave(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
}

// state encodes where everything stands, with zip as gzip.
func (h *Hub) state(b *model.Batch, zip bool) []byte {
	var text bytes.Buffer
	w := h.writer(&text, b)
	if len(b.Readings) > 0 || b.At != 0 {
		_ = w.Write(*b) // memory alone: it does not fail
	}
	if zip {
		return new(compressor).member(text.Bytes())
	}
	return text.Bytes()
}

// Close ends all streams, and refuses further ones.
func (h *Hub) Close() { h.end() }

// ServeHTTP answers with the stream until the client goes or the Hub is closed.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, b := h.join(takesGzip(r))
	if c == nil {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		http.Error(w, "there are as many streams as this exporter allows: start it with more --max-connections",
			http.StatusServiceUnavailable)
		return
	}
	defer h.leave(c)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's own is for requests that come to an end
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept-Encoding")
	if c.zip {
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	send := func(texts ...[]byte) bool {
		for _, text := range texts {
			_ = control.SetWriteDeadline(time.Now().Add(writeLimit)) // a test's recorder has none
			if _, err := w.Write(text); err != nil {
				return false
			}
		}
		return control.Flush() == nil
	}
	if !send(h.state(&b, c.zip)) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-h.ended.Done():
			return
		case <-c.ready:
			texts, in := h.take(c)
			if !send(texts...) || !in {
				return
			}
		}
	}
}

// compressor makes members of a gzip stream. What is told at once is a member of its own, so that it is
// compressed once for all clients, whenever each of them came. The zero value is ready.
type compressor struct {
	zip *gzip.Writer
	out bytes.Buffer
}

// member returns a text as a whole gzip member.
func (c *compressor) member(text []byte) []byte {
	c.out.Reset()
	if c.zip == nil {
		c.zip = gzip.NewWriter(&c.out)
	}
	c.zip.Reset(&c.out)
	_, _ = c.zip.Write(text) // memory alone: nothing of this fails
	_ = c.zip.Flush()        // gzip.Reader returns what ends a member only when the next one has begun
	_ = c.zip.Close()
	return bytes.Clone(c.out.Bytes())
}

// takesGzip reports whether who asks takes an answer that is compressed with gzip.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		refused := strings.Trim(strings.TrimPrefix(strings.TrimSpace(quality), "q="), "0.") == "" && quality != ""
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return !refused
		}
	}
	return false
}
