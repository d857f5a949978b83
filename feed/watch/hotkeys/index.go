package hotkeys

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Index reads the hot keys that one server reports with HOTKEYS. The zero value is ready; it is
// used by one goroutine.
type Index struct {
	kind   Kind
	known  bool      // kind is known
	next   time.Time // no request before this time
	denied error     // the server's refusal, or errReport
	off    bool      // Valkey: hotkey-top-k is 0
}

// askKindAgain is how long a server counts as one without HOTKEYS, before it is asked again: it
// may have been upgraded.
const askKindAgain = 5 * time.Minute

// Read asks for the report. ok is false when there is none: the server has no HOTKEYS, does not
// profile, or refuses. It fails when the server is away.
func (i *Index) Read(ctx context.Context, node redis.Cmdable, db int, now time.Time) (r Report, ok bool, err error) {
	if now.Before(i.next) {
		return Report{}, false, nil
	}
	doer, can := node.(interface {
		Do(ctx context.Context, args ...any) *redis.Cmd
	})
	if !can {
		return Report{}, false, nil
	}
	if !i.known {
		reply, err := doer.Do(ctx, "command", "info", "hotkeys").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return Report{}, false, i.refused(err, now)
		}
		i.kind, i.known = kindOf(reply), true
	}
	if i.kind == NoHotkeys {
		i.known, i.next = false, now.Add(askKindAgain)
		return Report{}, false, nil
	}
	reply, err := doer.Do(ctx, "hotkeys", "get").Result()
	if errors.Is(err, redis.Nil) { // Redis, while no recording has begun
		i.denied = nil
		return Report{Kind: i.kind}, false, nil
	}
	if err != nil {
		i.off = strings.Contains(err.Error(), "disabled")
		return Report{}, false, i.refused(err, now)
	}
	i.denied, i.off = nil, false
	r, err = i.kind.decode(reply, db)
	if err != nil {
		i.denied, i.next = err, now.Add(askKindAgain)
		return Report{}, false, nil
	}
	return r, r.Over > 0 || r.Kind == ValkeyHotkeys, nil
}

// refused notes an error reply, after which HOTKEYS is not sent for refusedFor, and returns
// nil. It returns any other error.
func (i *Index) refused(err error, now time.Time) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	i.denied = err
	i.next = now.Add(refusedFor)
	return nil
}

// Kind returns the kind of HOTKEYS that the server has; NoHotkeys before it was asked.
func (i *Index) Kind() Kind { return i.kind }

// Lack returns a phrase for model.HotKeys.Sources that says why there is no report although the
// server has the command; "" when there is no such reason.
func (i *Index) Lack() string {
	switch {
	case i.off:
		return "HOTKEYS of Valkey is off there (hotkey-top-k 0)"
	case i.denied != nil && strings.HasPrefix(i.denied.Error(), "NOPERM"):
		return "HOTKEYS may not be asked by this user: allow it with ACL SETUSER … +hotkeys|get +command|info"
	case errors.Is(i.denied, errReport):
		return i.denied.Error()
	}
	return ""
}
