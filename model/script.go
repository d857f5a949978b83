package model

import "ratescope/limiter"

// Script is the script of the user's own program, or one that writes a request as its rule says where that is
// certain, by which requests are fired at a limiter that a rule describes. In the audit file it has only
// its exported names: one that was read back runs nothing. It is safe for concurrent use.
type Script struct {
	File   string `json:"file"`
	Digest string `json:"sha1"`
	Plain  string `json:"plain,omitempty"` // what it writes to a key that is there, where it is not the program's own
	Text   string `json:"-"`
	// Expand returns the keys and the arguments of one request at the limiter of a name, at an instant of the
	// server's clock; id differs from request to request. It fails where the name is none of the rule's.
	Expand func(name string, l limiter.Limit, at limiter.Instant, cost int64, id string) (keys, args []string, err error) `json:"-"`
	// Admits judges a reply; it fails if the rule does not speak of such a reply.
	Admits func(reply any) (bool, error) `json:"-"`
}
