package fire

import (
	"bytes"
	"encoding/json"
	"time"

	"ratescope/limiter"
)

// KeyChange is an action in an audit file that fired no request: a key was changed, or an earlier
// action was taken back.
type KeyChange struct {
	At   limiter.Instant // by the clock of the machine that wrote the line
	Key  string
	Text string // a clause about the key
}

// KeyChanges returns the changes in the lines of an audit file, in their order. Lines that do not
// parse are skipped.
func KeyChanges(lines []byte) []KeyChange {
	var list []KeyChange
	for line := range bytes.Lines(lines) {
		var e entry
		if json.Unmarshal(line, &e) != nil || e.Request != "" || e.Error != "" {
			continue
		}
		at, err := time.Parse(stamp, e.At)
		if err != nil {
			continue
		}
		d := KeyChange{At: limiter.InstantOf(at), Key: e.name()}
		switch {
		case e.Outcome == begun && e.Change != "":
			d.Text = "was changed from here: " + e.Change
		case e.Outcome == undone:
			d.Text = "has back what it held before an action from here"
		default:
			continue
		}
		list = append(list, d)
	}
	return list
}
