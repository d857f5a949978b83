package fire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// Phrases of the paths in tickets.
const (
	ownConnection = "over a connection of its own"
	scratchCopy   = "a scratch copy, which expires by itself; no user's request meets it"
)

// Path describes in words how the requests of an order reach its limiter.
func (i *Injector) Path(s model.Order) string {
	t := &s.Target
	if _, raises := t.RaiseOf(s.Key, s.Change); raises {
		return "the limit itself, where " + t.Library + " keeps it in Redis, " + ownConnection
	}
	text := "the limiter's own script, called by its hash"
	switch {
	case t.Script != nil && t.Script.Plain != "":
		text = "written as its rule says, " + t.Script.Plain
	case t.Script != nil:
		text = "the program's own script, " + t.Script.File
	case t.Foreign():
		text = "written as " + t.Library + " itself writes a request"
	}
	if w := foreign.For(t); w != nil && w.Assumes != "" { // what the keys of its library do not show
		text += ", if it was made " + w.Assumes
	}
	switch {
	case s.Change.Kind != model.NoChange && s.Change.Kind != model.Give:
		return ownConnection[len("over "):]
	case s.Scratch && t.Foreign():
		return text + ", to " + scratchCopy + ", " + ownConnection
	case s.Scratch:
		return text + " on " + scratchCopy + ", " + ownConnection
	}
	return text + ", " + ownConnection
}

// mostExchanges is how often one request is attempted. An attempt writes nothing if another
// program has written to the key between reading and writing.
const mostExchanges = 20

// errBusy is the error of a key to which other programs write all the time.
var errBusy = fmt.Errorf("others wrote to the key %d times between reading and writing it, so that nothing was written: fire at a "+
	"lower rate", mostExchanges)

// writerOf returns the writer for the requests of an order at another library's limiter; nil for
// a limiter of ratescope's own library, whose script writes them. The error is one sentence
// without the key.
func writerOf(s model.Order) (*foreign.Writer, error) {
	w := foreign.For(&s.Target)
	switch {
	case w != nil:
		return w, w.Check(&s.Target, s.Cost)
	case s.Target.Library != "" && s.Target.Library != model.OwnLibrary:
		return nil, fmt.Errorf("what %s writes is not known exactly: fire at its application with --url", s.Target.Library)
	}
	return nil, nil
}

// work reads the keys, calls out to compute the commands, and runs them if the keys have not
// changed meanwhile.
func (l *link) work(ctx context.Context, by sender, w *foreign.Writer, s model.Order, out func(*foreign.Request) (foreign.Written,
	error)) (limiter.Decision, error) {
	client := l.client()
	for range mostExchanges {
		r := &foreign.Request{Target: &s.Target, Cost: s.Cost, At: l.now()}
		fetched, err := l.read(ctx, client, w, s.Key, r)
		if err != nil {
			return limiter.Decision{}, err
		}
		written, err := out(r)
		if err != nil || len(written.Commands) == 0 {
			return written.Decision, err
		}
		keys, args := exchanged(fetched, r.Held, written)
		answer, err := by.run(ctx, exchange, keys, args...).Result()
		switch n, counts := answer.(int64); {
		case errors.Is(err, redis.Nil): // a key has changed
		case err != nil:
			return limiter.Decision{}, unsure(err)
		case counts && written.Counted != nil:
			return written.Counted(n), nil
		default:
			return written.Decision, nil
		}
	}
	return limiter.Decision{}, errBusy
}

// read fills in the contents of a request's keys and, unless the server is a cluster, its clock.
func (l *link) read(ctx context.Context, client redis.UniversalClient, w *foreign.Writer, key string,
	r *foreign.Request) ([]decode.Fetch, error) {
	_, single := client.(*redis.Client)
	fetched := w.Fetch(key, r.Target, r.At)
	var clock *redis.TimeCmd
	asked := make([]*decode.Pending, len(fetched))
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		if single {
			clock = p.Time(ctx)
		}
		for n, f := range fetched {
			asked[n] = decode.Ask(ctx, p, f)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) && !replied(err) {
		return nil, fmt.Errorf("nothing was written, its key cannot be read: %w", err)
	}
	if single {
		r.At = limiter.InstantOf(clock.Val())
		same := func(a, b decode.Fetch) bool { return a.Key == b.Key }
		if again := w.Fetch(key, r.Target, r.At); !slices.EqualFunc(again, fetched, same) {
			return nil, errors.New("nothing was written: the window ended meanwhile")
		}
	}
	r.Held = make([]decode.Sample, len(asked))
	for n, a := range asked {
		if r.Held[n], err = a.Sample(); err != nil {
			return nil, err
		}
	}
	return fetched, nil
}

func exchanged(fetched []decode.Fetch, held []decode.Sample, written foreign.Written) (keys []string, args []any) {
	checks := 0
	check := func(exists bool, text string, command ...any) {
		want := collect.If(exists, "+"+text, "-")
		checks++
		args = append(append(args, want, len(command)), command...)
	}
	for n, f := range fetched {
		s := &held[n]
		keys = append(keys, f.Key)
		switch {
		case written.Counted != nil:
			check(true, "1", "exists", f.Key)
		case f.Type == "list":
			check(true, fmt.Sprint(s.Length), "llen", f.Key)
			for at, e := range s.First {
				if at == 0 || at == len(s.First)-1 {
					check(true, e.Member, "lindex", f.Key, at)
				}
			}
		case f.Type == "hash":
			for _, field := range f.Fields {
				text, ok := s.Fields[field]
				check(ok, text, "hget", f.Key, field)
			}
		default:
			check(s.Exists(), s.Text, "get", f.Key)
		}
	}
	args = append([]any{checks}, args...)
	args = append(args, len(written.Commands))
	for _, c := range written.Commands {
		args = append(append(args, len(c)), c...)
	}
	return keys, args
}

