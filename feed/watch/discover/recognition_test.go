package discover_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// TestRecognition fills a server with 5,000 keys that are no limiters and with limiters of many
// libraries, and holds what is known without a pattern or a rule: of the rows that are known
// nearly all are right, of the subjects most are known, and no key of a library that no decoder
// knows is known as another.
func TestRecognition(t *testing.T) {
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	recognizeSoon(t, s, client, s.URL())
}

// TestRecognitionFromFarAway looks at the same server when each answer takes 200 ms: times to live
// are as old as the answers, and yet the relations between values and expiries hold.
func TestRecognitionFromFarAway(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	p := servertest.StartProxy(t, s.Addr())
	defer p.Close()
	p.Set(func(p *servertest.Proxy) { p.Delay = 200 * time.Millisecond })
	recognizeSoon(t, s, client, "redis://"+p.Listener.Addr().String())
}

// recognizeSoon recognizes what is to be recognized in one of five attempts: a relation between a value and
// its expiry is lost on a machine that stands still for a second.
func recognizeSoon(t *testing.T, s *servertest.Server, client *redis.Client, url string) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		recall, precision := recognize(t, s, client, url)
		if recall >= 0.97 && precision >= 0.9 {
			return
		}
		if attempt == 5 {
			t.Fatalf("with likely, recall %.4f, precision %.4f: want 0.97 and 0.9", recall, precision)
		}
		t.Logf("with likely, recall %.4f, precision %.4f: once more", recall, precision)
		if err := client.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// recognize fills a server, looks at it by the URL, and returns how many of all subjects are known or likely,
// and how much of what is likely is a limiter.
func recognize(t *testing.T, s *servertest.Server, client *redis.Client, url string) (recallLikely, precisionLikely float64) {
	recorded := fillQueues(t, client, filepath.Join("..", "..", "decode", "testdata", "unrelated"))
	p := Populate(s.Now(), 5000, 1)
	p.Fill(t, client)
	if recorded < 10 {
		t.Fatalf("only %d keys of recorded job queues", recorded)
	}
	if len(p.Kinds) < 40 || p.Keys < 5000 || len(p.Secrets) < 1000 {
		t.Fatalf("%d kinds of %d unrelated keys with %d secrets", len(p.Kinds), p.Keys, len(p.Secrets))
	}
	b, _ := feedtest.Once(t, feed.Options{URLs: []string{url}, Budget: 0.5})

	owner := make(map[string]*Subject) // by key
	for i := range p.Subjects {
		for _, k := range p.Subjects[i].Keys {
			owner[k] = &p.Subjects[i]
		}
	}
	libraries := make(map[string]bool)
	known, right, likely, likelyRight := 0, 0, 0, 0
	likelyFound := make(map[*Subject]bool)
	found := make(map[*Subject]bool)
	wrong := make(map[string]int)
	for _, r := range b.Readings {
		if r.Target.Evidence == model.Likely {
			likely++
			if o := owner[r.Key]; o != nil {
				likelyRight++
				likelyFound[o] = true
			} else {
				wrong[fmt.Sprintf("no limiter, as likely: %q", r.Pattern)]++
			}
			continue
		}
		known++
		var subject *Subject
		for _, k := range append([]string{r.Key}, r.Members...) {
			subject = cmp.Or(subject, owner[k])
		}
		switch {
		case subject != nil && (subject.Library == r.Target.Library || slices.Contains(subject.Doubles, r.Target.Library)):
			right++
			found[subject] = true
		case subject != nil:
			wrong[fmt.Sprintf("%s as %s, %.24q", subject.Library, r.Target.Library, r.Key)]++
			if subject.LeftOut {
				t.Errorf("%s, which no decoder knows, is known as %s: %.60q", subject.Library, r.Target.Library, r.Key)
			}
		default:
			wrong[fmt.Sprintf("no limiter, as %s: %.24q", r.Target.Library, r.Key)]++
		}
		if r.Err != "" {
			t.Errorf("%.60q, of %s: %s", r.Key, r.Target.Library, r.Err)
		}
	}
	missed := make(map[string]int)
	either := 0
	for i := range p.Subjects {
		s := &p.Subjects[i]
		libraries[s.Library] = true
		if found[s] || likelyFound[s] {
			either++
		} else {
			missed[s.Library]++
		}
	}
	precision, recall := float64(right)/float64(known), float64(len(found))/float64(len(p.Subjects))
	t.Logf("%d unrelated keys of %d kinds, %d subjects of %d libraries: %d known, precision %.4f, recall %.4f; %d likely, %d of them limiters",
		p.Keys+recorded, len(p.Kinds), len(p.Subjects), len(libraries), known, precision, recall, likely, likelyRight)
	recallLikely, precisionLikely = float64(either)/float64(len(p.Subjects)), float64(likelyRight)/float64(max(likely, 1))
	t.Logf("with likely: recall %.4f, precision of what is likely %.4f", recallLikely, precisionLikely)
	t.Logf("missed: %v", missed)
	for _, c := range b.Sweep.Candidates {
		t.Logf("candidate: %s, %d keys, %v", c.Pattern, c.Keys, c.Why)
	}
	for _, w := range slices.Sorted(maps.Keys(wrong)) {
		t.Logf("wrong: %s (%d)", strings.TrimSpace(w), wrong[w])
	}
	if precision < 0.99 || recall < 0.85 {
		t.Errorf("precision %.4f, recall %.4f: want 0.99 and 0.85", precision, recall)
	}
	return recallLikely, precisionLikely
}

// fillQueues writes the keys that job queues were recorded to keep, which lie in the folders of
// root, and returns how many these are.
func fillQueues(t testing.TB, client *redis.Client, root string) (keys int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Steps []struct {
				Keys []servertest.Key `json:"keys"`
			} `json:"steps"`
		}
		if err := json.Unmarshal(content, &recorded); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		_, err = client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for _, k := range recorded.Steps[len(recorded.Steps)-1].Keys {
				k.Restore(t, p)
				keys++
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return keys
}
