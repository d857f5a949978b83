package report

import (
	"fmt"
	"io"
	"ratescope/model/plural"
	"strings"
)

// Undone is what was taken back of what was fired.
type Undone struct {
	ID       string `json:"id"`
	Key      Text   `json:"key"`
	Requests int64  `json:"requests"`
	Restored []Text `json:"restored"` // keys that are as they were before
	Removed  []Text `json:"removed"`  // keys that were created, and are gone again
	Expired  []Text `json:"expired"`  // keys that had expired in the meantime

	Change    string `json:"change,omitempty"`    // what had been done to the key, where no requests were sent
	Lowered   string `json:"lowered,omitempty"`   // the limit that was put back beside requests that were counted since
	Withdrawn *int64 `json:"withdrawn,omitempty"` // units taken off, where nothing was put back
}

// UndoneOf is the account of an action that was taken back.
func UndoneOf(id, key string, requests int64, restored, removed, expired []string, o Options) Undone {
	names := func(keys []string) []Text {
		out := make([]Text, 0, len(keys))
		for _, k := range keys {
			out = append(out, o.name(k))
		}
		return out
	}
	return Undone{ID: id, Key: o.name(key), Requests: requests, Restored: names(restored), Removed: names(removed), Expired: names(expired)}
}

// JSON prints u as one object.
func (u Undone) JSON(w io.Writer) error { return writeJSON(w, u) }

// Text prints u as one line.
func (u Undone) Text(w io.Writer) error {
	var parts []string
	for _, p := range []struct {
		keys []Text
		what string
	}{{u.Restored, "as before"}, {u.Removed, "removed"}, {u.Expired, "expired already"}} {
		if len(p.keys) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plural.Of(len(p.keys), "key"), p.what))
		}
	}
	if u.Lowered != "" {
		parts = append(parts, u.Lowered+", and what was counted since stays")
	}
	if u.Withdrawn != nil {
		parts = append(parts, plural.Of(int(*u.Withdrawn), "unit")+" taken off")
	}
	if len(parts) == 0 {
		parts = append(parts, "no key had changed")
	}
	what := plural.Of(int(u.Requests), "request") + " at"
	if u.Change != "" {
		what = u.Change
	}
	_, err := fmt.Fprintf(w, "%s: %s %s taken back, %s\n", u.ID, what, u.Key.clean(), strings.Join(parts, ", "))
	return err
}
