package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
)

// TestIdentifyWrite adds the rules for what was found to a file, says the difference, keeps what
// stands there, and refuses when nothing is to be added.
func TestIdentifyWrite(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	for key, value := range map[string]string{"rl:203.0.113.7": "3", "LIMITS:LIMITER/10.0.0.1/10/1/hour": "4", "throttle:login:7": "2"} {
		if err := client.Set(t.Context(), key, value, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "sub", "config.yaml")
	args := []string{"identify", "--write", "--redis", s.URL(), "--config", path}
	first := call(t, args...)
	if first.code != 0 || !strings.Contains(first.out, "+  - match: rl:*") || !strings.Contains(first.out, "+++ "+path) {
		t.Fatalf("it says %d\n%s%s", first.code, first.out, first.err)
	}
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), "library: rate-limit-redis") || !strings.Contains(string(content), "remove this rule if they are no limiters") {
		t.Errorf("the file holds %s %v", content, err)
	}
	if r := call(t, "config", "check", "--config", path); r.code != 0 {
		t.Errorf("the file is not read: %s", r.err)
	}
	call(t, args...).sentence(t, 1, "its rules name every limiter that was found already")

	mine := "# mine\nrules:\n  - match: 'rl:*' # stays\n\ntargets: {}\n"
	path = write(t, "config.yaml", mine)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	args[len(args)-1] = path
	if r := call(t, args...); r.code != 0 || strings.Contains(r.out, "+  - match: rl:*") {
		t.Errorf("it says %d\n%s%s", r.code, r.out, r.err)
	}
	content, _ = os.ReadFile(path)
	if info, _ := os.Stat(path); !strings.HasPrefix(string(content), "# mine\nrules:\n  - match: 'rl:*' # stays\n  # 1 key") || !strings.HasSuffix(string(content), "\n\ntargets: {}\n") || info.Mode().Perm() != 0o644 {
		t.Errorf("the file, %v, holds\n%s", info.Mode(), content)
	}
	if n, err := client.DBSize(t.Context()).Result(); n != 3 || err != nil {
		t.Errorf("the server holds %d keys %v", n, err)
	}

	for _, tc := range []struct {
		code int
		args []string
		says string
	}{
		{2, []string{"identify", "--write", "--json"}, "give one of the three"},
		{2, []string{"identify", "--yes"}, "give both"},
		{2, []string{"identify", "--write", "--mask", "--redis", s.URL()}, "leave out one of the two"},
		{2, []string{"identify", "--write"}, "needs no rules"},
		{2, []string{"identify", "--write", "--redis", s.URL(), "--config", write(t, "bad", "rulse: []\n")}, "did you mean rules?"},
		{1, []string{"identify", "--write", "--redis", s.URL(), "--config", write(t, "odd", "targets: {}\n...\n")}, "add them by hand"},
	} {
		call(t, tc.args...).sentence(t, tc.code, tc.says)
	}
	if err := client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	call(t, args...).sentence(t, 1, "no key is a limiter by its layout")
}

// TestIdentifyNames writes rules with name for counters whose names hold their windows, of which some are over,
// and no window that only an expiry tells.
func TestIdentifyNames(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	at := s.Amid(t, time.Hour).Time()
	for _, who := range []string{"alice", "bob", "carol", "dave"} {
		for back := range 2 {
			hour := at.UTC().Add(-time.Duration(back) * time.Hour).Format("2006010215")
			client.Set(t.Context(), "ratelimit:"+who+":"+hour, 3, 50*time.Minute)
		}
		client.Set(t.Context(), "throttle:login:"+who, 2, time.Hour)
	}
	r := call(t, "identify", "--yaml", "--redis", s.URL())
	if r.code != 0 || !strings.Contains(r.out, "- name: ratelimit:{who}:{window:%Y%m%d%H}\n    read: value\n") || strings.Contains(r.out, "\n    window:") {
		t.Errorf("it says %d\n%s%s", r.code, r.out, r.err)
	}
	if c := call(t, "config", "check", "--config", write(t, "config.yaml", r.out)); c.code != 0 {
		t.Errorf("the file is not read: %s", c.err)
	}
}

