// Package recorder writes down what a rate limiter keeps in Redis and what it answers, step
// by step, as the JSON fixtures from which the decoders are tested.
package recorder

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Fixture is one scenario of one library. Its JSON form is what the decoders' tests read.
type Fixture struct {
	Library    string     `json:"library"`
	Version    string     `json:"version"`
	Client     string     `json:"client"`
	Source     string     `json:"source"` // real or published
	Scenario   string     `json:"scenario"`
	Algorithm  string     `json:"algorithm"`
	Configured Configured `json:"configured"`
	InRedis    []string   `json:"in_redis"`
	Denied     string     `json:"denied"` // charged, free or partly
	Steps      []Step     `json:"steps"`
	Peeks      []Peek     `json:"peeks"`
	Notes      []string   `json:"notes"`
}

// Configured is the limit as it was given to the library. Other holds the options that
// change the layout or the arithmetic.
type Configured struct {
	Limit    float64        `json:"limit"`
	WindowMS float64        `json:"window_ms"`
	Burst    *float64       `json:"burst"`
	Cost     int64          `json:"cost"`
	Other    map[string]any `json:"other,omitempty"`
}

// Window returns the configured window.
func (c Configured) Window() time.Duration {
	return time.Duration(c.WindowMS * float64(time.Millisecond))
}

// Step is one call of the library, the commands that it sent, its answer, and all keys as
// they were at AtMS on the server's clock.
type Step struct {
	AtMS     float64        `json:"at_ms"`
	Call     string         `json:"call"`
	Cost     int64          `json:"cost"`
	Commands [][]Text       `json:"commands"`
	Answer   Answer         `json:"answer"`
	Subject  map[string]any `json:"subject,omitempty"`
	Keys     []Key          `json:"keys"`
}

// Answer is what the library said; nil fields are those on which it is silent. Durations are
// in milliseconds.
type Answer struct {
	Allowed      *bool    `json:"allowed"`
	Limit        *float64 `json:"limit"`
	Remaining    *float64 `json:"remaining"`
	RetryAfterMS *float64 `json:"retry_after_ms"`
	ResetAfterMS *float64 `json:"reset_after_ms"`
	Raw          string   `json:"raw"`
}

// Peek is when the next request of cost 1 was really admitted after a step. ResolutionMS is the time
// between the last refused and the first admitted request.
type Peek struct {
	AfterStep    int     `json:"after_step"`
	AtMS         float64 `json:"at_ms"`
	NextMS       float64 `json:"next_ms"`
	How          string  `json:"how"`
	ResolutionMS float64 `json:"resolution_ms"`
}

// Key is one key of the database. TTLMS is -1 for a key that does not expire.
type Key struct {
	Key   Text    `json:"key"`
	Type  string  `json:"type"`
	TTLMS float64 `json:"ttl_ms"`
	Value any     `json:"value"`
}

// Text is a string of Redis. Bytes that are no UTF-8 become {"base64": "..."}.
type Text string

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(t))})
}

// Ptr returns a pointer to v, for the optional fields of an Answer.
func Ptr[T any](v T) *T { return &v }

// Number converts v for an optional field of an Answer.
func Number[T int | int64 | uint64 | uint | float64](v T) *float64 { return Ptr(float64(v)) }
