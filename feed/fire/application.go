package fire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
)

// Call is the request that is fired at an application instead of a key.
type Call struct {
	URL    string
	Method string // "" is GET, or POST with a body
	Header http.Header
	Body   []byte
}

// Application fires requests at an application over HTTP, without Redis. The caps, the pace, the
// audit file and the handling of unknown outcomes are those of an Injector. Use NewApplication to
// make one. It is safe for concurrent use.
type Application struct {
	o      Options
	call   Call
	url    *url.URL
	shown  string // the URL without its password and the values of its query
	client *http.Client
	audit  audit
}

// Limits of requests to an application.
const (
	MaxBody       = 1 << 20          // bytes in the body of a request
	maxAnswer     = 64 << 10         // bytes of an answer that are read
	answerTimeout = 10 * time.Second // for one request, if Options.Timeout is not set
	giveUpCalls   = 20               // consecutive errors after which an order stops
)

// NewApplication prepares to fire the call c; it does not connect. It fails, with one sentence, if
// the call is not valid.
func NewApplication(o Options, c Call) (*Application, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, errors.New("the URL does not parse: write http://host/path or https://host/path")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the URL %s cannot be fired at: write http://host/path or https://host/path", safetext.Clean(showURL(u)))
	case len(c.Body) > MaxBody:
		return nil, fmt.Errorf("the body has %d bytes: %d are the most", len(c.Body), MaxBody)
	}
	if c.Method == "" {
		c.Method = http.MethodGet
		if len(c.Body) > 0 {
			c.Method = http.MethodPost
		}
	}
	if _, err := http.NewRequest(c.Method, "http://host", nil); err != nil {
		return nil, fmt.Errorf("%q is no method: give one such as GET or POST", c.Method)
	}
	if o.Timeout <= 0 {
		o.Timeout = answerTimeout
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = InFlight, InFlight
	a := &Application{o: o, call: c, url: u, shown: showURL(u), audit: audit{path: o.AuditPath}}
	a.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return a, nil
}

// Shown returns the URL without its password and the values of its query.
func (a *Application) Shown() string { return a.shown }

// Method returns the method of the requests.
func (a *Application) Method() string { return a.call.Method }

// Armed returns nil if firing is allowed, and else an error that says how to allow it.
func (a *Application) Armed() error {
	why := ""
	switch {
	case !a.o.Armed:
		why = cmp.Or(a.o.Refused, withFlag)
	case strings.TrimSpace(a.o.Reason) != "":
	case a.o.Production:
		why = "the configuration says production: true, so give --reason"
	case !connect.LoopbackHost(a.url.Host):
		why = "it is not on this machine, and counts as production, so give --reason"
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("nothing is fired at %s: %s", safetext.Clean(a.shown), why)
}

// Fire sends the requests of s as Injector.Fire does. s.Key is the name under which they are
// reported.
func (a *Application) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	if err := a.Armed(); err != nil {
		return model.Outcomes{}, err
	}
	if err := s.Check(); err != nil {
		return model.Outcomes{}, err
	}
	if err := a.audit.open(); err != nil {
		return model.Outcomes{}, err
	}
	f := &firing{audit: &a.audit, order: s, report: report, giveUp: giveUpCalls, send: a.one}
	f.action = a.audit.newAction(a.url.Scheme+"://"+a.url.Host, 0, s)
	line := &f.action.line
	line.Algorithm, line.Limit = "", ""
	line.URL, line.Method, line.Headers, line.Body = a.shown, a.call.Method, showHeader(a.call.Header), len(a.call.Body)
	first := *line
	first.Outcome, first.person, first.Reason, first.Number, first.Rate = begun, whoRuns(), a.o.Reason, s.N, s.Rate
	if err := a.audit.append(first); err != nil {
		return model.Outcomes{}, err
	}
	return f.carryOut(ctx, func(t model.Outcomes) error {
		last := *line
		last.Outcome, last.Outcomes = ended, &t
		return a.audit.append(last)
	})
}

