package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
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
	time.AfterFunc(10*time.Millisecond, func() { close(release) })
	go get("/second")
	for range 2 {
		if got := <-answers; got != "here" {
			t.Errorf("it is answered %q", got)
		}
	}
}
