package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/feed/notify"
)

// receiver takes POSTs without a network, so that time is virtual.
type receiver struct {
	mu    sync.Mutex
	codes []int // of the answers in turn, the last one for ever; 0 does not answer
	posts []string
	at    []time.Duration // since begun
	begun time.Time
}

func (r *receiver) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.posts, r.at = append(r.posts, string(body)), append(r.at, time.Since(r.begun))
	code := r.codes[0]
	r.codes = r.codes[min(1, len(r.codes)-1):]
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Body: http.NoBody, Header: http.Header{}, Request: request}, nil
}

// taken returns the posts since the last call.
func (r *receiver) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	posts := r.posts
	r.posts, r.at = nil, nil
	return posts
}

// queue runs f on virtual time with a queue whose POSTs a receiver takes.
func queue(t *testing.T, route notify.Route, f func(t *testing.T, q *notify.Queue, r *receiver, told *deliveries)) {
	synctest.Test(t, func(t *testing.T) {
		r, told := &receiver{codes: []int{200}, begun: time.Now()}, &deliveries{}
		was := notify.SetTransport(r)
		defer notify.SetTransport(was)
		q := notify.NewQueue(map[string]notify.Route{"full": route, "other": route}, told.tell)
		f(t, q, r, told)
		q.Close(t.Context())
	})
}

var hooked = notify.Route{Webhook: func() (string, error) { return "http://hooks.example/t0ken", nil }}

// joined is what a test looks at of a post.
type joined struct {
	Alert, State, Key string
	Dedup             string `json:"dedup_key"`
	Count             int
	Keys              []string
}

func decode(t *testing.T, post string) (j joined) {
	t.Helper()
	if err := json.Unmarshal([]byte(post), &j); err != nil {
		t.Fatalf("%v: %s", err, post)
	}
	return j
}

