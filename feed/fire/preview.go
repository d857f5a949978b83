package fire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// Preview returns the commands of an order's first request, or of a change, without sending them.
// For a limiter of another library it reads the keys, because the commands depend on their
// contents; it returns no commands if the request would be denied and write nothing.
func (i *Injector) Preview(ctx context.Context, s model.Order) ([]string, error) {
	s.Target.Limit.Window = max(s.Target.Limit.Window, s.Target.Window)
	if s.Change.Kind != model.NoChange {
		return i.previewChange(ctx, s)
	}
	if own, err := i.link.ownScriptOf(s); err != nil {
		return nil, err
	} else if own != nil {
		return own.preview(ctx)
	}
	p := &preview{}
	switch w, err := writerOf(s); {
	case err != nil:
		return nil, err
	case w != nil:
		if p.commands, err = i.previewLibrary(ctx, w, s); err != nil {
			return nil, err
		}
	default:
		l, err := i.link.storeOn(p, s.Target)
		if err != nil {
			return nil, err
		}
		if _, err := l.AllowN(ctx, aimed(s).Key, s.Target.Limit, s.Cost); err != nil && !errors.Is(err, errPreview) && len(p.commands) == 0 {
			return nil, err
		}
	}
	if !s.Scratch {
		return p.commands, nil
	}
	var lines []string
	for _, words := range scratchWords(s, aimed(s), i.link.now()) {
		lines = append(lines, written(words))
	}
	return append(lines, p.commands...), nil
}

// errPreview is the error of every command of a preview.
var errPreview = errors.New("it is not sent")

// preview is a client that collects commands instead of sending them.
type preview struct{ commands []string }

var _ redisstore.Client = (*preview)(nil)

// Process implements redisstore.Client.
func (p *preview) Process(_ context.Context, cmd redis.Cmder) error {
	p.commands = append(p.commands, written(cmd.Args()))
	cmd.SetErr(errPreview)
	return errPreview
}

// written formats a command as one line of redis-cli.
func written(args []any) string {
	var b strings.Builder
	for n, arg := range args {
		text := fmt.Sprint(arg)
		if raw, ok := arg.([]byte); ok {
			text = string(raw)
		}
		if n > 0 {
			b.WriteByte(' ')
		} else {
			text = strings.ToUpper(text)
		}
		if quoted := strconv.Quote(text); len(quoted) != len(text)+2 || text == "" || strings.ContainsAny(text, " '") {
			text = quoted
		}
		b.WriteString(text)
	}
	return b.String()
}

// Keys returns the Redis keys to which an order may write from now on.
func (i *Injector) Keys(s model.Order, now limiter.Instant) []string { return keysOf(s, now) }

// keysOf returns the Redis keys to which an order, of requests or of a change, may write from now
// on.
func keysOf(s model.Order, now limiter.Instant) []string {
	if s.Change.Kind != model.NoChange {
		return changed(s, now)
	}
	s = aimed(s)
	return touched(s.Key, s.Target, now)
}
