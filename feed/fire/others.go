package fire

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// asNewOf returns the instant, by the server's clock, at which a key will have drained completely
// and be like a new one. For GCRA and buckets it shows exactly how much is charged. It is 0 if
// unknown, and for algorithms that do not drain.
func asNewOf(ctx context.Context, from *link, key string, t model.Target) limiter.Instant {
	if !t.Algorithm.Bursts() || t.Described {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, from.timeout)
	defer cancel()
	if w := foreign.For(&t); w != nil {
		r := &foreign.Request{Target: &t, Cost: 1, At: from.now()}
		if _, err := from.read(ctx, from.client(), w, key, r); err != nil {
			return 0
		}
		would, err := w.Write(r) // only computed, not sent
		if err != nil {
			return 0
		}
		at := r.At.Add(would.Decision.ResetAfter)
		if would.Decision.Allowed {
			at = at.Add(-emission(t))
		}
		return at
	}
	l, err := from.limiter(t)
	if err != nil {
		return 0
	}
	d, err := l.Peek(ctx, key, t.Limit, 0)
	if err != nil {
		return 0
	}
	return d.At.Add(d.ResetAfter)
}

// emission returns the time in which one unit drains.
func emission(t model.Target) time.Duration {
	return max(t.Limit.Window, t.Window) / time.Duration(max(t.Limit.Count, 1))
}

// amongOthers returns a clause that says why other clients' requests may have been counted while
// an action fired, or "" if there were none. Restoring the contents from before the action would
// lose such requests. now is the present value of asNewOf, 0 if unknown.
//
// For logs and streams, the entries added meanwhile are compared with the charges of the action.
// For counters, the counts of the windows that have not expired are compared. If neither is
// known, the total before and after is. For algorithms that drain, the values of asNewOf must
// form a chain: each request of cost n moves the value by n emission intervals, from the
// instant of the request or from the previous value, whichever is later.
func amongOthers(key string, t model.Target, first, last entry, charged []charge, now limiter.Instant) string {
	units := int64(0)
	for n, c := range charged {
		if n > 0 && c.used > charged[n-1].used+c.cost {
			return "another program has written between its requests"
		}
		units += c.held(&t)
	}
	if t.Algorithm.Bursts() {
		return chain(t, first, charged, now)
	}
	aside := "" // suffix of the key that counts nothing; see amount
	if w := foreign.For(&t); w != nil {
		aside = w.Beside
	}
	switch all, ok := added(key, aside, t, last.After, charged); {
	case ok && all > units:
		return fmt.Sprintf("another program has written while it was fired (its keys were given %d, and %d of them by it)", all, units)
	case ok && all == units:
		return ""
	}
	same, told := asCounted(key, aside, t, heldBefore(first, last), last.After, charged, time.Now())
	before, known := amount(key, aside, heldBefore(first, last))
	after, also := amount(key, aside, last.After)
	switch more := after - before; {
	case told && same:
	case !known || !also:
		return "another program may have written while it was fired (how much its keys held is not known)"
	case told:
		return fmt.Sprintf("another program has written while it was fired (its keys held %d before it and %d after it, and it was charged %d)", before, after, units)
	case more == units:
	case more < units: // entries have left the window, so that others may have written unnoticed
		return fmt.Sprintf("another program may have written while it was fired (its keys held %d before it and %d after it, some of that expired, and it was charged %d)", before, after, units)
	default:
		return fmt.Sprintf("another program has written while it was fired (its keys held %d before it and %d after it, and it was charged %d)", before, after, units)
	}
	return ""
}

// chain returns a clause if the values of asNewOf around an action's requests do not follow from
// each other, and else "".
func chain(t model.Target, first entry, charged []charge, now limiter.Instant) string {
	const gap = "another program has written between its requests"
	if len(charged) == 0 {
		return ""
	}
	if t.Convention.Refill == limiter.RefillInterval {
		for n, c := range charged {
			if n > 0 && c.used != charged[n-1].used+c.cost {
				return gap
			}
		}
		return ""
	}
	if first.AsNew == 0 || now == 0 || charged[0].asNew == 0 {
		return "another program may have written while it was fired (when the key was as new is not in the audit file)"
	}
	at := limiter.Instant(first.AsNew)
	slack := emission(t) / 2 // for libraries that round
	for _, c := range charged {
		at = max(at, c.at).Add(time.Duration(c.cost) * emission(t))
		if d := c.asNew.Sub(at); d > slack || d < -slack {
			return gap
		}
		at = c.asNew
	}
	if d := now.Sub(at); d > slack {
		return "another program has written since its last request"
	}
	return ""
}

// amount returns how many members, entries, elements or counts keys held in all. It leaves out
// keys that count nothing: recorded denials, blocks, the ends of windows and keys with the suffix
// aside, in which another library keeps a time or a block. ok is false if a value was not saved.
func amount(key, aside string, keys []savedKey) (sum int64, ok bool) {
	for _, k := range keys {
		if k.Digest == "" && k.Unsaved == "" || countsNothing(k, key, aside) {
			continue
		}
		n, ok := k.number()
		if !ok {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// countsNothing reports whether a key of a limiter counts no requests; see amount.
func countsNothing(k savedKey, key, aside string) bool {
	name, err := strconv.Unquote(k.Key)
	beside := []string{layout.DeniedKey(key), layout.BlockedKey(key), layout.EndsKey(key)}
	return err == nil && (aside != "" && name != key && strings.HasSuffix(name, aside) || slices.Contains(beside, name))
}

// number returns how many members, entries, elements or counts a key held, 0 if it did not exist;
// ok is false if that was not saved.
func (s *savedKey) number() (n int64, ok bool) {
	if s.Unsaved != "" {
		return 0, false
	}
	if s.Digest == "" {
		return 0, true
	}
	if s.Count == nil {
		return 0, false
	}
	return *s.Count, true
}
