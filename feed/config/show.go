package config

import (
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ratescope/limiter"
	"ratescope/model/safetext"
)

// Example is a configuration file to begin with, in which every word is explained.
//
//go:embed example.yaml
var Example string

// shown is a configuration as Show prints it.
type shown struct {
	Rules   []map[string]any          `yaml:"rules"`
	Targets map[string]map[string]any `yaml:"targets"`
	Alerts  []map[string]any          `yaml:"alerts"`
}

// Show returns the configuration in its own format, as it is understood. Of webhooks only
// the host is there, because the rest is often a secret.
func (c *Config) Show() ([]byte, error) {
	out := shown{Rules: []map[string]any{}, Targets: map[string]map[string]any{}, Alerts: []map[string]any{}}
	for _, r := range c.Rules {
		out.Rules = append(out.Rules, r.words())
	}
	for name, t := range c.Targets {
		words := map[string]any{"redis": t.Redis, "production": t.Production, "inject": !t.NoInject}
		put(words, "colour", t.Colour)
		put(words, "password_file", t.PasswordFile)
		put(words, "tls_ca", t.TLS.CA)
		put(words, "tls_cert", t.TLS.Cert)
		put(words, "tls_key", t.TLS.Key)
		put(words, "tls_server_name", t.TLS.ServerName)
		if len(t.Watch) > 0 {
			words["watch"] = t.Watch
		}
		if len(t.PasswordCommand) > 0 {
			words["password_command"] = t.PasswordCommand
		}
		out.Targets[name] = words
	}
	for _, a := range c.Alerts {
		words := map[string]any{"name": a.Name, "when": a.When.String(), "severity": a.Severity}
		put(words, "match", a.Match)
		put(words, "webhook_file", a.WebhookFile)
		put(words, "webhook_env", a.WebhookEnv)
		if u, err := url.Parse(a.Alertmanager); err == nil {
			put(words, "alertmanager", u.Redacted())
		}
		if u, err := url.Parse(a.Webhook); err == nil && a.Webhook != "" {
			words["webhook"] = u.Scheme + "://" + u.Host + "/…"
		}
		if a.For > 0 {
			words["for"] = a.For.String()
		}
		if a.Clear > 0 {
			words["clear"] = a.Clear.String()
		}
		if len(a.Command) > 0 {
			words["command"] = a.Command
		}
		out.Alerts = append(out.Alerts, words)
	}
	return yaml.Marshal(out)
}

func (r *Rule) words() map[string]any {
	words := map[string]any{}
	if r.Layout != nil {
		_ = r.said.Decode(&words) // it was read before
	}
	put(words, "match", r.Match)
	put(words, "library", r.Library)
	if r.Algorithm != limiter.Unknown {
		words["algorithm"] = r.Algorithm.String()
	}
	switch {
	case r.LimitKnown && r.Layout == nil:
		words["limit"] = fmt.Sprintf("%d/%v", r.Limit.Count, r.Limit.Window)
	case r.Span() > 0 && r.Layout == nil:
		words["window"] = r.Span().String()
	}
	if r.Limit.Burst > 0 {
		words["burst"] = r.Limit.Burst
	}
	return words
}

// put adds a word that is not empty.
func put(words map[string]any, name, value string) {
	if value != "" {
		words[name] = value
	}
}

// WithoutSecrets returns the configuration as it may be handed to others: of the commands, which
// may have secrets in their arguments, only the programs are left.
func (c *Config) WithoutSecrets() *Config {
	out := &Config{Rules: c.Rules, Targets: map[string]Target{}}
	for name, t := range c.Targets {
		t.PasswordCommand = program(t.PasswordCommand)
		out.Targets[name] = t
	}
	for _, a := range c.Alerts {
		a.Command = program(a.Command)
		out.Alerts = append(out.Alerts, a)
	}
	return out
}

// Masked returns a copy without the middle of the names of keys: of rules, alerts and targets that
// name one key rather than a pattern of them.
func (c *Config) Masked() *Config {
	out := &Config{Targets: map[string]Target{}}
	for _, r := range c.Rules {
		r.Match = maskName(r.Match)
		out.Rules = append(out.Rules, r)
	}
	for name, t := range c.Targets {
		t.Watch = slices.Clone(t.Watch)
		for i := range t.Watch {
			t.Watch[i] = maskName(t.Watch[i])
		}
		out.Targets[name] = t
	}
	for _, a := range c.Alerts {
		a.Match = maskName(a.Match)
		out.Alerts = append(out.Alerts, a)
	}
	return out
}

// maskName returns a pattern without the middle of the name where it is of one key alone.
func maskName(pattern string) string {
	if pattern == "" || strings.ContainsAny(pattern, "*?[") {
		return pattern
	}
	return safetext.Mask(pattern)
}

// program returns a command without its arguments.
func program(command []string) []string {
	if len(command) < 2 {
		return command
	}
	return []string{command[0], "…"}
}
