package config

import (
	"net/url"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/connect"
)

// Target is a server with a name.
type Target struct {
	Redis           []string // URLs, as --redis takes them
	Watch           []string // patterns of keys, as --watch takes them
	Production      bool     // every action that writes asks for the key's name
	NoInject        bool     // nothing is fired at it, whatever the flags say
	Colour          string   // of its name on screen; "" the theme's
	PasswordFile    string
	PasswordCommand []string // prints the password; run without a shell
	TLS             connect.TLSFiles
}

// Colours are those that a target may have.
var Colours = []string{"red", "orange", "yellow", "green", "blue", "magenta", "cyan", "white"}

var targetWords = []string{"redis", "watch", "production", "inject", "colour", "password_file", "password_command", "tls_ca", "tls_cert", "tls_key", "tls_server_name"}

// readTargets reads the mapping of names to targets.
func (c *Config) readTargets(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s is no mapping of names to targets: write it as in prod: {redis: rediss://cache:6379}", quoted(n))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		switch _, twice := c.Targets[name.Value]; {
		case name.Kind != yaml.ScalarNode || name.Value == "":
			return at(name, "%s is no name of a target", quoted(name))
		case twice:
			return at(name, "the target %s is there twice: keep one of them", name.Value)
		}
		t, err := readTarget(resolve(n.Content[i+1]))
		if err != nil {
			return err
		}
		c.Targets[name.Value] = t
	}
	return nil
}

func readTarget(n *yaml.Node) (t Target, err error) {
	inject := true
	colour := func(v *yaml.Node) error {
		for _, known := range Colours {
			if v.Value == known {
				t.Colour = known
				return nil
			}
		}
		return at(v, "%s is no colour: %s", quoted(v), suggest(v.Value, Colours))
	}
	err = fields(n, "a target", targetWords, map[string]func(*yaml.Node) error{
		"redis": func(v *yaml.Node) error {
			if err := texts(&t.Redis)(v); err != nil {
				return err
			}
			for _, raw := range t.Redis {
				if u, err := url.Parse(raw); err == nil && u.User != nil {
					if _, secret := u.User.Password(); secret {
						return at(v, "the URL holds a password, which every reader of the file would know: name a file with password_file, or a program with password_command")
					}
				}
			}
			return nil
		},
		"watch": texts(&t.Watch), "production": truth(&t.Production), "inject": truth(&inject), "colour": colour, "color": colour,
		"password_file": text(&t.PasswordFile), "password_command": texts(&t.PasswordCommand),
		"tls_ca": text(&t.TLS.CA), "tls_cert": text(&t.TLS.Cert), "tls_key": text(&t.TLS.Key), "tls_server_name": text(&t.TLS.ServerName),
	})
	switch {
	case err != nil:
		return t, err
	case len(t.Redis) == 0:
		return t, at(n, "redis is missing: name the server, as in redis: rediss://cache:6379")
	case t.PasswordFile != "" && len(t.PasswordCommand) > 0:
		return t, at(n, "password_file and password_command are both there: keep one of them")
	}
	t.NoInject = !inject
	return t, nil
}