// one sends one request. Without an answer its outcome is Failed if it was never sent, and else
// Unanswered.
func (a *Application) one(ctx context.Context) answered {
	ctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
	defer cancel()
	var wrote atomic.Bool
	var connections atomic.Int32
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// When a connection is lost, the transport may send the request again over a second one. The
		// request is canceled then, so that it is never sent twice.
		GotConn: func(got httptrace.GotConnInfo) {
			if connections.Add(1) > 1 && wrote.Load() {
				cancel()
				_ = got.Conn.Close() // nothing may be written before the transport notices the cancel
			}
		},
		WroteHeaders: func() { wrote.Store(true) },
	})
	sent := time.Now()
	fired := answered{Fired: model.Fired{At: limiter.InstantOf(sent), Sent: sent}}
	request, err := http.NewRequestWithContext(ctx, a.call.Method, a.call.URL, bytes.NewReader(a.call.Body))
	if err != nil {
		fired.Outcome, fired.Err = model.Failed, "the request cannot be made: "+reasonOf(err)
		return fired
	}
	maps.Copy(request.Header, a.call.Header)
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
		request.Header.Del("Host")
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "ratescope-fire")
	}
	answer, err := a.client.Do(request)
	fired.Received = time.Now()
	fired.Latency = fired.Received.Sub(sent)
	switch {
	case err != nil && wrote.Load():
		fired.Outcome, fired.Err = model.Unanswered, "no answer came ("+reasonOf(err)+"), so it is not known whether it was counted"
		return fired
	case err != nil:
		fired.gone = true
		fired.Outcome, fired.Err = model.Failed, safetext.Clean(a.url.Host)+" cannot be reached: "+reasonOf(err)
		return fired
	}
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // so that the connection can be used again
	answer.Body.Close()
	said := model.ReadAnswer(answer.StatusCode, answer.Header, fired.Received)
	fired.Answer, fired.Outcome = &said, said.Outcome()
	if fired.Decision.Allowed = fired.Outcome == model.Admitted; !fired.Decision.Allowed {
		fired.Decision.RetryAfter = said.RetryAfter.D
	}
	if fired.Outcome == model.Failed {
		fired.Err = fmt.Sprintf("it answered %d %s", said.Status, http.StatusText(said.Status))
		if to := answer.Header.Get("Location"); to != "" && said.Status/100 == 3 {
			fired.Err += ", to another URL, which is not followed"
			if u, err := url.Parse(to); err == nil {
				fired.Err = fmt.Sprintf("it answered %d, to %s, which is not followed", said.Status,
					safetext.Clean(showURL(a.url.ResolveReference(u))))
			}
		}
	}
	return fired
}

// reasonOf returns why a request failed, without the URL, which may hold secrets.
func reasonOf(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "it took too long"
	case errors.Is(err, context.Canceled):
		return "it was stopped"
	}
	return safetext.Clean(err.Error())
}

// Close closes idle connections and the audit file. No Fire may be running.
func (a *Application) Close() error {
	a.client.CloseIdleConnections()
	return a.audit.close()
}

// hidden replaces a value that may be secret.
const hidden = "***"

// showURL formats a URL without its password and the values of its query.
func showURL(u *url.URL) string {
	v := *u
	if v.User != nil {
		v.User = url.User(v.User.Username())
	}
	v.Fragment, v.RawFragment = "", ""
	text := ""
	for i, part := range strings.Split(v.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if i > 0 {
			text += "&"
		}
		if text += name; strings.Contains(part, "=") {
			text += "=" + hidden
		}
	}
	v.RawQuery = text
	return v.String()
}

// plainHeaders lists the headers whose values are never secret.
var plainHeaders = []string{"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding", "Content-Type",
	"Host", "User-Agent"}

// showHeader returns the fields of a header; values that may be secret are hidden.
func showHeader(h http.Header) map[string]string {
	if len(h) == 0 {
		return nil
	}
	shown := make(map[string]string, len(h))
	for name, values := range h {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if shown[name] = hidden; slices.Contains(plainHeaders, name) {
			shown[name] = strings.Join(values, ", ")
		}
	}
	return shown
}

// ReadHeader parses header fields in the form "Name: value" of the flag -H. Its error does not
// contain the value.
func ReadHeader(fields []string) (http.Header, error) {
	h := http.Header{}
	for i, f := range fields {
		name, value, ok := strings.Cut(f, ":")
		if name = strings.TrimSpace(name); !ok || !validName(name) {
			return nil, fmt.Errorf("header %d has no name: write it as 'Name: value'", i+1)
		}
		if value = strings.TrimSpace(value); strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("the value of the header %s has a line break in it: write it on one line", name)
		}
		h.Add(name, value)
	}
	return h, nil
}

// validName reports whether a name is a valid header name: a token of RFC 9110.
func validName(name string) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c) {
			return false
		}
	}
	return name != ""
}
