package class

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"charm.land/wish/v2"
	"github.com/charmbracelet/keygen"
	"github.com/charmbracelet/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// Admission says who may come: everyone, those who know a password, or those with a key.
// The zero Admission lets everyone in.
type Admission struct {
	password []byte // its digest; nil asks for none
	keys     map[string]bool
}

// Password admits those who know what the content of a file says, without the end of its
// line.
func Password(content []byte) (Admission, error) {
	word := bytes.TrimRight(content, "\r\n")
	if len(word) < 6 {
		return Admission{}, errors.New("the password has fewer than six letters: write a longer one into the file")
	}
	digest := sha256.Sum256(word)
	return Admission{password: digest[:]}, nil
}

// AuthorizedKeys admits those whose public key a file lists, a line each as in OpenSSH's
// authorized_keys. Options of a line are not taken: there is nothing that they could allow.
func AuthorizedKeys(content []byte) (Admission, error) {
	a := Admission{keys: map[string]bool{}}
	for n, line := range strings.Split(string(content), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return a, fmt.Errorf("line %d is no public key: %w", n+1, err)
		}
		a.keys[string(key.Marshal())] = true
	}
	if len(a.keys) == 0 {
		return a, errors.New("there is no public key in it: add one a line, as in ~/.ssh/id_ed25519.pub")
	}
	return a, nil
}

// options are what the handshake asks. wrong is called with where a wrong password came from, and returns when
// the answer may be given.
func (a Admission) options(wrong func(from net.Addr)) (list []ssh.Option) {
	if a.password != nil {
		list = append(list, wish.WithPasswordAuth(func(c ssh.Context, word string) bool {
			digest := sha256.Sum256([]byte(word))
			if subtle.ConstantTimeCompare(digest[:], a.password) == 1 {
				return true
			}
			wrong(c.RemoteAddr())
			return false
		}))
	}
	if a.keys != nil {
		list = append(list, wish.WithPublicKeyAuth(func(_ ssh.Context, key ssh.PublicKey) bool { return a.keys[string(key.Marshal())] }))
	}
	return list
}

// HostKey reads the key of this host from a file that its owner alone may read, and makes
// one where there is none, so that students see the same host again.
func HostKey(name string) (ssh.Signer, error) {
	if info, err := os.Lstat(name); err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0) {
		return nil, fmt.Errorf("others may read the host key %s: run chmod 600 on it, or remove it", name)
	}
	key, err := keygen.New(name, keygen.WithKeyType(keygen.Ed25519), keygen.WithWrite())
	if err != nil {
		return nil, fmt.Errorf("%s holds no host key and none can be kept there: %w: remove it, and a new one is made", name, err)
	}
	return key.Signer(), nil
}

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
