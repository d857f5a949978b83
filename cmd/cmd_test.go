package cmd_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/cmd"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// result is what a call of the program left behind.
type result struct {
	code     int
	out, err string
}

// call runs the program in this process.
func call(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := cmd.Run("test", args, &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// sentence fails the test unless the call ended with a code and one line on stderr that
// says all of says.
func (r result) sentence(t *testing.T, code int, says ...string) {
	t.Helper()
	if r.code != code || strings.Count(r.err, "\n") != 1 {
		t.Errorf("exit code %d, want %d, stderr %q", r.code, code, r.err)
	}
	for _, want := range says {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr is %q, want it to say %q", r.err, want)
		}
	}
}

// write puts a text into a new file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPasswords takes a password from each place that may hold one, and prints none.
func TestPasswords(t *testing.T) {
	s := servertest.Start(t, "--requirepass", "s3cr3t")
	good, bad, empty := write(t, "good", "s3cr3t\nmore\n"), write(t, "bad", "wr0ng\n"), write(t, "empty", "\n")
	url, withPassword := "redis://"+s.Addr(), "redis://:s3cr3t@"+s.Addr()
	targets := write(t, "config.yaml", "targets:\n  file: {redis: '"+url+"', password_file: "+good+"}\n  command: {redis: '"+url+"', password_command: [printf, 's3cr3t']}\n  failing: {redis: '"+url+"', password_command: ['false']}\n")
	for name, tc := range map[string]struct {
		env  map[string]string
		args []string
		code int
		says string
	}{
		"none":                {nil, []string{"--redis", url}, 4, "password"},
		"in the URL":          {nil, []string{"--redis", withPassword}, 0, ""},
		"URL of environment":  {map[string]string{"RATESCOPE_REDIS": withPassword}, nil, 0, ""},
		"file":                {nil, []string{"--redis", url, "--password-file", good}, 0, ""},
		"wrong file":          {nil, []string{"--redis", url, "--password-file", bad}, 4, "password"},
		"empty file":          {nil, []string{"--redis", url, "--password-file", empty}, 2, "no password in its first line"},
		"no such file":        {nil, []string{"--redis", url, "--password-file", "/nosuch/file"}, 2, "there is no file"},
		"file of environment": {map[string]string{"RATESCOPE_PASSWORD_FILE": good}, []string{"--redis", url}, 0, ""},
		"REDISCLI_AUTH":       {map[string]string{"REDISCLI_AUTH": "s3cr3t"}, []string{"--redis", url}, 0, ""},
		"flag before env":     {map[string]string{"REDISCLI_AUTH": "wr0ng"}, []string{"--redis", url, "--password-file", good}, 0, ""},
		"URL before env":      {map[string]string{"REDISCLI_AUTH": "wr0ng"}, []string{"--redis", withPassword}, 0, ""},
		"target with file":    {nil, []string{"--config", targets, "--target", "file"}, 0, ""},
		"target with command": {nil, []string{"--config", targets, "--target", "command"}, 0, ""},
		"failing command":     {nil, []string{"--config", targets, "--target", "failing"}, 2, "password_command false"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"RATESCOPE_REDIS", "REDISCLI_AUTH", "RATESCOPE_PASSWORD_FILE"} {
				t.Setenv(variable, tc.env[variable])
			}
			r := call(t, append([]string{"snapshot", "--json"}, tc.args...)...)
			if r.code != tc.code || !strings.Contains(r.err, tc.says) {
				t.Errorf("exit code %d, want %d; stderr %q", r.code, tc.code, r.err)
			}
			if strings.Contains(r.err+r.out, "s3cr3t") || strings.Contains(r.err+r.out, "wr0ng") {
				t.Errorf("a password shows: %q %q", r.out, r.err)
			}
			for _, variable := range []string{"RATESCOPE_REDIS", "REDISCLI_AUTH"} {
				if os.Getenv(variable) != "" {
					t.Errorf("%s is still in the environment", variable)
				}
			}
		})
	}
}

