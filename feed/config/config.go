// Package config holds the configuration and reads its file: rules that say how keys are
// limited, targets that name servers, and alerts. A rule is a glob with an algorithm, a limit
// and a window; the first rule that matches a key holds for it, and flags overrule all of them.
// The file is YAML: a mapping of the three, or, as before there were targets and alerts, a
// plain list of rules.
//
// An error is one sentence that begins with the file, the line and the column.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"ratescope/internal/file"
	"ratescope/model/safetext"
)

// Config is the content of a configuration file. The zero value has nothing in it.
type Config struct {
	Rules   []Rule
	Targets map[string]Target
	Alerts  []Alert
}

// sections are the words of the file at its top.
var sections = []string{"rules", "targets", "alerts"}

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
	if err != nil {
		return nil, fmt.Errorf("%s:%w", safetext.Clean(path), err)
	}
	for _, r := range c.Rules {
		if err := r.Script.load(filepath.Dir(path), r.Layout); err != nil {
			return nil, fmt.Errorf("%s:%w", safetext.Clean(path), err)
		}
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
		return nil, at(n, "%s is no configuration: write rules, targets or alerts, or a list of rules with match, algorithm, limit and window", quoted(n))
	default:
		err = fields(n, "a section of the configuration", sections, map[string]func(*yaml.Node) error{
			"rules": c.readRules, "targets": c.readTargets, "alerts": c.readAlerts,
		})
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
	}
	return fmt.Errorf("%d:1: this is not YAML: %s", line, text)
}
