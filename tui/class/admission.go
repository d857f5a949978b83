package class

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
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

// asks reports whether those who come have to prove who they are.
func (a Admission) asks() bool { return a.password != nil || a.keys != nil }

// mostTries is how often a connection may try to say who it is.
const mostTries = 4

// config is what the handshake asks. wrong is called with where a wrong password came from, and returns when
// the answer may be given.
func (a Admission) config(wrong func(from net.Addr)) *ssh.ServerConfig {
	refused := errors.New("not admitted")
	c := &ssh.ServerConfig{MaxAuthTries: mostTries, NoClientAuth: !a.asks(), ServerVersion: "SSH-2.0-ratescope"}
	if a.password != nil {
		c.PasswordCallback = func(who ssh.ConnMetadata, word []byte) (*ssh.Permissions, error) {
			digest := sha256.Sum256(word)
			if subtle.ConstantTimeCompare(digest[:], a.password) == 1 {
				return nil, nil
			}
			wrong(who.RemoteAddr())
			return nil, refused
		}
	}
	if a.keys != nil {
		c.PublicKeyCallback = func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if a.keys[string(key.Marshal())] {
				return &ssh.Permissions{Extensions: map[string]string{keyExtension: ssh.FingerprintSHA256(key)}}, nil
			}
			return nil, refused
		}
	}
	return c
}

// HostKey reads the key of this host from a file that its owner alone may read, and makes
// one where there is none, so that students see the same host again.
func HostKey(name string) (ssh.Signer, error) {
	content, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if content, err = newHostKey(name); err != nil {
			return nil, fmt.Errorf("the host key cannot be kept in %s: %w", name, err)
		}
	case err != nil:
		return nil, fmt.Errorf("the host key cannot be read: %w", err)
	default:
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
			return nil, fmt.Errorf("others may read the host key %s: run chmod 600 on it, or remove it", name)
		}
	}
	key, err := ssh.ParsePrivateKey(content)
	if err != nil {
		return nil, fmt.Errorf("%s holds no host key: %w: remove it, and a new one is made", name, err)
	}
	return key, nil
}

// newHostKey makes a key and writes it.
func newHostKey(name string) ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, "ratescope lab")
	if err != nil {
		return nil, err
	}
	content := pem.EncodeToMemory(block)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	return content, errors.Join(err, f.Close())
}
