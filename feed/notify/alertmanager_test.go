package notify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/feed/notify"
	"ratescope/internal/servertest"
	"ratescope/model/report"
)

// listed is an alert as an Alertmanager gets and lists it.
type listed struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
	Status              struct {
		State      string
		SilencedBy []string
	}
}

// check says what an Alertmanager would refuse about an alert that it gets.
func (l listed) check() error {
	switch {
	case l.Labels["alertname"] == "":
		return errors.New("it has no name")
	case l.StartsAt.IsZero() || l.EndsAt.Before(l.StartsAt):
		return fmt.Errorf("it lasts from %v to %v", l.StartsAt, l.EndsAt)
	}
	for name, value := range l.Labels {
		if name == "" || value == "" || strings.ContainsAny(value, "\x1b\x00") {
			return fmt.Errorf("the label %q is %q", name, value)
		}
	}
	return nil
}

// messages reads what an Alertmanager got, strictly.
func messages(t *testing.T, posts []string) (all [][]listed) {
	t.Helper()
	for _, post := range posts {
		d := json.NewDecoder(strings.NewReader(post))
		d.DisallowUnknownFields()
		var list []listed
		if err := d.Decode(&list); err != nil {
			t.Fatalf("%v: %s", err, post)
		}
		for _, one := range list {
			if err := one.check(); err != nil {
				t.Errorf("%v: %+v", err, one)
			}
		}
		all = append(all, list)
	}
	return all
}

var managed = notify.Route{Alertmanager: "http://alerts.example:9093/prefix/"}

// TestAlertmanagerIsTold of a beginning at once, of what lasts again and again, of an end once it hears it,
// and of all of that when it is back.
func TestAlertmanagerIsTold(t *testing.T) {
	queue(t, managed, func(t *testing.T, q *notify.Queue, r *receiver, told *deliveries) {
		step := func(d time.Duration) [][]listed {
			time.Sleep(d)
			synctest.Wait()
			return messages(t, r.taken())
		}
		hostile := firing("full", "rl:\x1b[2J")
		hostile.Since, hostile.At = 1000, 4000
		q.Put(hostile)
		got := step(time.Second)
		if len(got) != 1 || len(got[0]) != 1 {
			t.Fatalf("it got %+v", got)
		}
		one, now := got[0][0], time.Now().Add(-time.Second)
		if one.Labels["alertname"] != "full" || one.Labels["severity"] != "page" || one.Labels["key"] != `rl:\x1b[2J` || one.Labels["server"] != "redis://h" ||
			one.Annotations["text"] != "it is full" || one.Annotations["value"] != "1.2" || !one.StartsAt.Equal(now.Add(-3*time.Second)) || one.EndsAt.Before(now.Add(time.Minute)) {
			t.Errorf("it got %+v", one)
		}
		if got := step(time.Minute); len(got) != 4 {
			t.Errorf("in a minute it is told %d times of what lasts", len(got))
		}
		r.codes = []int{0, 0, 503, 200}
		over := hostile
		over.State = report.Resolved
		q.Put(over)
		q.Put(firing("other", "rl:b"))
		got = step(10 * time.Second)
		last := got[len(got)-1]
		if len(got) != 4 || len(last) != 2 || last[0].EndsAt.After(time.Now()) || last[1].EndsAt.Before(time.Now()) {
			t.Errorf("after it was away it is told %+v", got)
		}
		if got := step(time.Minute); len(got) != 4 || len(got[0]) != 1 {
			t.Errorf("what has ended is told again: %+v", got)
		}
		r.codes = []int{400}
		q.Put(firing("full", "rl:c"))
		step(time.Second)
		said := strings.Join(told.said(), "\n")
		for text, n := range map[string]int{
			"the alert full (firing) was delivered to the Alertmanager at alerts.example:9093":                                              1,
			"the alert full (resolved) was not delivered to the Alertmanager at alerts.example:9093 and is tried again: it does not answer": 1,
			"the alert full (resolved) was delivered":                                                                                       1,
			"the alert other (firing) was delivered":                                                                                        1,
			"Alertmanager at alerts.example:9093: it refuses it: 400":                                                                       1,
		} {
			if strings.Count(said, text) != n {
				t.Errorf("it says %d times %q:\n%s", strings.Count(said, text), text, said)
			}
		}
		r.codes = []int{200}
		q.SetRoutes(map[string]notify.Route{"full": {Alertmanager: "http://other.example"}, "other": managed})
		if got := step(time.Second); len(got) != 2 {
			t.Errorf("after the configuration changed it is told %+v", got)
		}
	})
}

