package cmd_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// TestConfigCheckExplains says in words what a rule with name reads, what it makes of the keys that live, three at most, and which
// rule with name a match is to be.
func TestConfigCheckExplains(t *testing.T) {
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	ctx := t.Context()
	at := s.Amid(t, 24*time.Hour).Time()
	year := at.UTC().Format("2006")
	for _, who := range []string{"a", "b", "c", "d"} {
		client.Set(ctx, "rl:"+who+":"+year, 7, 25*time.Hour)
	}
	client.HSet(ctx, "h:x", "count", 9, "reset", at.Add(2*time.Hour).UnixMilli())
	client.Set(ctx, "old:a:"+at.UTC().Format("20060102"), 3, 25*time.Hour)
	path := write(t, "own.yaml", `rules:
  - {name: "rl:{who}:{window:%Y}", read: value, limit: 10/365d}
  - {name: "h:{who}", read: field count, ends: field reset ms, limit: 10/3h}
  - {match: "old:*", limit: 10/1d}
  - {name: "none:{who}", read: tat, limit: 10/1m}
`)
	r := call(t, "config", "check", "--config", path)
	if r.code != 0 || strings.Count(r.out, "\nrule ") != 3 || strings.Contains(r.out, "used") {
		t.Errorf("without a server: exit code %d, %s", r.code, r.out)
	}
	r = call(t, "config", "check", "--config", path, "--redis", s.URL())
	for _, want := range []string{
		"rule 1, rl:{who}:{window:%Y}: reads the number in a string, in the window that the name says as %Y in UTC; fixed-window, 10 in ",
		"\n  rl:a: 7 of 10 used", "rule 2, h:{who}: reads the number in the field count of a hash, until the time in the field reset; fixed-window, 10 in 3h",
		"\n  h:x: 9 of 10 used", `what is used is not known`, `as in name: "old:{who}:{window:%Y%m%d}"`,
		"rule 4, none:{who}: reads the theoretical arrival time (TAT) in the string; gcra, 10 in 1m\n  no key that lives now",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing in\n%s%s", want, r.out, r.err)
		}
	}
	if strings.Contains(r.out, "rl:d") {
		t.Errorf("more than three keys of a rule:\n%s", r.out)
	}
}

// TestConfigCheckNamesEveryMistake in the order of the file, a brace that is not closed by the line in which it begins. Other commands say
// the first, and how many more there are.
func TestConfigCheckNamesEveryMistake(t *testing.T) {
	path := write(t, "wrong.yaml", `rules:
  - {match: "a", limt: 1/1m, algorithm: foo}
  - {match: "b", limit: 2}
targets:
  eu: {redis: "redis://a", colour: rde}
alerts:
  - {name: x, when: utilisation >= 1}
`)
	r := call(t, "config", "check", "--config", path)
	places := []string{":2:18: ", ":2:41: ", ":3:25: ", ":5:36: ", ":7:21: "}
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	if r.code != 2 || len(lines) != len(places) {
		t.Fatalf("exit code %d, %s", r.code, r.err)
	}
	for i, place := range places {
		if !strings.HasPrefix(lines[i], "ratescope: "+path+place) {
			t.Errorf("line %d is %s, wanted the mistake at %s", i+1, lines[i], place)
		}
	}
	if r = call(t, "snapshot", "--config", path); r.code != 2 || !strings.Contains(r.err, `did you mean limit? (and 4 more mistakes: "ratescope config check" names all)`) {
		t.Errorf("snapshot: exit code %d, %s", r.code, r.err)
	}
	open := write(t, "open.yaml", "rules:\n  - {match: a, limit: 1/1m}\n  - {match: b, limit: 1/1m\n  - {match: c, limit: 1/1m}\n")
	if r = call(t, "config", "check", "--config", open); !strings.Contains(r.err, open+":3:1: this is not YAML") {
		t.Error(r.err)
	}
}
