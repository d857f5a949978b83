package connect

import "testing"

// TestUnnoticed: no version is asked for CLIENT NO-TOUCH that lacks it or may crash of it.
func TestUnnoticed(t *testing.T) {
	for version, want := range map[string]bool{
		"": false, "5.0.14": false, "6.2.21": false, "7.0.15": false, "7.2.4": true, "7.4.7": true, "7.9.227": false,
		"8.0.0": false, "8.0.6": false, "8.2.3": false, "8.4.0": true, "8.6.3": true, "9.0.0": true, "255.255.255": true,
		"valkey 7.2.8": false, "valkey 8.1.1": false, "valkey 9.1.2": true, "garbage": false,
	} {
		if got := HasNoTouch(version); got != want {
			t.Errorf("version %q: %v, want %v", version, got, want)
		}
	}
	fields := ParseInfo("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.1.1\r\n")
	if v := VersionOf(fields); v != "valkey 8.1.1" {
		t.Errorf("a Valkey is taken for %q", v)
	}
}