// TestFiveSecondsAreOnePost, of what begins and of what ends each, with how many there are and twenty of
// their names; one that is alone is posted under its own dedup_key, which its end has as well.
func TestFiveSecondsAreOnePost(t *testing.T) {
	queue(t, hooked, func(t *testing.T, q *notify.Queue, r *receiver, told *deliveries) {
		for i := range 500 {
			q.Put(firing("full", fmt.Sprintf("rl:%03d", i)))
			time.Sleep(9 * time.Millisecond)
		}
		q.Put(firing("other", "rl:x"))
		time.Sleep(501 * time.Millisecond)
		synctest.Wait()
		posts := r.taken()
		if len(posts) != 1 {
			t.Fatalf("%d posts after five seconds", len(posts))
		}
		all := decode(t, posts[0])
		if all.Count != 500 || len(all.Keys) != 20 || all.Key != "rl:000" || all.Keys[19] != "rl:019" || all.State != "firing" {
			t.Errorf("the post is %+v", all)
		}
		if all.Dedup != "of rl:000" { // the least of all, which a program that tells of each by itself has too
			t.Errorf("500 keys have the dedup_key %q", all.Dedup)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if posts := r.taken(); len(posts) != 1 || decode(t, posts[0]).Dedup != "of rl:x" || decode(t, posts[0]).Count != 1 {
			t.Errorf("the other rule posts %v", posts)
		}
		q.Put(resolved("full", "rl:000"))
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if posts := r.taken(); len(posts) != 1 || decode(t, posts[0]).Dedup == all.Dedup || decode(t, posts[0]).Count != 1 {
			t.Errorf("one of 500 ends and closes %v", posts)
		}
		q.Put(firing("full", "rl:500"))
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if posts := r.taken(); len(posts) != 1 || decode(t, posts[0]).Dedup != "of rl:500" {
			t.Errorf("one more begins and pages as %v", posts)
		}
		for i := range 499 {
			q.Put(resolved("full", fmt.Sprintf("rl:%03d", i+1)))
		}
		q.Put(resolved("other", "rl:x"))
		time.Sleep(6 * time.Second)
		synctest.Wait()
		closed := map[string]int{}
		for _, post := range r.taken() {
			closed[decode(t, post).Dedup] = decode(t, post).Count
		}
		if len(closed) != 2 || closed[all.Dedup] != 499 || closed["of rl:x"] != 1 { // and rl:500 goes on
			t.Errorf("the ends close %v", closed)
		}
		if said := strings.Join(told.said(), "\n"); !strings.Contains(said, "the alert full (firing, 500 keys) was delivered to the webhook at hooks.example") {
			t.Errorf("it tells %s", said)
		}
	})
}

// TestOrder: a key that ends and begins again within five seconds is told in that order, and an end whose
// beginning was not told is none.
func TestOrder(t *testing.T) {
	queue(t, hooked, func(t *testing.T, q *notify.Queue, r *receiver, _ *deliveries) {
		q.Put(resolved("full", "rl:unknown"))
		q.Put(firing("full", "rl:a"))
		q.Put(resolved("full", "rl:a"))
		q.Put(firing("full", "rl:b"))
		q.Put(firing("full", "rl:a"))
		q.Put(resolved("full", "rl:b"))
		q.Close(t.Context())
		var told []string
		for _, post := range r.taken() {
			told = append(told, decode(t, post).State+" "+strings.Join(decode(t, post).Keys, ","))
		}
		last := map[string]string{}
		for _, one := range told {
			state, names, _ := strings.Cut(one, " ")
			for name := range strings.SplitSeq(names, ",") {
				if last[name] == state || last[name] == "" && state == "resolved" {
					t.Errorf("%s: %s after %q", name, state, last[name])
				}
				last[name] = state
			}
		}
		if last["rl:a"] != "firing" || last["rl:b"] != "resolved" || last["rl:unknown"] != "" {
			t.Errorf("it tells %q", told)
		}
	})
}

// TestAwayAndBack: a webhook that does not answer is tried four times, and what comes meanwhile waits as one.
func TestAwayAndBack(t *testing.T) {
	queue(t, hooked, func(t *testing.T, q *notify.Queue, r *receiver, told *deliveries) {
		r.codes = []int{0, 503, 0, 0, 200}
		q.Put(firing("full", "rl:a"))
		for i := range 100 {
			time.Sleep(100 * time.Millisecond)
			q.Put(firing("full", fmt.Sprint("rl:", i)))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if posts := r.taken(); len(posts) > 7 {
			t.Errorf("%d posts", len(posts))
		}
		said := strings.Join(told.said(), "\n")
		if strings.Count(said, "is tried again") != 3 || strings.Count(said, "was not delivered to the webhook at hooks.example: it does not answer") != 1 ||
			!strings.Contains(said, "was delivered") || strings.Contains(said, "t0ken") {
			t.Errorf("it tells %s", said)
		}
	})
}

// TestCommandsAreBounded: no more than thirty begin in a minute, and none is run for the end of an alert for
// whose beginning none was.
func TestCommandsAreBounded(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	var told deliveries
	q := notify.NewQueue(map[string]notify.Route{"full": {Command: []string{"/bin/sh", "-c", `echo "$1 $2" >> "$0"`, out, "{state}", "{key}"}}}, told.tell)
	for i := range 50 {
		q.Put(firing("full", fmt.Sprint("rl:", i)))
	}
	for i := range 50 {
		q.Put(resolved("full", fmt.Sprint("rl:", i)))
	}
	q.Close(t.Context())
	q.Put(firing("full", "rl:closed"))
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 60 {
		t.Fatalf("%d commands, want 30 beginnings and their ends", len(lines))
	}
	for i, line := range lines {
		if want := fmt.Sprintf("%s rl:%d", []string{"firing", "resolved"}[i/30], i%30); line != want {
			t.Errorf("command %d is for %s, want %s", i, line, want)
		}
	}
	if said := strings.Join(told.said(), "\n"); strings.Count(said, "30 times within a minute") != 1 {
		t.Errorf("it tells %s", said)
	}
}
