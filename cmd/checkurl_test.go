package cmd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ratescope/feed/fire"
	"ratescope/model/bench"
)

// TestApart: another path or header has a limit of its own where it is admitted while the first call is denied,
// and nothing is said where the first one is admitted too.
func TestApart(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{true, false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/none":
				w.WriteHeader(http.StatusNotFound)
			case full && r.Header.Get("X-Api-Key") != "other":
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		defer server.Close()
		names := []string{"/shared", "/none", "X-Api-Key: other"}
		first := fire.Call{URL: server.URL + "/api"}
		calls, err := apartCalls(first, names)
		if err != nil {
			t.Fatal(err)
		}
		var apps []*fire.Application
		for _, c := range append([]fire.Call{first}, calls...) {
			app, err := fire.NewApplication(fire.Options{Armed: true}, c)
			if err != nil {
				t.Fatal(err)
			}
			defer app.Close()
			apps = append(apps, app)
		}
		all, err := apartOf(t.Context(), apps, names)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"shares the limit", "its answers do not tell whether its limit is its own", "has a limit of its own"}
		for i, a := range all {
			if !full {
				want[i] = want[1]
			}
			var b strings.Builder
			page := checkPage{Report: &bench.Report{Apart: []bench.Apart{a}}}
			err := textPages().ExecuteTemplate(&b, "check.txt", page)
			if err != nil || a.What != names[i] || !strings.Contains(b.String(), want[i]) {
				t.Errorf("full %v, %s: %s, want %s, %v", full, a.What, b.String(), want[i], err)
			}
		}
	}
}