// TestOthersDoNotPutOffWhatLasts: the Alertmanager is told in time of an alert that lasts although other alerts begin and end.
func TestOthersDoNotPutOffWhatLasts(t *testing.T) {
	queue(t, managed, func(t *testing.T, q *notify.Queue, r *receiver, _ *deliveries) {
		q.Put(firing("full", "rl:a"))
		for range 21 {
			q.Put(firing("other", "rl:b"))
			time.Sleep(10 * time.Second)
			q.Put(resolved("other", "rl:b"))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			told := slices.Concat(messages(t, r.taken())...)
			if !slices.ContainsFunc(told, func(l listed) bool { return l.Labels["key"] == "rl:a" && l.EndsAt.After(time.Now()) }) {
				t.Fatalf("in 20 s it is told nothing of what lasts: %+v", told)
			}
		}
	})
}

// manager is an Alertmanager of the tests.
type manager struct {
	t    *testing.T
	url  string
	args []string
	end  func()
}

func startAlertmanager(t *testing.T) *manager {
	var program string
	for _, name := range []string{"prometheus-alertmanager", "alertmanager"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Skip("SKIPPED: Alertmanager is not installed, so it did not take the alerts itself: apt-get install prometheus-alertmanager")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	servertest.WriteFile(t, dir+"/config.yml", "route: {receiver: none}\nreceivers: [{name: none}]\n")
	m := &manager{t: t, url: "http://" + address, args: []string{program, "--config.file=" + dir + "/config.yml", "--storage.path=" + dir,
		"--web.listen-address=" + address, "--cluster.listen-address="}}
	m.start()
	t.Cleanup(func() { m.end() })
	return m
}

func (m *manager) start() {
	c := exec.Command(m.args[0], m.args[1:]...)
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.end = func() { _ = c.Process.Kill(); _ = c.Wait() }
	servertest.Await(m.t, "the Alertmanager", func() bool {
		answer, err := http.Get(m.url + "/-/ready")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
}

// count returns how many alerts there are of each state.
func (m *manager) count() map[string]int {
	answer, err := http.Get(m.url + "/api/v2/alerts")
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var list []listed
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return nil
	}
	n := map[string]int{}
	for _, one := range list {
		n[one.Status.State]++
	}
	return n
}

// TestAlertmanagerItself takes five hundred alerts at once, silences some, sees them end, and knows the
// others again after a restart, with one that began meanwhile.
func TestAlertmanagerItself(t *testing.T) {
	t.Parallel()
	m := startAlertmanager(t)
	var told deliveries
	q := notify.NewQueue(map[string]notify.Route{"full": {Alertmanager: m.url}}, told.tell)
	defer q.Close(t.Context())
	for i := range 500 {
		q.Put(firing("full", fmt.Sprintf("rl:%03d\x1b[31m", i)))
	}
	servertest.Await(t, "500 alerts", func() bool { return m.count()["active"] == 500 })
	silence, _ := json.Marshal(map[string]any{
		"matchers": []map[string]any{{"name": "key", "value": "rl:0.*", "isRegex": true}}, "createdBy": "a test", "comment": "known",
		"startsAt": time.Now(), "endsAt": time.Now().Add(time.Hour),
	})
	answer, err := http.Post(m.url+"/api/v2/silences", "application/json", bytes.NewReader(silence))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the silence is answered %s: %s", answer.Status, text)
	}
	servertest.Await(t, "100 silenced", func() bool { n := m.count(); return n["suppressed"] == 100 && n["active"] == 400 })
	for i := range 490 {
		q.Put(resolved("full", fmt.Sprintf("rl:%03d\x1b[31m", i)))
	}
	servertest.Await(t, "ten that last", func() bool { return m.count()["active"] == 10 && m.count()["suppressed"] == 0 })
	m.end()
	q.Put(firing("full", "rl:late")) // which is not heard, so that it is told of all as soon as it is back
	servertest.Await(t, "word that it is away", func() bool { return strings.Contains(strings.Join(told.said(), "\n"), "is tried again") })
	m.start()
	servertest.Await(t, "eleven after the restart", func() bool { return m.count()["active"] == 11 })
	for _, one := range told.said() {
		if strings.Contains(one, "refuses") {
			t.Error(one)
		}
	}
}
