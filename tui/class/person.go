package class

import (
	"net"

	"github.com/charmbracelet/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// person is what is known of a student: in a class with keys the key, in any other the name, and
// the address as far as it tells one student from another.
type person struct {
	key     string // fingerprint; "" in a class without keys
	name    string // as it is shown
	address string // without a port; "" for this machine's own, which many students may share
	alone   bool   // no other student came from the address, at the time of the removal
}

// personOf returns who is at the other end of a session.
func personOf(c ssh.Session) person {
	p := person{name: c.User()}
	if key := c.PublicKey(); key != nil {
		p.key = gossh.FingerprintSHA256(key)
	}
	if host, _, err := net.SplitHostPort(c.RemoteAddr().String()); err == nil {
		if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
			p.address = ip.String()
		}
	}
	return p
}

// is reports whether another connection is taken for the one of this person, who was removed. A
// key is proof and goes alone; a name is enough, since it was chosen; an address is where no other
// student shares it, as behind the router of a school.
func (p person) is(other person) bool {
	if p.key != "" {
		return p.key == other.key
	}
	return p.name == other.name || p.alone && p.address != "" && p.address == other.address
}

// addresses holds for each address the name that came from it, "" for several.
type addresses map[string]string

// add notes that a student has come.
func (a addresses) add(p person) {
	if name, ok := a[p.address]; ok && name != p.name {
		a[p.address] = ""
		return
	}
	a[p.address] = p.name
}

// alone reports whether no other student came from the address of this one.
func (a addresses) alone(p person) bool { return a[p.address] == p.name }