// TestTargets names servers by the configuration, and refuses what it forbids.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	path := write(t, "config.yaml", "targets:\n  prod: {redis: '"+s.URL()+"', inject: false, watch: 'rl:*'}\n  empty: {redis: '"+s.URL()+"'}\n")
	r := call(t, "snapshot", "--json", "--config", path, "--target", "prod")
	if r.code != 0 || !strings.Contains(r.out, s.Addr()) || !strings.Contains(r.err, "rl:*") {
		t.Errorf("exit code %d, %q %q", r.code, r.out, r.err)
	}
	call(t, "fire", "k", "--limit", "5/1m", "--config", path, "--target", "prod", "--allow-inject").sentence(t, 2, "inject: false")
	call(t, "fire", "k", "--limit", "5/1m", "--config", path, "--target", "prod").sentence(t, 1, "--allow-inject")
	call(t, "snapshot", "--config", path, "--target", "pord").sentence(t, 2, "pord", "did you mean prod")
	call(t, "snapshot", "--config", path, "--target", "prod", "--redis", s.URL()).sentence(t, 2, "--redis")
	call(t, "snapshto").sentence(t, 2, "snapshto", "did you mean snapshot")
	call(t, "prod", "prod", "--config", path).sentence(t, 2, "prod", "twice")
	call(t, "prod", "nowhere", "--config", path).sentence(t, 2, "nowhere", "empty, prod")
	call(t, "prod", "empty", "--target", "prod", "--config", path).sentence(t, 2, "as arguments")
	call(t, "prod", "empty", "--config", path, "--plain").sentence(t, 2, "one target")
}

// snapshot is the part of the JSON that is asked for here.
type snapshot struct {
	Keys []struct {
		Key       string   `json:"key"`
		KeyBase64 string   `json:"key_base64"`
		Evidence  string   `json:"evidence"`
		Library   *string  `json:"library"`
		LimitFrom *string  `json:"limit_from"`
		Members   []string `json:"members"`
	} `json:"keys"`
	Seen struct {
		Complete *bool  `json:"complete"`
		Keys     *int64 `json:"keys"`
	} `json:"seen"`
}

// TestExitCodesOfSnapshot: 3 names the keys that are full, 4 is for nothing that could be
// read.
func TestExitCodesOfSnapshot(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for key, n := range map[string]int{"rl:full": 12, "rl:near": 9, "rl:calm": 1} {
		for i := range n {
			s.CLI("EVAL", "local t = redis.call('TIME'); redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2], ARGV[1]); redis.call('EXPIRE', KEYS[1], 600)", "1", key, "m"+strconv.Itoa(i))
		}
	}
	args := []string{"snapshot", "--json", "--redis", s.URL(), "--watch", "rl:*", "--limit", "10/10m"}
	r := call(t, args...)
	var all snapshot
	if err := json.Unmarshal([]byte(r.out), &all); err != nil || r.code != 0 || len(all.Keys) != 3 {
		t.Fatalf("exit code %d, %v: %s%s", r.code, err, r.out, r.err)
	}
	if all.Seen.Complete == nil || !*all.Seen.Complete || all.Seen.Keys == nil || *all.Seen.Keys < 3 {
		t.Errorf("it has seen %+v", all.Seen)
	}
	if k := all.Keys[0]; k.Evidence != "told" || k.LimitFrom == nil || *k.LimitFrom != "rule" || len(k.Members) != 1 || k.Members[0] != k.Key {
		t.Errorf("a key is %+v", k)
	}
	call(t, append(args, "--fail-over", "0.9")...).sentence(t, 3, "2 keys", "rl:full (120 %), rl:near (90 %)")
	call(t, append(args, "--fail-over", "1")...).sentence(t, 3, "1 key", "rl:full (120 %)")
	if r := call(t, append(args, "--fail-over", "1.3")...); r.code != 0 || r.err != "" {
		t.Errorf("nothing is above 1.3: exit code %d, %q", r.code, r.err)
	}
	if r := call(t, append(args, "--fail-over", "0.9", "--mask")...); r.code != 3 || strings.Contains(r.err+r.out, "rl:full") {
		t.Errorf("with --mask: exit code %d, %q", r.code, r.err)
	}
	call(t, append(args, "--fail-over", "0")...).sentence(t, 3, "at or above 0 of the limit", "rl:full (120 %)")
	call(t, append(args, "--fail-over", "-1")...).sentence(t, 2, "--fail-over")
	call(t, append(args, "--fail-over", "90%")...).sentence(t, 2, "--fail-over", `"90%"`, "as in 0.9")
	call(t, append(args, "--for", "-1s")...).sentence(t, 2, "--for")
	for _, command := range [][]string{{"snapshot"}, {"peek", "rl:a"}} {
		call(t, append(command, "--redis", "redis://127.0.0.1:"+strconv.Itoa(servertest.FreePort(t)))...).sentence(t, 4, "nothing listens")
	}

	s.CLI("ACL", "SETUSER", "blind", "on", ">x", "~rl:*", "+ping", "+info", "+time", "+hello", "+client", "+auth")
	blind := call(t, "snapshot", "--json", "--redis", "redis://blind:x@"+s.Addr())
	if blind.code != 4 || blind.err == "" {
		t.Errorf("a user who may read nothing: exit code %d, %q", blind.code, blind.err)
	}
}

