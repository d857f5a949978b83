package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"ratescope/feed/config"
)

// TestDocumentedConfigurations reads every configuration of the documents.
func TestDocumentedConfigurations(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 {
		t.Fatalf("%d configurations", len(blocks))
	}
	layouts := 0
	for _, b := range blocks {
		c, err := config.Parse([]byte(b[1]))
		if err != nil {
			t.Errorf("%v in\n%s", err, b[1])
			continue
		}
		for _, r := range c.Rules {
			if r.Layout == nil {
				continue
			}
			if layouts++; !strings.Contains(r.Layout.Explain(), "reads ") {
				t.Errorf("%s is not explained", r.Layout.Name.String())
			}
		}
	}
	if layouts < 13 {
		t.Errorf("%d rules with name", layouts)
	}
}