// unsure wraps the error of a write in limiter.ErrUnknownOutcome, unless the write was refused or
// never sent.
func unsure(err error) error {
	var network *net.OpError
	switch {
	case replied(err), errors.As(err, &network) && network.Op == "dial",
		errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return err
	}
	return fmt.Errorf("%w: no answer came, so the request may or may not have been counted: %w", limiter.ErrUnknownOutcome, err)
}

// previewLibrary returns the commands of the first request of an order, computed from the
// present contents of the keys. Those for a scratch copy are computed from the original.
func (l *link) previewLibrary(ctx context.Context, w *foreign.Writer, s model.Order) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	r := &foreign.Request{Target: &s.Target, Cost: s.Cost, At: l.now()}
	if _, err := l.read(ctx, l.client(), w, s.Key, r); err != nil {
		return nil, err
	}
	at := aimed(s)
	for n, f := range w.Fetch(at.Key, &at.Target, r.At) {
		r.Held[n].Key = f.Key
	}
	r.Target = &at.Target
	request, err := w.Write(r)
	return collect.Map(request.Commands, written), err
}

// aimed returns an order as it is sent: with Scratch, to the copy of its key.
func aimed(s model.Order) model.Order {
	if !s.Scratch {
		return s
	}
	s.Key, s.Scratch = layout.ScratchKey(s.Key), false
	if s.Target.Base != "" {
		s.Target.Base = layout.ScratchKey(s.Target.Base)
	}
	return s
}

// scratchWords returns the commands that copy the keys of the order of to those of s. The copy
// expires after two windows, unless a request sets the expiry anew.
func scratchWords(of, s model.Order, now limiter.Instant) (list [][]any) {
	lasts := max(2*s.Target.Limit.Window, time.Second).Milliseconds()
	w := foreign.For(&s.Target)
	to := kept(w, s.Key, s.Target, now)
	for n, from := range kept(w, of.Key, of.Target, now) {
		expire := []any{"pexpire", to[n], lasts}
		if w != nil { // the copied expiry is the end of the window
			expire = append(expire, "nx")
		}
		list = append(list, []any{"copy", from, to[n], "replace"}, expire)
	}
	return list
}

// kept returns the Redis keys that hold a limiter's state at now; w is nil for one of ratescope's own library.
func kept(w *foreign.Writer, key string, t model.Target, now limiter.Instant) (keys []string) {
	if w == nil {
		return t.Keys(key, now)
	}
	return collect.Map(w.Fetch(key, &t, now), func(f decode.Fetch) string { return f.Key })
}

// copyScratch copies the keys of the order of to those of s.
func (l *link) copyScratch(ctx context.Context, of, s model.Order, now limiter.Instant) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	_, err := l.client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, words := range scratchWords(of, s, now) {
			p.Do(ctx, words...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("nothing is fired: %s cannot be copied: %s", safetext.Clean(of.Key), connect.Explain(err, l.endpoint.Shown))
	}
	return nil
}

// Preview returns the commands of an order's first request, or of a change, without sending them.
// For a limiter of another library it reads the keys, because the commands depend on their
// contents; it returns no commands if the request would be denied and write nothing.
func (i *Injector) Preview(ctx context.Context, s model.Order) ([]string, error) {
	s.Target.Limit.Window = max(s.Target.Limit.Window, s.Target.Window)
	if s.Change.Kind != model.NoChange {
		return i.link.previewChange(ctx, s)
	}
	if own, err := i.link.ownScriptOf(s); err != nil {
		return nil, err
	} else if own != nil {
		return own.preview(ctx)
	}
	var commands []string
	w, err := writerOf(s)
	switch {
	case err != nil:
	case w != nil:
		commands, err = i.link.previewLibrary(ctx, w, s)
	default:
		commands, err = i.link.previewOwn(s, func(l *redisstore.Store) (limiter.Decision, error) {
			return l.AllowN(ctx, aimed(s).Key, s.Target.Limit, s.Cost)
		})
	}
	if err != nil || !s.Scratch {
		return commands, err
	}
	return append(collect.Map(scratchWords(s, aimed(s), i.link.now()), written), commands...), nil
}

// previewOwn returns the commands of a call of ratescope's own limiter.
func (l *link) previewOwn(s model.Order, call func(*redisstore.Store) (limiter.Decision, error)) ([]string, error) {
	p := &preview{}
	store, err := l.storeOn(p, s.Target)
	if err == nil {
		_, err = call(store)
	}
	if len(p.commands) > 0 || errors.Is(err, errPreview) {
		err = nil
	}
	return p.commands, err
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

// Keys returns the Redis keys to which an order, of requests or of a change, may write from now on.
func (i *Injector) Keys(s model.Order, now limiter.Instant) []string {
	if s.Change.Kind != model.NoChange {
		return changed(s, now)
	}
	s = aimed(s)
	return touched(s.Key, s.Target, now)
}
