package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/limiter"
	"ratescope/model"
)

// Raised is the computed change of a limit that its library keeps in Redis.
type Raised struct {
	Commands [][]any       // change the keys; they run in this order, as one transaction
	Was, Is  limiter.Limit // the limit before and after the commands
}

// mostBucket is how many bytes of a bucket are read; see library.RaiseBucket4j.
const mostBucket = 4 << 10

// Stored returns the writer whose Fetch has the keys to read before a stored limit is changed. It writes no
// requests.
func Stored(at model.StoredLimit) *Writer {
	return &Writer{fetch: func(_ string, t *model.Target, _ limiter.Instant) []decode.Fetch {
		switch t.Library {
		case "redisson":
			return []decode.Fetch{{Key: at.Key, Type: "hash", Fields: []string{"rate", "interval", "type"}}, {Key: at.Left, Type: "string"}}
		case "bucket4j":
			return []decode.Fetch{{Key: at.Key, Type: "string", Bytes: mostBucket}}
		}
		return []decode.Fetch{{Key: at.Key, Type: "string"}}
	}}
}

// errNotStored is the error of a limit that is not where it was read.
var errNotStored = errors.New("its limit is not stored there any more: look at it with ratescope peek")

// RaiseStored computes how the limit of a target is raised by units, or lowered for negative units, from
// the contents of the keys of Stored. Expiries stay as they are.
//
// Redisson keeps the permits that are left. They are raised together with the rate, so that the
// change takes effect with the next request and not only when permits expire.
func RaiseStored(r *Request, units int64) (w Raised, err error) {
	t, held := r.Target, r.Held
	switch {
	case r.mismatch():
		return w, errHolds
	case !held[0].Exists():
		return w, errNotStored
	}
	switch key := held[0].Key; t.Library {
	case "redisson":
		rate, err := strconv.ParseInt(held[0].Fields["rate"], 10, 64)
		if err != nil {
			return w, errHolds
		}
		w.Was.Count = rate
		w.Commands = [][]any{{"hset", key, "rate", rate + units}}
		if held[1].Exists() {
			w.Commands = append(w.Commands, []any{"incrby", held[1].Key, units})
		}
	case "bucket4j":
		text, was, err := library.RaiseBucket4j(held[0].Text, units, r.At)
		if err != nil {
			return w, err
		}
		w.Was = was
		w.Commands = [][]any{{"set", key, text, "keepttl"}}
	default:
		n, err := count(&held[0])
		if err != nil {
			return w, err
		}
		if w.Was.Count = n; t.Algorithm == limiter.TokenBucket {
			w.Was.Count, w.Was.Burst = t.Limit.Count, n
		}
		w.Commands = [][]any{{"set", key, n + units, "keepttl"}}
	}
	w.Was.Window = cmp.Or(w.Was.Window, window(t))
	is := *t
	is.Limit = w.Was
	w.Is = is.Raised(units)
	return w, nil
}

// Check returns an error, in one sentence, if the new limit is out of range.
func (r *Raised) Check() error {
	for _, n := range []int64{r.Is.Count, r.Is.Burst} {
		if n < 0 || n > limiter.MaxCount || r.Is.Count == 0 {
			return fmt.Errorf("a limit of %d is out of range: its keys were changed since it was read", n)
		}
	}
	return nil
}
