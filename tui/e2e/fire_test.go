package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

type fired struct {
	Key      string `json:"key"`
	Requests []struct {
		At         int64  `json:"at_ms"`
		Cost       int64  `json:"cost"`
		Outcome    string `json:"outcome"`
		Remaining  *int64 `json:"remaining"`
		RetryAfter *int64 `json:"retry_after_ms"`
		Latency    *int64 `json:"latency_us"`
	} `json:"requests"`
	Summary struct {
		Admitted, Denied, Error, Unknown int
	} `json:"summary"`
}

var algorithms = []string{"fixed-window", "sliding-log", "sliding-window", "stream"}

// TestEightAtOnceAdmitTheLimit starts eight programs at the same time against one key.
func TestEightAtOnceAdmitTheLimit(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	for _, algorithm := range algorithms {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			eightAtOnce(t, s, algorithm, "race:"+algorithm)
		})
	}
}

// eightAtOnce fires at one key.
func eightAtOnce(t *testing.T, s redisServer, algorithm, key string) {
	t.Helper()
	const programs, each, limit = 8, 200, 100
	w := quietWindow(s.now(t))
	runs, results := make([]result, programs), make([]fired, programs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			runs[i] = ratescope(t, "fire", key, "-n", strconv.Itoa(each), "--limit", limitFlag(limit, w),
				"--algorithm", algorithm, "--redis", s.URL(), "--allow-inject", "--create", "--json")
		})
	}
	wg.Wait()
	admitted, denied := 0, 0
	for i, r := range runs {
		f := &results[i]
		if err := json.Unmarshal([]byte(r.out), f); err != nil || r.code != 0 {
			t.Errorf("exit code %d, %v, stderr %q", r.code, err, r.err)
		}
		admitted += f.Summary.Admitted
		denied += f.Summary.Denied
		if len(f.Requests) != each || f.Summary.Error+f.Summary.Unknown != 0 {
			t.Errorf("%d requests, summary %+v", len(f.Requests), f.Summary)
		}
	}
	if admitted != limit || denied != programs*each-limit {
		t.Errorf("%d admitted and %d denied, want %d and %d", admitted, denied, limit, programs*each-limit)
	}
	var snap snapshot
	ratescope(t, "snapshot", "--json", "--redis", s.URL(), "--limit", limitFlag(limit, w), "--algorithm", algorithm,
		"--watch", "*"+key+"*").ok(t, &snap)
	if k := snap.find(t, key); k.Used == nil || *k.Used != limit {
		t.Errorf("the server holds %s, want %d", number(k.Used), limit)
	}
}

func TestFireIsRefusedWithoutTheFlag(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.cli(t, "ZADD", "rl:a", strconv.FormatInt(s.now(t).UnixMilli(), 10), "m")
	before := dump(t, s)
	spy := s.watch(t)
	for _, key := range []string{"rl:a", "rl:new"} {
		ratescope(t, "fire", key, "--limit", "5/1m", "--redis", s.URL()).sentence(t, 1, "--allow-inject")
	}
	ratescopeIn(t, environment(t, "RATESCOPE_REDIS="+s.URL()), "fire", "rl:a", "--limit", "5/1m").sentence(t, 1, "--allow-inject")
	ratescope(t, "fire", "rl:new", "--limit", "5/1m", "--redis", s.URL(), "--allow-inject").sentence(t, 2, "--create")
	ratescope(t, "fire", "rl:new", "--limit", "5/1m", "--redis", s.URL(), "--allow-inject", "--create").sentence(t, 2, "--algorithm")
	if after := dump(t, s); after != before {
		t.Errorf("a refused request changed what the server holds:\n%s\nbefore:\n%s", after, before)
	}
	if bad := spy.writing(t, s); len(bad) > 0 {
		t.Errorf("a refused request sent %v", bad)
	}
}

