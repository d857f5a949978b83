package config

import (
	"errors"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"ratescope/model/alert"
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

var alertWords = []string{"name", "match", "when", "for", "clear", "severity", "webhook", "webhook_file", "webhook_env", "alertmanager", "command"}

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
	err = fields(n, "an alert", alertWords, map[string]func(*yaml.Node) error{
		"name": text(&a.Name), "match": text(&a.Match), "severity": text(&a.Severity),
		"for": length(&a.For), "clear": length(&a.Clear),
		"webhook": address(&a.Webhook, "webhook"), "alertmanager": address(&a.Alertmanager, "alertmanager"),
		"webhook_file": text(&a.WebhookFile), "webhook_env": text(&a.WebhookEnv), "command": texts(&a.Command),
		"when": func(v *yaml.Node) error {
			said = true
			var err error
			a.When, err = alert.ParseCondition(v.Value)
			if unknown := (*alert.UnknownMetricError)(nil); errors.As(err, &unknown) {
				return at(v, "%q is no metric: %s", unknown.Name, suggest(unknown.Name, alert.Words()))
			}
			if err != nil {
				return at(v, "%w", err)
			}
			return nil
		},
	})
	if err != nil {
		return a, err
	}
	webhooks := 0
	for _, w := range []string{a.Webhook, a.WebhookFile, a.WebhookEnv} {
		if w != "" {
			webhooks++
		}
	}
	switch {
	case a.Name == "":
		return a, at(n, "name is missing: give the alert a name, as in name: throttled")
	case !said:
		return a, at(n, "when is missing: say what the alert is about, as in when: utilization >= 1")
	case webhooks > 1:
		return a, at(n, "there is more than one of webhook, webhook_file and webhook_env: keep one of them")
	case len(a.Command) > 0 && strings.TrimSpace(a.Command[0]) == "":
		return a, at(n, "the command is empty: name a program, as in command: [notify-send, \"{text}\"]")
	}
	if a.Severity == "" {
		a.Severity = "warning"
	}
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