// TestIdentifyOffersWhatFitsEqually writes no rule where several readings fit equally, and says what tells them apart: a counter that
// is kept for another window, and a number that has not moved. A time that may be a TAT, or that from which one is admitted, is neither.
func TestIdentifyOffersWhatFitsEqually(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	at := s.Amid(t, time.Hour).Time()
	for i := range 6 {
		who := fmt.Sprint("user", i)
		client.Set(t.Context(), "ratelimit:"+who+":"+at.UTC().Format("2006010215"), 3, 3*time.Hour)
		client.Set(t.Context(), "throttle:allow_at:"+who, float64(at.UnixMilli()-4000)+0.5, 20*time.Second)
		client.HSet(t.Context(), "throttle:of:"+who, "points", 7)
		client.Expire(t.Context(), "throttle:of:"+who, time.Minute)
	}
	text := call(t, "identify", "--redis", s.URL()).out
	for _, want := range []string{"whether the window before counts, too", "whether the number is what was used or what is left"} {
		if !strings.Contains(text, want) || strings.Contains(text, "read: tat") {
			t.Errorf("it does not say %q, or says what a time means\n%s", want, text)
		}
	}
	text = call(t, "identify", "ratelimit:user1:"+at.UTC().Format("2006010215"), "throttle:of:user1", "--redis", s.URL()).out
	for _, want := range []string{"read: value, limit: ", "read: value, weigh: floor", "read: field points", "read: left field points"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not offer %q\n%s", want, text)
		}
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := []string{"identify", "--write", "--yes", "--redis", s.URL(), "--config", path}
	if r := call(t, write...); r.code != 0 || !strings.Contains(r.err, "0 rules added") || !strings.Contains(r.err, "ratelimit:*:*") {
		t.Errorf("it says %d %s", r.code, r.err)
	}
	content, _ := os.ReadFile(path)
	offer := "  # - name: ratelimit:{who}:{window:%Y%m%d%H}\n  #   read: value\n  #   weigh: floor\n  #   limit: <LIMIT>/<WINDOW>\n"
	if !strings.Contains(string(content), offer) || call(t, "config", "check", "--config", path).code != 0 {
		t.Fatalf("the rules that need a word are no comments of\n%s", content)
	}
	call(t, write...).sentence(t, 1, "needs a word of yours")
	told := strings.NewReplacer("  # ", "  ", "<LIMIT>/<WINDOW>", "10/1h").Replace(offer)
	servertest.WriteFile(t, path, strings.Replace(string(content), offer, told, 1))
	if r := call(t, "snapshot", "--redis", s.URL(), "--config", path); r.code != 0 || strings.Count(r.out, " sliding-window ") != 6 {
		t.Errorf("with one of them told it says %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestIdentifyTeachesLimitersOfOnesOwn: the rules for likely groups are those with name that read every key of the
// group, of counters whose names hold windows and of buckets alike, and hold as soon as a limit is put in.
func TestIdentifyTeachesLimitersOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	at := s.Amid(t, time.Hour).Time()
	for i := range 12 {
		who := strconv.Itoa(i)
		client.Set(t.Context(), "rate:user"+who+":"+strconv.FormatInt(at.Unix()/3600, 10), 3, 50*time.Minute)
		client.HSet(t.Context(), "bucket/"+who, "tokens", "4.5", "last", float64(at.UnixMilli())/1000)
		client.Expire(t.Context(), "bucket/"+who, time.Minute)
	}
	r := call(t, "identify", "--yaml", "--redis", s.URL())
	for _, want := range []string{"- name: rate:{who}:{window:index}\n    read: value\n", "- name: bucket/{who}\n    read: bucket\n    amount: tokens\n    at: last\n"} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("it does not say %q: %d\n%s%s", want, r.code, r.out, r.err)
		}
	}
	told := regexp.MustCompile(`(?m)^(    )(window: .*|# limit: .*)$`).ReplaceAllString(r.out, "${1}limit: 10/1h")
	told = strings.ReplaceAll(told, "    limit: 10/1h\n    limit: 10/1h\n", "    limit: 10/1h\n")
	c := call(t, "snapshot", "--json", "--redis", s.URL(), "--config", write(t, "config.yaml", told))
	var snap struct {
		Keys []struct {
			Key       string
			Used      *int64
			Evidence  string
			Algorithm string
		}
	}
	if err := json.Unmarshal([]byte(c.out), &snap); err != nil || len(snap.Keys) != 24 {
		t.Fatalf("%d of 24 keys are told: %v\n%s%s", len(snap.Keys), err, told, c.err)
	}
	for _, k := range snap.Keys {
		if want := map[string]int64{"fixed-window": 3, "token-bucket": 6}[k.Algorithm]; k.Used == nil || *k.Used != want || k.Evidence != "told" {
			t.Errorf("%+v, want %d used", k, want)
		}
	}
	if text := call(t, "identify", "--redis", s.URL()).out; !strings.Contains(text, "- {name: 'bucket/{who}', read: bucket, amount: tokens, at: last, unit: s, limit: <LIMIT>/<WINDOW>}") {
		t.Errorf("the text has no rule for the buckets:\n%s", text)
	}
}