func TestFireAtALogOfAnotherProgram(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	now := s.now(t)
	for i := range 3 {
		s.cli(t, "ZADD", "z:millis", strconv.FormatInt(now.Add(-time.Duration(i)*time.Second).UnixMilli(), 10), fmt.Sprintf("req-%d", i))
	}
	spy := s.watch(t)
	env := environment(t)
	r := ratescopeIn(t, env, "fire", "z:millis", "-n", "4", "--limit", "5/10m", "--algorithm", "sliding-log", "--redis", s.URL(), "--allow-inject", "--json")
	var f fired
	r.ok(t, &f)
	if f.Key != "z:millis" || f.Summary.Admitted != 2 || f.Summary.Denied != 2 {
		t.Fatalf("3 of 5 used and 4 fired: %+v", f)
	}
	if card := s.cli(t, "ZCARD", "z:millis"); card != "5" {
		t.Errorf("ZCARD is %s, want 5", card)
	}
	for i, r := range f.Requests {
		if r.Cost != 1 || r.Latency == nil || *r.Latency <= 0 || r.Remaining == nil || *r.Remaining != max(1-int64(i), 0) || r.RetryAfter == nil {
			t.Errorf("request %d: %+v", i, r)
		}
		if denied := r.Outcome == "denied"; denied != (i >= 2) || denied != (*r.RetryAfter > 0) {
			t.Errorf("request %d is %s with retry after %d", i, r.Outcome, *r.RetryAfter)
		}
	}
	entries := strings.Split(s.cli(t, "ZRANGE", "z:millis", "3", "-1", "WITHSCORES"), "\n")
	for i := 1; i < len(entries); i += 2 {
		if v, err := strconv.ParseFloat(entries[i], 64); err != nil || v > float64(now.UnixMilli()+60_000) || v < float64(now.UnixMilli()-60_000) {
			t.Errorf("the score %s is not in milliseconds like the others", entries[i])
		}
	}
	if len(spy.writing(t, s)) == 0 {
		t.Error("the monitor saw no writing command though requests were fired: it proves nothing")
	}
	audit(t, env, "z:millis", 4)
}

// auditFile is where the program writes what it fires in that environment.
func auditFile(env []string) string {
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "XDG_STATE_HOME=") })
	return filepath.Join(strings.TrimPrefix(env[i], "XDG_STATE_HOME="), "ratescope", "audit.jsonl")
}

// auditLines are the whole lines of the audit file, none while there is no such file.
func auditLines(t *testing.T, env []string) []string {
	t.Helper()
	text, err := os.ReadFile(auditFile(env))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1]
}

// audit holds the audit file of env to one JSON line at least for each of the requests
// fired at key.
func audit(t *testing.T, env []string, key string, want int) {
	t.Helper()
	got := 0
	for _, line := range auditLines(t, env) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%v in the audit line %q", err, line)
		}
		if entry["key"] == key {
			got++
		}
	}
	if got < want {
		t.Errorf("%d audit lines name %s, want %d at least", got, key, want)
	}
	if info, err := os.Stat(auditFile(env)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the audit file: %v, %v", info, err)
	}
}

func TestFireAtTheDemoIsFree(t *testing.T) {
	t.Parallel()
	var f fired
	ratescope(t, "fire", "demo:mine", "-n", "7", "--limit", "5/1m", "--json").ok(t, &f)
	if f.Summary.Admitted != 5 || f.Summary.Denied != 2 {
		t.Errorf("7 at a limit of 5: %+v", f.Summary)
	}
	r := ratescope(t, "fire", "demo:mine", "-n", "3", "--cost", "2", "--limit", "5/1m", "--algorithm", "stream")
	r.ok(t, nil)
	if !strings.Contains(r.out, "2 admitted, 1 denied") || strings.Count(r.out, "\n") != 4 {
		t.Errorf("three at cost 2 and a limit of 5: %q", r.out)
	}
}

func TestFireAtARate(t *testing.T) {
	t.Parallel()
	started := time.Now()
	var f fired
	ratescope(t, "fire", "demo:mine", "-n", "6", "--rate", "10/s", "--limit", "100/1m", "--json").ok(t, &f)
	if len(f.Requests) != 6 || f.Summary.Admitted != 6 {
		t.Fatalf("%+v", f)
	}
	if took := time.Since(started); took < 450*time.Millisecond {
		t.Errorf("six requests at 10/s took %v, want half a second at least", took)
	}
	for i := 1; i < len(f.Requests); i++ {
		if f.Requests[i].At < f.Requests[i-1].At {
			t.Errorf("request %d came before the one before it", i)
		}
	}
}

func TestPeekNeverWrites(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	w := quietWindow(s.now(t))
	logs, counters := formats(t, s, w)
	before := dump(t, s)
	spy := s.watch(t)
	for _, name := range append(append(logs, counters...), "none:yet") {
		for _, limit := range []int{1000, 7} {
			var k key
			ratescope(t, "peek", name, "--json", "--limit", limitFlag(limit, w), "--redis", s.URL()).ok(t, &k)
			if k.Key != name || k.Allowed == nil {
				t.Fatalf("peek at %s: %+v", name, k)
			}
			if want := limit == 1000 || name == "none:yet"; *k.Allowed != want || (k.Next != nil && *k.Next == 0) != want {
				t.Errorf("%s with a limit of %d: allowed %v, next_admission_ms %s, used %s", name, limit, *k.Allowed, number(k.Next), number(k.Used))
			}
		}
	}
	text := ratescope(t, "peek", "z:millis", "--limit", limitFlag(7, w), "--redis", s.URL())
	text.ok(t, nil)
	if !strings.Contains(text.out, "would be denied now") {
		t.Errorf("peek says %q", text.out)
	}
	if after := dump(t, s); after != before {
		t.Errorf("peek changed what the server holds:\n%s\nbefore:\n%s", after, before)
	}
	if bad := spy.writing(t, s); len(bad) > 0 {
		t.Errorf("peek sent %v", bad)
	}
	if slices.Contains(spy.commands(), "scan") {
		t.Error("peek at one key scans the whole server")
	}
}

