package metrics

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestAMomentWithoutAPlace: a connection that comes while a request is served at each place has the first that is free again.
func TestAMomentWithoutAPlace(t *testing.T) {
	served, release := make(chan bool), make(chan bool)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/first" {
			served <- true
			<-release
		}
		_, _ = io.WriteString(w, "here")
	}))
	(&room{most: 1}).bound(s.Config)
	enters, came := s.Config.ConnState, 0
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			if came++; came == 2 {
				time.AfterFunc(10*time.Millisecond, func() { close(release) })
			}
		}
		enters(c, state)
	}
	s.Start()
	defer s.Close()
	answers := make(chan string, 2)
	get := func(path string) {
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(s.URL + path)
		if err != nil {
			answers <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		answers <- string(text)
	}
	go get("/first")
	<-served
	go get("/second")
	for range 2 {
		if got := <-answers; got != "here" {
			t.Errorf("it is answered %q", got)
		}
	}
}

// TestAnAnswerIsNotCut: a connection keeps its place for a moment after its request was handled, in which the
// answer is sent.
func TestAnAnswerIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := &room{most: 1}, &http.Server{Handler: http.NotFoundHandler()}
		r.bound(s)
		first, theirs := net.Pipe()
		second, others := net.Pipe()
		s.ConnState(first, http.StateNew)
		q := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(s.ConnContext(t.Context(), first))
		s.Handler.ServeHTTP(httptest.NewRecorder(), q)
		if r.enter(second) {
			t.Error("another connection has the place before the answer is sent")
		}
		time.Sleep(answering)
		if !r.enter(second) {
			t.Error("a connection keeps its place after it was answered")
		}
		for _, c := range []net.Conn{first, theirs, second, others} {
			c.Close()
		}
	})
}
