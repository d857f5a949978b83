package connect

import (
	"maps"
	"slices"
	"testing"
)

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

// TestReplicasIn reads what a cluster says of its nodes: a master without replicas, one with
// two, and one whose replica has failed.
func TestReplicasIn(t *testing.T) {
	got := replicasIn(`a 10.0.0.1:7000@17000,one.example myself,master - 0 0 1 connected 0-5460
b 10.0.0.2:7000@17000 master - 0 1795274872 2 connected 5461-10922
c 10.0.0.3:7000@17000 master - 0 1795274872 3 connected 10923-16383
d 10.0.0.4:7000@17000 slave b 0 1795274872 2 connected
e 10.0.0.5:7000@17000 slave b 0 1795274872 2 connected
f 10.0.0.6:7000@17000 slave,fail c 1795274000 1795273000 3 disconnected
g :0@0 slave,noaddr c 1795274000 1795273000 3 disconnected
garbage
`)
	slices.Sort(got["10.0.0.2:7000"])
	want := map[string][]string{"10.0.0.1:7000": {}, "10.0.0.2:7000": {"10.0.0.4:7000", "10.0.0.5:7000"}, "10.0.0.3:7000": {}}
	if !maps.EqualFunc(got, want, func(a, b []string) bool { return slices.Equal(a, b) }) {
		t.Errorf("%v, want %v", got, want)
	}
}

// FuzzReplicasIn wants no line of CLUSTER NODES to make two masters of one replica.
func FuzzReplicasIn(f *testing.F) {
	f.Add("a h:1@2 master - \nb h:2@3 slave a \n")
	f.Add("a h:1@2 slave a x")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for _, replicas := range replicasIn(text) {
			n += len(replicas)
		}
		if lines := len(text); n > lines {
			t.Errorf("%d replicas in %d bytes", n, lines)
		}
	})
}
