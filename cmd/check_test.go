package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ratescope/model/collect"
)

const memberIsTime = `-- ratescope: keys rl:{who}; args {limit} {window_ms} {now_ms}
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[3] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`

// TestCheckJSON: the object has the fields that other programs read, and the counter-examples open in verify.
func TestCheckJSON(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "found")
	r := call(t, "check", write(t, "log.lua", memberIsTime), "--limit", "10/10s", "--json", "--save", folder)
	if r.code != 1 {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	var v struct {
		Algorithm string
		Limit     *int64
		WindowMS  *float64 `json:"window_ms"`
		Burst     *int64
		Charged   *bool
		Edge      string
		Worst     struct {
			Admitted int64
			WithinMS float64 `json:"within_ms"`
			Steps    []struct {
				T *float64 `json:"t_ms"`
				N *int64
			}
		}
		Findings []struct{ ID, Severity, Text string }
		OK       *bool
	}
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	if v.Algorithm != "sliding-log" || v.Edge != "half-open" || v.OK == nil || *v.OK || v.Worst.Admitted <= 10 || v.Worst.WithinMS != 10000 ||
		len(v.Worst.Steps) == 0 || v.Worst.Steps[0].T == nil || v.Worst.Steps[0].N == nil || v.Limit == nil || *v.Limit != 10 {
		t.Errorf("%s", r.out)
	}
	found := map[string]string{}
	for _, f := range v.Findings {
		found[f.ID] = f.Severity
	}
	if found["same-instant"] != "fault" || found["over-admits"] != "fault" || found["client-clock"] != "note" || len(found) != 3 {
		t.Errorf("found %v", found)
	}
	stories, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(stories) != 3 {
		t.Errorf("counter-examples %v, %v", stories, err)
	}
	if r := call(t, append([]string{"verify"}, stories...)...); r.code != 0 {
		t.Errorf("verify of the counter-examples: %d, %s%s", r.code, r.out, r.err)
	}
}

// TestCheckUsage: what is missing or wrong is said in one sentence.
func TestCheckUsage(t *testing.T) {
	file := write(t, "log.lua", memberIsTime)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"check", file}, 2, "give --limit"},
		{[]string{"check", "--limit", "10/10s"}, 2, "script"},
		{[]string{"check", file, "--limit", "0/10s"}, 2, "out of range"},
		{[]string{"check", file, "--limit", "10/10s", "--promise", "much"}, 2, "no promise"},
		{[]string{"check", "--url", "http://127.0.0.1:1", "--limit", "10/10s", "--promise", "much", "--allow-inject"}, 2, "no promise"},
		{[]string{"check", file, "--limit", "10/10s", "--target", "prod"}, 2, "give --redis"},
		{[]string{"check", file, "--limit", "10/10s", "--args", "{limt}"}, 2, "{limt}"},
		{[]string{"check", filepath.Join(t.TempDir(), "none.lua"), "--limit", "10/10s"}, 2, "none.lua"},
		{[]string{"check", write(t, "bad.lua", "return ("), "--limit", "10/10s"}, 1, "not Lua"},
		{[]string{"check", write(t, "pack.lua", "return cmsgpack.pack(1)"), "--limit", "10/10s"}, 1, "--redis"},
		{[]string{"check", write(t, "array.lua", "return {1, 0}"), "--limit", "10/10s", "--admitted", "[3]=1"}, 1, "2 elements"},
	} {
		call(t, c.args...).sentence(t, c.code, c.says)
	}
}

// TestCheckEndless: a script that does not end is stopped, and that is a fault.
func TestCheckEndless(t *testing.T) {
	t.Parallel()
	r := call(t, "check", write(t, "endless.lua", "while true do end"), "--limit", "10/10s")
	r.sentence(t, 1, "error")
	if _, err := os.Stat("endless.lua"); err == nil {
		t.Error("a file was left")
	}
}

