// Package config holds the configuration and reads its file: rules that say how keys are
// limited, targets that name servers, and alerts. A rule is a glob with an algorithm, a limit
// and a window; the first rule that matches a key holds for it, and flags overrule all of them.
// The file is YAML: a mapping of the three, or a plain list of rules.
//
// An error is one sentence that begins with the file, the line and the column.
package config

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/connect"
	"ratescope/internal/file"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model/alert"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// Config is the content of a configuration file. The zero value has nothing in it.
type Config struct {
	Rules   []Rule
	Targets map[string]Target
	Alerts  []Alert
}

// Load reads a file, and the scripts that its rules name, which lie relative to it. An empty path is an empty
// configuration.
func Load(path string) (*Config, error) {
	if path == "" {
		return &Config{}, nil
	}
	text, err := file.Read(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err == nil {
		for _, r := range c.Rules {
			err = errors.Join(err, r.Script.load(filepath.Dir(path), r.Layout))
		}
	}
	if err != nil {
		return nil, Mistakes(nil).and(safetext.Clean(path), err)
	}
	return c, nil
}

// Parse reads the content of a file. Errors begin with the line and the column.
func Parse(text []byte) (*Config, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var top yaml.Node
	switch err := d.Decode(&top); {
	case errors.Is(err, io.EOF):
		return &Config{}, nil
	case err != nil:
		return nil, syntax(err)
	}
	if d.Decode(new(yaml.Node)) != io.EOF {
		return nil, errors.New("1:1: there is more than one document in the file, or something after its end: remove what begins with ---")
	}
	c := &Config{Targets: map[string]Target{}}
	n := resolve(top.Content[0])
	var err error
	switch {
	case n.Kind == yaml.SequenceNode:
		err = c.readRules(n)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return c, nil
	case n.Kind != yaml.MappingNode:
		return nil, at(n, "%s is no configuration: write rules, targets or alerts, "+
			"or a list of rules with match, algorithm, limit and window", quoted(n))
	default:
		err = fields(n, "a section of the configuration", word{"rules", c.readRules}, word{"targets", c.readTargets},
			word{"alerts", c.readAlerts})
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// syntax puts what the YAML parser says in the form of the other errors: "yaml: line 3: did
// not find expected key".
func syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
		if strings.HasPrefix(text, "did not find") { // there the parser counts from 0, else from 1
			line++
		}
	}
	return fmt.Errorf("%d:1: this is not YAML: %s", line, text)
}

// Example is a configuration file to begin with, in which every word is explained.
//
//go:embed example.yaml
var Example string

// Show returns the configuration in its own format, as it is understood. Of webhooks only
// the host is there, because the rest is often a secret.
func (c *Config) Show() []byte {
	var out struct { // in the order in which they are printed
		Rules   []map[string]any
		Targets map[string]map[string]any
		Alerts  []map[string]any
	}
	out.Rules = collect.Map(c.Rules, Rule.words)
	for name, t := range c.Targets {
		words := map[string]any{"redis": t.Redis, "production": t.Production, "inject": !t.NoInject}
		put(words, map[string]any{"colour": t.Colour, "watch": t.Watch,
			"password_file": t.PasswordFile, "password_command": t.PasswordCommand,
			"tls_ca": t.TLS.CA, "tls_cert": t.TLS.Cert, "tls_key": t.TLS.Key, "tls_server_name": t.TLS.ServerName})
		collect.Put(&out.Targets, name, words)
	}
	for _, a := range c.Alerts {
		words := map[string]any{"name": a.Name, "when": a.When.String(), "severity": a.Severity}
		put(words, map[string]any{"match": a.Match, "for": a.For, "clear": a.Clear,
			"webhook_file": a.WebhookFile, "webhook_env": a.WebhookEnv, "command": a.Command})
		if u, err := url.Parse(a.Alertmanager); err == nil && a.Alertmanager != "" {
			words["alertmanager"] = u.Redacted()
		}
		if u, err := url.Parse(a.Webhook); err == nil && a.Webhook != "" {
			words["webhook"] = u.Scheme + "://" + u.Host + "/…"
		}
		out.Alerts = append(out.Alerts, words)
	}
	text, _ := yaml.Marshal(out) // texts, numbers and truths
	return text
}

func (r Rule) words() map[string]any {
	words := map[string]any{}
	if r.Layout != nil {
		_ = r.said.Decode(&words) // it was read before
	}
	put(words, map[string]any{"match": r.Match, "library": r.Library, "burst": r.Limit.Burst})
	if r.Algorithm != limiter.Unknown {
		words["algorithm"] = r.Algorithm.String()
	}
	switch {
	case r.LimitKnown && r.Layout == nil:
		words["limit"] = fmt.Sprintf("%d/%v", r.Limit.Count, r.Limit.Window)
	case r.Span() > 0 && r.Layout == nil:
		words["window"] = r.Span().String()
	}
	return words
}

// put adds those of the words that are not empty.
func put(words, more map[string]any) {
	for name, value := range more {
		if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
			words[name] = value
		}
	}
}

// Shared returns the configuration as it may be handed to others: of the commands, which may have secrets in
// their arguments, only the programs are left and, with mask, patterns that name one key lack its middle.
func (c *Config) Shared(mask bool) *Config {
	shown := func(pattern string) string {
		if !mask || pattern == "" || strings.ContainsAny(pattern, "*?[") {
			return pattern
		}
		return safetext.Mask(pattern)
	}
	out := &Config{Targets: map[string]Target{}}
	for _, r := range c.Rules {
		r.Match = shown(r.Match)
		out.Rules = append(out.Rules, r)
	}
	for name, t := range c.Targets {
		t.Watch, t.PasswordCommand = collect.Map(t.Watch, shown), program(t.PasswordCommand)
		out.Targets[name] = t
	}
	for _, a := range c.Alerts {
		a.Match, a.Command = shown(a.Match), program(a.Command)
		out.Alerts = append(out.Alerts, a)
	}
	return out
}

func program(command []string) []string {
	if len(command) < 2 {
		return command
	}
	return []string{command[0], "…"}
}

// look is the time between two looks at whether the file has changed.
const look = time.Second

// Follow calls changed whenever the content of a file has changed, with the configuration
// or the error of Load, until ctx ends. A file that is missing for a while, as when an
// editor replaces it, is waited for.
func Follow(ctx context.Context, path string, changed func(*Config, error)) {
	was, _ := os.Stat(path)
	for goroutine.Sleep(ctx, look) == nil {
		now, err := os.Stat(path)
		if err == nil && (was == nil || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime())) {
			was = now
			changed(Load(path))
		}
	}
}

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
	colour := readWord(&t.Colour, "colour", Colours)
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