// TestFireHarmsNobody: what a request would damage, in a key that another program keeps, is
// refused in a sentence, and the key stays as it is.
func TestFireHarmsNobody(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.cli(t, "SET", "bull:mail:limiter", "3", "PX", "30000")
	s.cli(t, "ZADD", "leaderboard", "100", "ann", "250", "ben", "17", "cy")
	s.cli(t, "SET", "stuck", "150")
	for key, says := range map[string]string{
		"bull:mail:limiter": "another program", "leaderboard": "would remove", "stuck": "PEXPIRE",
	} {
		before := s.cli(t, "DUMP", key) + s.cli(t, "EXPIRETIME", key)
		r := ratescope(t, "fire", key, "--limit", "100/1m", "--redis", s.URL(), "--allow-inject")
		r.sentence(t, 2, key, says)
		if after := s.cli(t, "DUMP", key) + s.cli(t, "EXPIRETIME", key); after != before {
			t.Errorf("%s was changed", key)
		}
	}
}

// TestFireAsTheLibraryDoes: at a key of a library whose writes are known, a request is written as
// that library writes it, so that the library goes on as if it had come through it.
func TestFireAsTheLibraryDoes(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	const epoch2017 = 1483228800 // redis_rate counts seconds from 2017 on
	tat := float64(s.now(t).Add(30*time.Minute).UnixMicro())/1e6 - epoch2017
	s.cli(t, "SET", "rate:alice", strconv.FormatFloat(tat, 'f', 8, 64), "EX", "1800")
	before := s.now(t)
	r := ratescope(t, "fire", "rate:alice", "--json", "--limit", "100/1h", "--redis", s.URL(), "--allow-inject")
	var fired struct{ Summary struct{ Admitted int } }
	r.ok(t, &fired)
	after, err := strconv.ParseFloat(s.cli(t, "GET", "rate:alice"), 64)
	if err != nil || fired.Summary.Admitted != 1 || math.Abs(after-tat-36) > 1e-6 {
		t.Errorf("admitted %d; the TAT moved by %v s, want 36: %v", fired.Summary.Admitted, after-tat, err)
	}
	// The library lets the key live until the TAT, in whole seconds rounded up from the moment that the request
	// came, which is within the run.
	expires, err := strconv.ParseInt(s.cli(t, "PEXPIRETIME", "rate:alice"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	late := time.UnixMilli(expires).Sub(time.UnixMicro(int64((after + epoch2017) * 1e6)))
	if most := time.Second + s.now(t).Sub(before); late < -time.Millisecond || late > most {
		t.Errorf("the key expires %v after its TAT, want 0 to %v", late, most)
	}
}

// TestUsersThatMayNotAll: a user who must not name its connection is served all the same,
// over few connections, and one who must not scan is told so.
func TestUsersThatMayNotAll(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.cli(t, "ZADD", "log", strconv.FormatInt(s.now(t).UnixMilli(), 10), "a")
	s.cli(t, "ACL", "SETUSER", "nameless", "on", ">pw", "~*", "+@all", "-client")
	s.cli(t, "ACL", "SETUSER", "blind", "on", ">pw", "~*", "+@all", "-scan")
	url := func(user string) string { return "redis://" + user + ":pw@" + s.Addr() }
	dialled := func() int {
		_, rest, _ := strings.Cut(s.cli(t, "INFO", "stats"), "total_connections_received:")
		text, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := dialled()
	for _, args := range [][]string{{"peek", "log"}, {"snapshot", "--watch", "log"}} {
		r := ratescope(t, append(args, "--limit", "100/1m", "--redis", url("nameless"))...)
		r.ok(t, nil)
		if !strings.Contains(r.out, "log") {
			t.Errorf("%s says %q", args, r.out)
		}
	}
	if n := dialled() - before; n > 40 {
		t.Errorf("two looks took %d connections", n)
	}
	if r := ratescope(t, "snapshot", "--redis", url("blind")); !strings.Contains(r.err, "+scan") || strings.Contains(r.err, "no limiter") {
		t.Errorf("without SCAN, snapshot says %q", r.err)
	}
}
