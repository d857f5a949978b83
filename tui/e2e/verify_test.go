package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vectors are the scenarios from published implementations and articles.
const vectors = "../../limiter/testdata/vectors.json"

func TestVerifyVectors(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.cli(t, "SET", "mine", "untouched")
	before := dump(t, s)
	spy := s.watch(t)
	ratescope(t, "verify", vectors, "--on", "redis", "--redis", s.URL()).sentence(t, 2, "--allow-inject")
	if after := dump(t, s); after != before || len(spy.writing(t, s)) > 0 {
		t.Errorf("verify wrote without --allow-inject:\n%s", after)
	}
	r := ratescope(t, "verify", vectors, "--on", "memory,redis", "--redis", s.URL(), "--allow-inject")
	r.ok(t, nil)
	rows, passed := 0, map[string]int{}
	for l := range strings.Lines(r.out) {
		fields := strings.Fields(l)
		if len(fields) < 4 || fields[2] != "memory" && fields[2] != "redis" {
			continue
		}
		rows++
		result := strings.Join(fields[3:], " ")
		if result == "pass" {
			passed[fields[1]+" "+fields[2]]++
		} else if result != "not on redis" && result != "no such algorithm yet" {
			t.Errorf("the row says %q", l)
		}
	}
	if rows != 54 {
		t.Errorf("%d rows for 27 scenarios on two stores:\n%s", rows, r.out)
	}
	for _, want := range []struct {
		where string
		least int
	}{{"sliding-log memory", 10}, {"fixed-window memory", 5}, {"sliding-window memory", 7}, {"sliding-log redis", 8}, {"fixed-window redis", 4}, {"sliding-window redis", 6}} {
		if passed[want.where] < want.least {
			t.Errorf("%d passed for %s, want %d at least:\n%s", passed[want.where], want.where, want.least, r.out)
		}
	}
	if after := dump(t, s); after != before {
		t.Errorf("verify left something behind:\n%s", after)
	}
	if len(spy.writing(t, s)) == 0 {
		t.Error("verify on redis wrote nothing: it cannot have run there")
	}
}

func TestVerifyStopsAtTheFirstMismatch(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "wrong.json")
	text := `[
		{"id": "good", "algorithm": "sliding-log", "limit": 1, "window_ms": 1000, "steps": [{"t_ms": 0, "expect": "allow"}]},
		{"id": "wrong", "algorithm": "sliding-log", "limit": 1, "window_ms": 1000, "steps": [
			{"t_ms": 0, "expect": "allow"}, {"t_ms": 10, "expect": "allow"}]},
		{"id": "later", "algorithm": "sliding-log", "limit": 1, "window_ms": 1000, "steps": [{"t_ms": 0, "expect": "allow"}]}
	]`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := ratescope(t, "verify", file)
	if r.code != 1 || !strings.Contains(r.out, "MISMATCH at step 2: want allow") || strings.Contains(r.out, "later") ||
		!strings.Contains(r.out, "3 runs: 1 passed, 1 mismatched, 1 not run") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
	if !strings.Contains(r.err, "wrong") || !strings.Contains(r.err, "step 2") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stderr says %q", r.err)
	}
}

func TestVerifyNamesWhatAFileHasWrong(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not json":      `[{`,
		"empty":         ``,
		"misspelt":      `{"id": "a", "algorithm": "sliding-log", "limit": 1, "window_ms": 1000, "steps": [{"t_ms": 0, "expects": "allow"}]}`,
		"no such thing": `{"id": "a", "algorithm": "magic", "limit": 1, "window_ms": 1000, "steps": [{"t_ms": 0}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "scenario.json")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ratescope(t, "verify", file).sentence(t, 2, "scenario.json")
		})
	}
}
