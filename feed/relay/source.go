package relay

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ratescope/feed/connect"
	"ratescope/internal/goroutine"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/record"
)

// Options says where a Source reads. URLs is required.
type Options struct {
	URLs     []string         // of exporters: http://host:9464, https://user@host:9464
	Password connect.Secret   // for a URL with a user and no password; "" is none
	TLS      connect.TLSFiles // of https://
}

// ErrExporter is why nothing can be fired through exporters.
var ErrExporter = errors.New("this dashboard is fed by an exporter, through which nothing is fired: start one on the server itself, " +
	"with --redis and --allow-inject")

// Source reads the streams of exporters as a source. Make one with New.
type Source struct {
	names   []string
	patient time.Duration // replaces silentAfter; 0 does not
	open    func(ctx context.Context, i int) (io.ReadCloser, error)
}

// New prepares to read; it does not connect. The error is for a URL that is none of an exporter, or TLS
// files that cannot be read.
func New(o Options) (*Source, error) {
	if len(o.URLs) == 0 {
		return nil, errors.New("no exporter is given: name one, as in http://localhost:9464")
	}
	config, err := o.TLS.Config()
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig, t.ResponseHeaderTimeout, t.DisableCompression = config, headLimit, true
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the password is for one host
	client := &http.Client{Transport: t, CheckRedirect: stay}
	s := &Source{}
	var streams []*url.URL
	for _, text := range o.URLs {
		u, err := parse(text)
		if err != nil {
			return nil, err
		}
		if u.User != nil {
			if _, given := u.User.Password(); !given && o.Password != "" {
				u.User = url.UserPassword(u.User.Username(), string(o.Password))
			}
		}
		plain := *u
		plain.User = nil
		name := strings.TrimSuffix(plain.String(), "/")
		if slices.Contains(s.names, name) {
			return nil, fmt.Errorf("the exporter %s is given twice: give it once", name)
		}
		s.names, streams = append(s.names, name), append(streams, u.JoinPath(Path))
	}
	s.open = func(ctx context.Context, i int) (io.ReadCloser, error) { return ask(ctx, client, streams[i]) }
	return s, nil
}

// parse reads the URL of an exporter. The error says no password.
func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("--from is no URL: give it as in http://host:9464")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("--from %q is no URL of an exporter: give it as in http://host:9464", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("--from %q says more than where the exporter is: end it after the address", u.Redacted())
	}
	return u, nil
}

// Waits for an exporter, beside those of connect.
const (
	headLimit = 10 * time.Second // until the answer begins
	tickEvery = 500 * time.Millisecond
)

// ask asks for the stream. The error is a sentence that begins after the exporter's name.
func ask(ctx context.Context, client *http.Client, u *url.URL) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("cannot be asked: check its URL")
	}
	request.Header.Set("Accept-Encoding", "gzip") // a recording may be compressed, and its reader tells
	answer, err := client.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return nil, errors.New("asks for a name and a password: give them as in http://NAME@host:9464 with --password-file")
	case http.StatusForbidden:
		return nil, errors.New("does not answer for this host name: start it with --host to add it")
	case http.StatusNotFound:
		return nil, errors.New("has no " + Path + ": it is no ratescope exporter, or an older one")
	case http.StatusServiceUnavailable:
		return nil, errors.New("has as many readers as it allows: start it with more --max-connections")
	}
	return nil, fmt.Errorf("answers %d: check the URL", answer.StatusCode)
}

// unreachable puts the error of a connection into words.
func unreachable(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		if at.Timeout() {
			return errors.New("does not answer in time")
		}
		err = at.Err // without the URL, which may have a password
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return errors.New("has a certificate that cannot be verified: give its authority with --tls-ca")
	}
	return fmt.Errorf("cannot be reached: %w", err)
}

// Run implements feed.Source. It reads all exporters until ctx ends.
func (s *Source) Run(ctx context.Context, emit func(model.Batch)) error {
	beside, ctx := goroutine.NewGroup(ctx)
	t := &teller{fleet: newFleet(s.names, time.Now()), emit: emit}
	t.fleet.patient = cmp.Or(s.patient, t.fleet.patient)
	streams := make([]*stream, len(s.names))
	for i := range s.names {
		streams[i] = &stream{teller: t, i: i, open: s.open, limit: rate.NewLimiter(mostBatches, mostBatches), end: func() {}}
		beside.Go(func() { streams[i].run(ctx) })
	}
	beside.Go(func() {
		for goroutine.Sleep(ctx, tickEvery) == nil {
			t.tick(streams)
		}
	})
	return beside.Wait()
}

