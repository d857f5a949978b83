package recorder

import (
	"bytes"
	"encoding/json"
	"strings"
)

func formatSteps(steps []Step) (string, error) {
	var b strings.Builder
	for i, s := range steps {
		if i > 0 {
			b.WriteString(",")
		}
		commands, err := list("        ", s.Commands)
		if err != nil {
			return "", err
		}
		keys, err := list("        ", s.Keys)
		if err != nil {
			return "", err
		}
		b.WriteString("\n    {")
		for _, field := range []struct {
			name  string
			value any
		}{{"at_ms", s.AtMS}, {"call", s.Call}, {"cost", s.Cost}, {"answer", s.Answer}, {"subject", s.Subject}} {
			if field.name == "subject" && s.Subject == nil {
				continue
			}
			v, err := plain(field.value)
			if err != nil {
				return "", err
			}
			b.WriteString("\n      \"" + field.name + "\": " + v + ",")
		}
		b.WriteString("\n      \"commands\": " + commands + ",\n      \"keys\": " + keys + "\n    }")
	}
	return b.String(), nil
}

// list writes one element on a line.
func list[T any](indent string, elements []T) (string, error) {
	if len(elements) == 0 {
		return "[]", nil
	}
	var b strings.Builder
	b.WriteString("[")
	for i, e := range elements {
		if i > 0 {
			b.WriteString(",")
		}
		v, err := plain(e)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + indent + v)
	}
	b.WriteString("\n" + indent[2:] + "]")
	return b.String(), nil
}

// plain writes v as JSON on one line, with <, > and & as they are.
func plain(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}