// TestCheckApplication: nothing is sent to an application without permission, and a script and a URL exclude each other.
func TestCheckApplication(t *testing.T) {
	call(t, "check", "--url", "http://127.0.0.1:9/", "--limit", "10/4s").sentence(t, 1, "--allow-inject")
	call(t, "check", "--url", "http://192.0.2.1:9/", "--limit", "10/4s", "--allow-inject").sentence(t, 1, "--reason")
	call(t, "check", "x.lua", "--url", "http://127.0.0.1:9/", "--limit", "10/4s").sentence(t, 2, "leave out")
	call(t, "check", "--url", "ftp://127.0.0.1:9/", "--limit", "10/4s", "--allow-inject").sentence(t, 2, "http")
	for flag, says := range map[string]string{"--save": "leave it out with --url", "--keys": "leave it out with --url",
		"--args": "leave it out with --url", "--admitted": "leave it out with --url", "--redis": "leave it out with --url",
		"--apart": "give --url", "--request": "give --url", "--header": "give --url", "--body": "give --url",
		"--reason": "give --url"} {
		args := []string{"check", "--limit", "10/4s", flag, "1", collect.If(says == "give --url", "x.lua", "--url=http://127.0.0.1:9/")}
		call(t, args...).sentence(t, 2, flag, says)
	}
}

// TestCheckMarkdown: the page for a review has its headings, the table of findings and their traffic, and what names hold
// neither reaches a terminal nor breaks the table.
func TestCheckMarkdown(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(memberIsTime, "return 1\n", "redis.call('SET', 'x|y\\27[31m', 1, 'EX', 1)\nreturn 1\n")
	r := call(t, "check", write(t, "lo\x1b[31mg.lua", text), "--limit", "10/10s", "--markdown")
	if r.code != 1 || strings.ContainsAny(r.out, "\x1b") {
		t.Errorf("%d, %q", r.code, r.out)
	}
	for _, words := range []string{"## lo", ", told 10 in 10s\n", "**sliding log, 10 in 10s; ", "\nWorst window: at least ", "\n```\n",
		"\n| | finding | what | shown by |\n|---|---|---|---|\n| **fault** | same-instant | requests ", " | 2 at 0 s |\n",
		"\n| **fault** | undeclared-key | the script touches x\\|y", "| note | client-clock |", "commands a request; rl:alice: zset of "} {
		if !strings.Contains(r.out, words) {
			t.Errorf("without %q:\n%s", words, r.out)
		}
	}
	for _, l := range strings.Split(r.out, "\n") {
		if strings.HasPrefix(l, "| ") && strings.Count(strings.ReplaceAll(l, `\|`, ""), "|") != 5 {
			t.Errorf("not a row of four: %s", l)
		}
	}
	good := call(t, "check", write(t, "good.lua", counter+"return n <= tonumber(ARGV[1]) and 1 or 0"), "--limit", "10/10s", "--markdown")
	if good.code != 0 || !strings.Contains(good.out, "\nNo fault was found.\n") {
		t.Errorf("%d: %s%s", good.code, good.out, good.err)
	}
}

const counter = `local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
`

// TestCheckAdmittedZero: with --admitted 0 a reply of 0 admits, and no other one does.
func TestCheckAdmittedZero(t *testing.T) {
	t.Parallel()
	file := write(t, "zero.lua", counter+"return n <= tonumber(ARGV[1]) and 0 or n")
	r := call(t, "check", file, "--limit", "10/10s", "--args", "{limit} {window_ms}", "--admitted", "0")
	if r.code != 0 || !strings.Contains(r.out, "fixed window, 10 in 10s; windows from the first request") || !strings.Contains(r.out, "19 in 10s") {
		t.Errorf("%d: %s%s", r.code, r.out, r.err)
	}
	if r := call(t, "check", file, "--limit", "10/10s", "--args", "{limit} {window_ms}"); r.code != 1 || strings.Contains(r.out, "19 in 10s") {
		t.Errorf("without it: %d: %s", r.code, r.out)
	}
}

// TestFolklore: what docs/check.md says that check prints of the scripts in it is what it prints.
func TestFolklore(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)### ([^\n]*)\n.*?```lua\n(.*?)```.*?```text\n(.*?)```").FindAllStringSubmatch(string(content), -1)
	if len(found) != 4 {
		t.Errorf("%d scripts", len(found))
	}
	for _, f := range found {
		t.Run(f[1], func(t *testing.T) {
			t.Parallel()
			r := call(t, "check", write(t, "limiter.lua", f[2]), "--limit", "10/10s", "--ascii")
			for _, l := range strings.Split(strings.TrimSpace(f[3]), "\n") {
				if !strings.Contains(r.out, l+"\n") || strings.TrimSpace(l) == "" {
					t.Errorf("not printed: %q in\n%s", l, r.out)
				}
			}
		})
	}
}
