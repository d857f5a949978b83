package class

import "testing"

// TestWhoIsKnownAgain: by the key where there are keys, else by the name, and by an address that
// no other student shares.
func TestWhoIsKnownAgain(t *testing.T) {
	seen := addresses{}
	for _, p := range []person{{name: "ada", address: "192.0.2.1"}, {name: "eve", address: "192.0.2.2"}, {name: "bob", address: "192.0.2.2"}} {
		seen.add(p)
	}
	for _, c := range []struct {
		name           string
		removed, again person
		known          bool
	}{
		{"same name", person{name: "ada"}, person{name: "ada"}, true},
		{"another name of this machine", person{name: "ada"}, person{name: "bob"}, false},
		{"another name from an address of one student", person{name: "ada", address: "192.0.2.1"}, person{name: "eva", address: "192.0.2.1"}, true},
		{"another name from an address of several", person{name: "eve", address: "192.0.2.2"}, person{name: "bob", address: "192.0.2.2"}, false},
		{"same name from another address", person{name: "eve", address: "192.0.2.2"}, person{name: "eve", address: "192.0.2.9"}, true},
		{"same key under another name", person{key: "SHA256:a", name: "ada"}, person{key: "SHA256:a", name: "eve"}, true},
		{"another key under the same name", person{key: "SHA256:a", name: "ada"}, person{key: "SHA256:b", name: "ada"}, false},
	} {
		c.removed.alone = seen.alone(c.removed)
		if c.removed.is(c.again) != c.known {
			t.Errorf("%s: known again is %v", c.name, !c.known)
		}
	}
}
