package config

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/connect"
	"ratescope/model/alert"
	"ratescope/model/collect"
)

// Alert is a rule of alerting and where its events go.
type Alert struct {
	alert.Rule
	Match        string   // glob on key names; "" every key
	Webhook      string   // URL that gets a POST; "" none
	WebhookFile  string   // file that holds the URL, which may be a secret; "" none
	WebhookEnv   string   // environment variable that holds it; "" none
	Alertmanager string   // URL of an Alertmanager; "" none
	Command      []string // program and arguments, run without a shell; nil none
}

// readAlerts reads the list of alerts.
func (c *Config) readAlerts(n *yaml.Node) error {
	names := map[string]bool{}
	return each(n, "alerts", func(one *yaml.Node) error {
		a, err := readAlert(one)
		switch {
		case err != nil:
			return err
		case names[a.Name]:
			return at(one, "the alert %q is there twice: give each a name of its own", a.Name)
		}
		names[a.Name] = true
		c.Alerts = append(c.Alerts, a)
		return nil
	})
}

func readAlert(n *yaml.Node) (a Alert, err error) {
	said := false
	when := func(v *yaml.Node) (err error) {
		said = true
		a.When, err = alert.ParseCondition(v.Value)
		if unknown := (*alert.UnknownMetricError)(nil); errors.As(err, &unknown) {
			return at(v, "%q is no metric: %s", unknown.Name, suggest(unknown.Name, alert.Words()))
		} else if err != nil {
			return at(v, "%w", err)
		}
		return nil
	}
	err = fields(n, "an alert", word{"name", text(&a.Name)}, word{"match", text(&a.Match)}, word{"when", when}, word{"for", length(&a.For)},
		word{"clear", length(&a.Clear)}, word{"severity", text(&a.Severity)}, word{"webhook", address(&a.Webhook, "webhook")},
		word{"webhook_file", text(&a.WebhookFile)}, word{"webhook_env", text(&a.WebhookEnv)},
		word{"alertmanager", address(&a.Alertmanager, "alertmanager")}, word{"command", texts(&a.Command)})
	if err != nil {
		return a, err
	}
	webhooks := collect.Only([]string{a.Webhook, a.WebhookFile, a.WebhookEnv}, func(w string) bool { return w != "" })
	switch {
	case a.Name == "":
		return a, at(n, "name is missing: give the alert a name, as in name: throttled")
	case !said:
		return a, at(n, "when is missing: say what the alert is about, as in when: utilization >= 1")
	case len(webhooks) > 1:
		return a, at(n, "there is more than one of webhook, webhook_file and webhook_env: keep one of them")
	case len(a.Command) > 0 && strings.TrimSpace(a.Command[0]) == "":
		return a, at(n, "the command is empty: name a program, as in command: [notify-send, \"{text}\"]")
	}
	a.Severity = cmp.Or(a.Severity, "warning")
	if match := a.Match; match != "" {
		a.Covers = func(key string) bool { return MatchGlob(match, key) }
	}
	return a, nil
}

// address returns what reads the URL of a receiver, which may hold a secret.
func address(to *string, name string) func(*yaml.Node) error {
	return func(v *yaml.Node) error {
		u, err := url.Parse(v.Value)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return at(v, "the %s is no URL that begins with http:// or https://", name)
		}
		*to = v.Value
		return nil
	}
}

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

// readTargets reads the mapping of names to targets.
func (c *Config) readTargets(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s is no mapping of names to targets: write it as in prod: {redis: rediss://cache:6379}", quoted(n))
	}
	var wrong error
	for pair := range slices.Chunk(n.Content, 2) {
		name := pair[0]
		switch _, twice := c.Targets[name.Value]; {
		case name.Kind != yaml.ScalarNode || name.Value == "":
			wrong = errors.Join(wrong, at(name, "%s is no name of a target", quoted(name)))
			continue
		case twice:
			wrong = errors.Join(wrong, at(name, "the target %s is there twice: keep one of them", name.Value))
		}
		t, err := readTarget(resolve(pair[1]))
		wrong = errors.Join(wrong, err)
		c.Targets[name.Value] = t
	}
	return wrong
}

func readTarget(n *yaml.Node) (t Target, err error) {
	inject := true
	colour := func(v *yaml.Node) error {
		if t.Colour = v.Value; !slices.Contains(Colours, v.Value) {
			return at(v, "%s is no colour: %s", quoted(v), suggest(v.Value, Colours))
		}
		return nil
	}
	servers := func(v *yaml.Node) error {
		if err := texts(&t.Redis)(v); err != nil {
			return err
		}
		for _, raw := range t.Redis {
			if u, err := url.Parse(raw); err == nil && u.User != nil {
				if _, secret := u.User.Password(); secret {
					return at(v, "the URL holds a password, which every reader of the file would know: "+
						"name a file with password_file, or a program with password_command")
				}
			}
		}
		return nil
	}
	err = fields(n, "a target", word{"redis", servers}, word{"watch", texts(&t.Watch)}, word{"production", truth(&t.Production)},
		word{"inject", truth(&inject)}, word{"colour", colour}, word{"password_file", text(&t.PasswordFile)},
		word{"password_command", texts(&t.PasswordCommand)}, word{"tls_ca", text(&t.TLS.CA)}, word{"tls_cert", text(&t.TLS.Cert)},
		word{"tls_key", text(&t.TLS.Key)}, word{"tls_server_name", text(&t.TLS.ServerName)}, word{"color", colour})
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