// TestIdentifyBeside: the rule of a counter names the key that denies beside it, and the one that says when its window ends, that
// of leases says that their times are ends, and all of them hold as they are written.
func TestIdentifyBeside(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	at := s.Amid(t, time.Hour).Time()
	for i := range 12 {
		who := strconv.Itoa(100 + i)
		client.Set(t.Context(), "auth:attempts:"+who, 1+i%5, time.Minute)
		if i%5 == 4 {
			client.Set(t.Context(), "auth:lockout:"+who, 1, 5*time.Minute)
		}
		if i%5 == 4 { // in the place of its counter
			client.Set(t.Context(), "login.lock."+who, "locked", 5*time.Minute)
		} else {
			client.Set(t.Context(), "login.fail."+who, 1+i%5, time.Minute)
		}
		client.Set(t.Context(), "{api_"+who+"}:requests", 3, 0)
		client.Set(t.Context(), "{api_"+who+"}:window", at.Unix()+50, 0)
		for n := range 3 {
			client.ZAdd(t.Context(), "sem:"+who, redis.Z{Score: float64(at.UnixMilli() + int64(30_000+n)), Member: n})
		}
		client.Expire(t.Context(), "sem:"+who, time.Minute)
	}
	r := call(t, "identify", "--json", "--redis", s.URL())
	var found struct {
		Groups, Candidates []struct {
			Pattern string
			Rule    map[string]string
		}
	}
	if err := json.Unmarshal([]byte(r.out), &found); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	rules := map[string]map[string]string{}
	for _, g := range append(found.Groups, found.Candidates...) {
		rules[g.Pattern] = g.Rule
	}
	file := "rules:\n"
	for pattern, want := range map[string]string{
		"auth:attempts:*":  "block auth:lockout:{who}",
		"login.fail.*":     "block login.lock.{who}",
		"{api_*}:requests": "ends key {api_{who}}:window s",
		"sem:*":            "stamp end",
	} {
		word, said, _ := strings.Cut(want, " ")
		if got := rules[pattern][word]; got != said {
			t.Errorf("the rule of %s is %v, want %s", pattern, rules[pattern], want)
		}
		file += "  - {limit: 5/1m"
		for word, said := range rules[pattern] {
			file += ", " + word + ": " + strconv.Quote(said)
		}
		file += "}\n"
	}
	snap := call(t, "snapshot", "--json", "--redis", s.URL(), "--config", write(t, "config.yaml", file))
	var rows struct {
		Keys []struct {
			Key  string
			Used *int64
			Next *int64 `json:"next_admission_ms"`
		}
	}
	if err := json.Unmarshal([]byte(snap.out), &rows); err != nil || len(rows.Keys) != 48 {
		t.Fatalf("%d of 48 rows: %v\n%s\n%s", len(rows.Keys), err, file, snap.err)
	}
	for _, k := range rows.Keys {
		i, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(k.Key))
		want, wait := int64(3), int64(0)
		if login := strings.HasPrefix(k.Key, "login"); login || strings.HasPrefix(k.Key, "auth") {
			if want = int64(1 + i%100%5); want == 5 {
				wait = 200_000
				if login {
					want = 0
				}
			}
		}
		if k.Used == nil || *k.Used != want || k.Next == nil || *k.Next < wait || wait == 0 && *k.Next != 0 {
			t.Errorf("%s: used %v, next %v, want %d and at least %d ms", k.Key, k.Used, k.Next, want, wait)
		}
	}
}

// TestIdentifyUnits: counters of bytes are candidates, and a key that is named is looked at for long enough to tell their steps.
func TestIdentifyUnits(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	for i := range 5 {
		client.Set(t.Context(), "egress:"+strconv.Itoa(100+i), 1500*(i+1), time.Minute)
	}
	if r := call(t, "identify", "--json", "--redis", s.URL()); !strings.Contains(r.out, `"pattern": "egress:*"`) {
		t.Errorf("they are not named: %s%s", r.out, r.err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var counting sync.WaitGroup
	counting.Go(func() {
		for n, last := int64(2), int64(1); ctx.Err() == nil; n++ {
			if big.NewInt(n).ProbablyPrime(0) { // so that any two of its numbers have no other step in common
				client.IncrBy(ctx, "egress:100", 1500*(n-last))
				last = n
				<-time.After(100 * time.Millisecond)
			}
		}
	})
	r := call(t, "identify", "egress:100", "--json", "--redis", s.URL())
	stop()
	counting.Wait()
	for _, want := range []string{`"weight": "1500"`, `"weight": "1"`, "moves in steps of 1500"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("of a key that moves nothing says %s: %s%s", want, r.out, r.err)
		}
	}
}

// TestIdentifyOneOfADay: a single counter whose name has a date and a word for it is a candidate with the rule that says so,
// and a count of a day without such a word is none.
func TestIdentifyOneOfADay(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	at := s.Amid(t, 24*time.Hour).Time()
	client.Set(t.Context(), "daily:alice:"+at.UTC().Format("20060102"), 12, 24*time.Hour)
	client.Set(t.Context(), "pageviews:"+at.UTC().Format(time.DateOnly), 1234, 24*time.Hour)
	r := call(t, "identify", "--json", "--redis", s.URL())
	var found struct {
		Groups     []json.RawMessage
		Candidates []struct{ Rule map[string]string }
	}
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || len(found.Groups) != 0 || len(found.Candidates) != 1 ||
		found.Candidates[0].Rule["name"] != "daily:{who}:{window:%Y%m%d}" || found.Candidates[0].Rule["read"] != "value" {
		t.Errorf("%v: %s%s", err, r.out, r.err)
	}
}