// teller puts together what the exporters say, and emits it. It is safe for concurrent use.
type teller struct {
	mu      sync.Mutex
	fleet   *fleet
	emit    func(model.Batch)
	emitted time.Time
}

// send emits a batch. mu is held.
func (t *teller) send(b model.Batch) {
	t.emitted = time.Now()
	t.emit(b)
}

// take takes a batch of an exporter, which is the first of a stream or not.
func (t *teller) take(i int, b model.Batch, first bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	out, err := t.fleet.take(time.Now(), i, b, first)
	if err == nil {
		t.send(out)
	}
	return err
}

// lost notes that there is no stream of an exporter.
func (t *teller) lost(i int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fleet.lost(i, err) {
		t.send(t.fleet.report(time.Now()))
	}
}

// tick ends the streams that say nothing any more, and tells how things stand where nothing came.
func (t *teller) tick(streams []*stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, i := range t.fleet.silence(now) {
		streams[i].end()
	}
	if now.Sub(t.emitted) >= tickEvery {
		t.send(t.fleet.report(now))
	}
}

// Focus implements feed.Focuser: what an exporter reads is not for one screen to say.
func (s *Source) Focus([]string) {}

// Bounds of what is read of one exporter.
const (
	mostBatches = 100       // a second
	mostBytes   = 256 << 20 // between two batches
)

// errTooMuch is of an exporter that says more than any does.
var errTooMuch = errors.New("says more than any exporter does")

// stream reads the streams of one exporter, one after the other.
type stream struct {
	teller *teller
	i      int
	open   func(ctx context.Context, i int) (io.ReadCloser, error)
	limit  *rate.Limiter
	end    func() // ends the stream that is read; under the teller's mu
}

// run reads until ctx ends, with a growing wait after every stream that ended.
func (r *stream) run(ctx context.Context) {
	var wait goroutine.Backoff
	for ctx.Err() == nil {
		read, err := r.read(ctx)
		if read {
			wait = goroutine.Backoff{}
		}
		if ctx.Err() != nil {
			return
		}
		r.teller.lost(r.i, err)
		pause := collect.If(errors.Is(err, errOtherServer) || errors.Is(err, errTooMuch), refusedFor, wait.Next())
		if goroutine.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// refusedFor is how long an exporter is left alone that does not belong here.
const refusedFor = 10 * time.Second

// read reads one stream to its end, and reports whether any batch came. The error, which is
// never nil, says why it ended.
func (r *stream) read(ctx context.Context) (read bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.teller.mu.Lock()
	r.end = cancel
	r.teller.mu.Unlock()
	body, err := r.open(ctx, r.i)
	if err != nil {
		return false, err
	}
	defer body.Close()
	stop := context.AfterFunc(ctx, func() { body.Close() })
	defer stop()
	in := &io.LimitedReader{R: body, N: mostBytes}
	recording, err := record.NewReader(in)
	if err != nil {
		return false, r.explain(ctx, in, err)
	}
	for {
		b, err := recording.Next()
		if err != nil {
			return read, r.explain(ctx, in, err)
		}
		in.N = mostBytes
		if err := r.limit.Wait(ctx); err != nil {
			return read, errSilent
		}
		if err := r.teller.take(r.i, b, !read); err != nil {
			return read, err
		}
		read = true
	}
}

// explain says in words why a stream ended.
func (r *stream) explain(ctx context.Context, in *io.LimitedReader, err error) error {
	switch {
	case in.N <= 0:
		return errTooMuch
	case ctx.Err() != nil:
		return errSilent
	case errors.Is(err, record.ErrNotRecording):
		return errors.New("does not answer with a stream of batches: it is no ratescope exporter")
	case errors.Is(err, io.EOF), errors.As(err, new(*record.Damage)):
		return errors.New("has ended the stream")
	}
	return err
}
