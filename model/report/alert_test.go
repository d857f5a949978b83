package report

import "testing"

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
	if dedup("redis://exporter@h/0", "full", "k") != dedup("redis://h", "full", "k") || dedup("redis://h/1", "full", "k") == dedup("redis://h", "full", "k") {
		t.Error("the dedup_key does not go by the server alone")
	}
}
