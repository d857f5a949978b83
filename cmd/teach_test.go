package cmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/internal/servertest"
	"ratescope/model/identify"
)

// ruledServer takes rules and does nothing else.
type ruledServer struct {
	server
	rules []config.Rule
}

// SetRules keeps the rules.
func (s *ruledServer) SetRules(rules []config.Rule) { s.rules = rules }

// TestTeach: the readings that fit keys of one's own come with what they give, the one that watching has told first; with a
// limit one is written, beside what stands in the file, applied, and taken back as it was.
func TestTeach(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, key := range []string{"quota:a", "quota:b"} {
		s.CLI("SET", key, "7", "EX", "100")
	}
	for _, before := range []string{"", "rules: # mine\n  - {match: \"x:*\", limit: 1/1m}\n"} {
		name := filepath.Join(t.TempDir(), "of", "config.yaml")
		if before != "" {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			servertest.WriteFile(t, name, before)
		}
		p := &program{look: look{fps: 10}}
		p.Flags.URLs, p.Flags.Refresh, p.Config, p.NewConfig = []string{s.URL()}, time.Second, name, true
		applied := &ruledServer{}
		group := identify.Group{Pattern: "quota:*", Examples: []string{"quota:gone", "quota:a", "quota:b"}, Left: true}
		fits, err := p.teach(applied)(t.Context(), group, "")
		if err != nil || len(fits) < 2 || fits[0].As != config.AsLeft || fits[0].Write != nil || len(fits[0].Figures) != 2 {
			t.Fatalf("without a limit: %+v, %v", fits, err)
		}
		fits, err = p.teach(applied)(t.Context(), group, "10/20s")
		if err != nil || !strings.Contains(fits[0].Figures[1].Says, "3 of 10 used") {
			t.Fatalf("with a limit: %+v, %v", fits, err)
		}
		taught, err := fits[0].Write()
		content, _ := os.ReadFile(name)
		if err != nil || taught.Where != name || !strings.HasPrefix(string(content), strings.TrimSuffix(before, "\n")) ||
			!strings.Contains(string(content), "quota:{who}") || applied.rules[0].Pattern() != "quota:*" {
			t.Errorf("written: %+v, %v, %d rules:\n%s", taught, err, len(applied.rules), content)
		}
		count := func() int64 { // of the rule for the keys, when the file was read again; -1 without one
			c, err := config.Load(name)
			if err = p.apply(applied, c, err); err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(applied.rules, func(r config.Rule) bool { return r.Pattern() == "quota:*" }); i >= 0 {
				return applied.rules[i].Limit.Count
			}
			return -1
		}
		if n := count(); n != 10 {
			t.Errorf("the limit is %d when the file is read as it was written, want 10", n)
		}
		servertest.WriteFile(t, name, strings.Replace(string(content), "10/20s", "20/20s", 1))
		if n := count(); n != 20 {
			t.Errorf("the limit is %d when it was corrected in the file, want 20", n)
		}
		servertest.WriteFile(t, name, before)
		if n := count(); n != -1 {
			t.Errorf("the limit is %d when the rule was taken out of the file", n)
		}
		servertest.WriteFile(t, name, string(content))
		count()
		err = taught.Undo()
		content, gone := os.ReadFile(name)
		if before != "" {
			count()
		} else if err := p.apply(applied, &config.Config{}, nil); err != nil {
			t.Error(err)
		}
		if err != nil || string(content) != before || (before == "") != errors.Is(gone, fs.ErrNotExist) ||
			applied.rules[0].Pattern() == "quota:*" {
			t.Errorf("taken back: %v, %d rules:\n%s", err, len(applied.rules), content)
		}
	}
}

// TestTeachLeases: one key whose times are ahead says of all of a group that they are the ends of leases; where none has such and
// the name speaks of leases, both readings are offered and neither is chosen.
func TestTeachLeases(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	p := &program{look: look{fps: 10}}
	p.Flags.URLs, p.Flags.Refresh, p.Config, p.NewConfig = []string{s.URL()}, time.Second, filepath.Join(t.TempDir(), "config.yaml"), true
	add := func(key string, ahead time.Duration) {
		s.CLI("ZADD", key, strconv.FormatInt(s.Now().Add(ahead).Millis(), 10), "job")
		s.CLI("EXPIRE", key, "60")
	}
	add("jobs:a", -3*time.Second)
	add("running:a", -3*time.Second)
	add("jobs:b", 17*time.Second)
	fits, err := p.teach(&ruledServer{})(t.Context(), identify.Group{Pattern: "jobs:*", Examples: []string{"jobs:a", "jobs:b"}}, "5/20s")
	if err != nil || len(fits) != 1 || !strings.Contains(fits[0].Rule, "stamp: end") ||
		!strings.Contains(fits[0].Figures[0].Says, "0 of 5 used") {
		t.Errorf("of leases, some of which are over: %+v, %v", fits, err)
	}
	fits, err = p.teach(&ruledServer{})(t.Context(), identify.Group{Pattern: "running:*", Examples: []string{"running:a"}}, "5/20s")
	if err != nil || len(fits) != 2 || fits[0].Unsure == "" || fits[0].Unsure != fits[1].Unsure ||
		!strings.Contains(fits[0].Rule, "stamp: end") {
		t.Errorf("of leases by their name: %+v, %v", fits, err)
	}
}
