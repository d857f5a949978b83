package cmd_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// TestIdentifyKey says what keys could be, with figures only where they are certain, prints no value of what is
// no limiter, and writes nothing.
func TestIdentifyKey(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	ctx := t.Context()
	at := s.Amid(t, 24*time.Hour).Time()
	day := fmt.Sprint("rl:alice:", at.UTC().Format("20060102"))
	client.Set(ctx, day, 7, 25*time.Hour)
	client.Set(ctx, "attempts:7", 3, time.Minute)
	client.Set(ctx, "session:x", "s3cr3t", time.Minute)
	client.HSet(ctx, "tb:alice", "tokens", "4.5", "ts", at.UnixMilli())
	client.Set(ctx, "LIMITS:LIMITER/10.0.0.1/10/1/hour", 4, time.Hour)
	writes := func() string { return client.Info(ctx, "persistence").String() }
	before := strings.SplitN(writes(), "rdb_changes_since_last_save:", 2)[1][:6]

	keys := []string{day, "attempts:7", "session:x", "tb:alice", "LIMITS:LIMITER/10.0.0.1/10/1/hour", "absent"}
	look := func(more ...string) (got struct {
		Keys []struct {
			Key, Type string
			Readings  []struct {
				As, Algorithm string
				Used, Limit   *int64
				Window        *int64 `json:"window_ms"`
				Rule          map[string]string
			}
		}
	}, text string) {
		t.Helper()
		args := append(append([]string{"identify"}, keys...), "--for", "1ms", "--redis", s.URL()) // nothing moves
		r := call(t, append(append(args, "--json"), more...)...)
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
			t.Fatalf("%d %v %s", r.code, err, r.err)
		}
		return got, r.out + call(t, append(args, more...)...).out
	}
	got, text := look()
	if strings.Contains(text, "s3cr3t") || len(got.Keys) != len(keys) {
		t.Fatalf("it prints a value, or not every key:\n%s", text)
	}
	for i, want := range []string{"rl:{who}:{window:%Y%m%d} value <LIMIT>/<WINDOW>", "attempts:{who} value <LIMIT>/<WINDOW>", "", "tb:{who} bucket <LIMIT>/<WINDOW>", "  ", ""} {
		k := got.Keys[i]
		has := ""
		if len(k.Readings) > 0 {
			r := k.Readings[0].Rule
			has = r["name"] + " " + r["read"] + " " + r["limit"]
		}
		if has != want {
			t.Errorf("%s: the first rule is %q, want %q", k.Key, has, want)
		}
	}
	windowed, expiring, bucket, known := got.Keys[0].Readings[0], got.Keys[1].Readings[0], got.Keys[3].Readings[0], got.Keys[4].Readings[0]
	if windowed.Used == nil || *windowed.Used != 7 || windowed.Window == nil || *windowed.Window != 86_400_000 {
		t.Errorf("of a window in a name: %+v", windowed)
	}
	if expiring.Used == nil || *expiring.Used != 3 || expiring.Window != nil {
		t.Errorf("of an expiry: %+v", expiring)
	}
	if bucket.Used != nil {
		t.Errorf("of a bucket without a limit: used %d", *bucket.Used)
	}
	if known.As != "the layout of limits" || *known.Used != 4 || *known.Limit != 10 {
		t.Errorf("of a library: %+v", known)
	}
	if got, _ := look("--limit", "10/1d"); got.Keys[3].Readings[0].Used == nil || *got.Keys[3].Readings[0].Used != 6 || *got.Keys[1].Readings[1].Used != 7 {
		t.Errorf("with a limit: %+v %+v", got.Keys[3].Readings[0], got.Keys[1].Readings[1])
	}
	if after := strings.SplitN(writes(), "rdb_changes_since_last_save:", 2)[1][:6]; after != before {
		t.Errorf("it wrote: %s changes, %s before", after, before)
	}
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"identify", "a", "--yaml", "--redis", s.URL()}, "leave out --yaml"},
		{[]string{"identify", "", "--redis", s.URL()}, "empty name"},
		{[]string{"identify", "a"}, "with --redis"},
	} {
		call(t, tc.args...).sentence(t, 2, tc.says)
	}
}
