package report

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/alert"
)

// TestServerName gives one name to a server however it is spelled, so that two programs page once.
func TestServerName(t *testing.T) {
	for spelled, want := range map[string]string{
		"redis://h":                           "redis://h",
		"redis://h:6379/":                     "redis://h",
		"redis://default@h:6379/0":            "redis://h",
		"redis://watcher@h:7703/10":           "redis://h:7703/10",
		"redis://h by http://exporter:9464":   "redis://h",
		"rediss://h/1":                        "rediss://h/1",
		"unix://u@/run/redis.sock":            "unix:///run/redis.sock",
		"redis://b:2, redis://u@a:1":          "redis://a:1, redis://b:2",
		"redis+sentinel://u@s:26379/mymaster": "redis+sentinel://s:26379/mymaster",
		"the embedded Redis":                  "the embedded Redis",
	} {
		if got := ServerName(spelled); got != want {
			t.Errorf("%q is named %q, want %q", spelled, got, want)
		}
	}
	dedup := func(server string) string {
		return AlertOf(alert.Event{Server: server, Rule: "full", Key: "k", OfKey: true}, Options{}).Dedup
	}
	if dedup("redis://exporter@h/0") != dedup("redis://h") || dedup("redis://h/1") == dedup("redis://h") {
		t.Error("the dedup_key does not go by the server alone")
	}
}

// TestAnAlertOfUnknownBeginning lasted at least as long as its key was seen, in its text and so in the capsule.
func TestAnAlertOfUnknownBeginning(t *testing.T) {
	at := limiter.InstantOf(time.Unix(1_795_000_000, 0))
	for _, e := range []alert.Event{{Firing: true}, {}} {
		e.Rule, e.Key, e.OfKey, e.When.Metric, e.Value, e.Since, e.At =
			"full", "rl:a", true, alert.Utilization, 1, at.Add(-40*time.Second), at
		for _, least := range []bool{true, false} {
			e.AtLeast = least
			text := string(AlertOf(e, Options{}).Text)
			if strings.Contains(text, " at least 40s") != least || !strings.HasSuffix(text, " 40s") {
				t.Errorf("with its beginning known: %v, it says %q", !least, text)
			}
		}
	}
}