// TestNamesThatAreNotText are told apart in the JSON, and can be given back.
func TestNamesThatAreNotText(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	for _, key := range []string{"rl:\xff", "rl:\xfe", "rl:�"} {
		if err := c.Set(t.Context(), key, "5", 3_600_000_000_000).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := call(t, "snapshot", "--json", "--redis", s.URL(), "--watch", "rl:*", "--algorithm", "fixed-window", "--limit", "10/1h")
	var all snapshot
	if err := json.Unmarshal([]byte(r.out), &all); err != nil || len(all.Keys) != 3 {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	names := map[string]bool{}
	for _, k := range all.Keys {
		names[k.Key+k.KeyBase64] = true
		if k.KeyBase64 == "" {
			continue
		}
		peek := call(t, "peek", k.KeyBase64, "--key-base64", "--json", "--redis", s.URL(), "--algorithm", "fixed-window", "--limit", "10/1h")
		if peek.code != 0 || !strings.Contains(peek.out, `"key_base64": "`+k.KeyBase64+`"`) || !strings.Contains(peek.out, `"used": 5`) {
			t.Errorf("peek of %s: exit code %d, %s%s", k.KeyBase64, peek.code, peek.out, peek.err)
		}
	}
	if len(names) != 3 {
		t.Errorf("3 keys have the names %v", names)
	}
	call(t, "peek", "?", "--key-base64", "--redis", s.URL()).sentence(t, 2, "key_base64")
}

// TestPeekOfACost answers for a request that costs more than one.
func TestPeekOfACost(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("EVAL", "local t = redis.call('TIME'); for i = 1, 7 do redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2] + i, i) end", "1", "rl:a")
	for cost, want := range map[string]string{"3": `"allowed": true`, "4": `"allowed": false`} {
		r := call(t, "peek", "rl:a", "--json", "--cost", cost, "--redis", s.URL(), "--limit", "10/1h", "--algorithm", "sliding-log")
		if r.code != 0 || !strings.Contains(r.out, want) || !strings.Contains(r.out, `"cost": `+cost) {
			t.Errorf("cost %s: exit code %d, %s%s", cost, r.code, r.out, r.err)
		}
	}
	r := call(t, "peek", "rl:a", "--cost", "11", "--redis", s.URL(), "--limit", "10/1h", "--algorithm", "sliding-log")
	if !strings.Contains(r.out, "a request that costs 11 would be denied, and no waiting helps") {
		t.Errorf("it says %s%s", r.out, r.err)
	}
	call(t, "peek", "rl:a", "--cost", "0", "--redis", s.URL()).sentence(t, 2, "cost of 0")
}

// TestFireReportsIntoANewFile: where the report could not be written, nothing is sent.
func TestFireReportsIntoANewFile(t *testing.T) {
	s := servertest.Start(t)
	stateHome(t)
	folder := t.TempDir()
	old := filepath.Join(folder, "fired.md")
	if err := os.WriteFile(old, []byte("of yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{old: "is there already: give another name",
		filepath.Join(folder, "none", "fired.json"): "make its folder"} {
		r := call(t, "fire", "rl:a", "--limit", "5/1m", "--algorithm", "fixed-window", "--create", "--allow-inject", "--redis", s.URL(),
			"--report", name)
		if r.code == 0 || !strings.Contains(r.err, says) || s.CLI("DBSIZE") != "0" {
			t.Errorf("%s: exit code %d, %s keys, stderr %q", name, r.code, s.CLI("DBSIZE"), r.err)
		}
	}
	if content, err := os.ReadFile(old); err != nil || string(content) != "of yesterday" {
		t.Errorf("the file that was there is %q, %v", content, err)
	}
}

// TestFireOfARecording: it says itself how many requests there are and when, and one that came faster than may be fired is refused.
func TestFireOfARecording(t *testing.T) {
	s := servertest.Start(t)
	stateHome(t)
	var text bytes.Buffer
	out, err := record.NewWriter(&text, false, record.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int64{1, model.MaxRate + 1} { // the first is from before the recording
		at := limiter.Instant(1_795_000_000_000_000).Add(time.Duration(i) * time.Second)
		key := model.Reading{Key: "k", Type: "zset", At: at, Arrivals: []model.Arrival{{At: at, N: n}}}
		if err := out.Write(model.Batch{At: at, Local: at.Time(), Readings: []model.Reading{key}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"fire", "k", "--from", write(t, "busy.jsonl", text.String()), "--limit", "5/1m", "--algorithm", "sliding-log", "--create",
		"--allow-inject", "--redis", s.URL()}
	for _, own := range [][]string{{"-n", "5"}, {"--rate", "1/s"}, {"--shape", "poisson", "--rate", "1/s"}} {
		call(t, append(args, own...)...).sentence(t, 2, "leave it out with --from")
	}
	call(t, args...).sentence(t, 2, "1001 requests within a second")
	if keys := s.CLI("DBSIZE"); keys != "0" {
		t.Errorf("%s keys were written", keys)
	}
}
