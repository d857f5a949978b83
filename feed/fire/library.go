package fire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/model"
)

// Path returns how the requests of an order reach its limiter, in words.
func (i *Injector) Path(s model.Order) string {
	assumes := ""
	if w := foreign.For(&s.Target); w != nil {
		assumes = w.Assumes
	}
	return model.PathOf(s, assumes)
}

// exchange runs commands where the keys KEYS still hold what was read of them, all or none. ARGV
// holds the number of checks, each with what the command must answer, "+" and the text or "-" for
// none, then the number of commands; a command is its number of words and the words. It returns what
// the last command answers, or false where a key has changed since, and then nothing is written.
var exchange = redis.NewScript(`
local n = 0
local function word()
  n = n + 1
  return ARGV[n]
end
local function command()
  local words = {}
  for i = 1, tonumber(word()) do words[i] = word() end
  return words
end
for i = 1, tonumber(word()) do
  local want = word()
  local held = redis.call(unpack(command()))
  if (held and '+' .. held or '-') ~= want then return false end
end
local answer
for i = 1, tonumber(word()) do answer = redis.call(unpack(command())) end
return answer
`)

// mostExchanges is how often one request is worked out anew because another program wrote to the
// key between reading and writing. Nothing was written then.
const mostExchanges = 20

// errBusy is the error of a key that others write to all the time.
var errBusy = fmt.Errorf("others wrote to the key %d times between reading and writing it, so that nothing was written: fire at a lower rate", mostExchanges)

// writerOf returns what writes the requests of an order in the place of our own limiter's script:
// nil where that does. The error is one sentence without the key.
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

// write writes a request as another library does.
func (l *link) write(ctx context.Context, w *foreign.Writer, s model.Order) (limiter.Decision, error) {
	return l.work(ctx, w, s, w.Write)
}

// work reads what the keys hold, works out what is to be written, and writes it where they hold that still.
func (l *link) work(ctx context.Context, w *foreign.Writer, s model.Order, out func(*foreign.Request) (foreign.Written, error)) (limiter.Decision, error) {
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
		answer, err := l.run(ctx, exchange, keys, args...).Result()
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

// read fills in what the keys of a request hold and, where one server has them all, its clock.
func (l *link) read(ctx context.Context, client redis.UniversalClient, w *foreign.Writer, key string, r *foreign.Request) ([]decode.Fetch, error) {
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
		if again := w.Fetch(key, r.Target, r.At); !slices.EqualFunc(again, fetched, func(a, b decode.Fetch) bool { return a.Key == b.Key }) {
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

// exchanged returns the keys and arguments of exchange.
func exchanged(fetched []decode.Fetch, held []decode.Sample, written foreign.Written) (keys []string, args []any) {
	checks := 0
	check := func(exists bool, text string, command ...any) {
		want := "-"
		if exists {
			want = "+" + text
		}
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

// unsure marks the error of a write without an answer as one whose outcome is unknown.
func unsure(err error) error {
	var network *net.OpError
	switch {
	case replied(err), errors.As(err, &network) && network.Op == "dial",
		errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return err
	}
	return fmt.Errorf("%w: no answer came, so the request may or may not have been counted: %w", limiter.ErrUnknownOutcome, err)
}

// previewLibrary returns the commands that the first request of an order writes, from what the keys
// hold now. A scratch copy is sent what its original would be.
func (i *Injector) previewLibrary(ctx context.Context, w *foreign.Writer, s model.Order) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, i.link.timeout)
	defer cancel()
	r := &foreign.Request{Target: &s.Target, Cost: s.Cost, At: i.link.now()}
	if _, err := i.link.read(ctx, i.link.client(), w, s.Key, r); err != nil {
		return nil, err
	}
	at := aimed(s)
	for n, f := range w.Fetch(at.Key, &at.Target, r.At) {
		r.Held[n].Key = f.Key
	}
	r.Target = &at.Target
	request, err := w.Write(r)
	for _, c := range request.Commands {
		lines = append(lines, written(c))
	}
	return lines, err
}
