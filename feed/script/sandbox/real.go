package sandbox

import (
	"context"
	_ "embed" // of around.lua
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model/bench"
	"ratescope/model/collect"
)

// real is a server for tests. Its time is the caller's: the script sees a TIME that was told, and keys are
// kept without an expiry while time stands still, which is every moment but those of the script itself.
type real struct {
	client redis.UniversalClient
	text   string
	now    limiter.Instant
	ends   map[string]limiter.Instant // keys that are to expire
}

// errStrange is why a server is refused.
var errStrange = errors.New("it holds keys, and a check deletes all that is there: name an empty database of a server for tests, " +
	"as in redis://localhost:6379/9")

// NewOn returns a script on a server for tests, which must hold no keys in the database of the client; named
// says that the user named that database, else all of them have to be empty. Everything that the script
// writes is deleted.
func NewOn(ctx context.Context, client redis.UniversalClient, named bool, s Script) (*Sandbox, error) {
	n, err := client.DBSize(ctx).Result()
	if err != nil {
		return nil, err
	}
	if !named {
		all, err := client.Info(ctx, "keyspace").Result()
		if err != nil {
			return nil, err
		}
		if strings.Contains(all, "keys=") {
			n++
		}
	}
	if n > 0 {
		return nil, errStrange
	}
	text := strings.NewReplacer("--[[script]]", withoutShebang(s.Text), "--[[one function]]", oneFunction).Replace(around)
	if _, err := client.ScriptLoad(ctx, text).Result(); err != nil {
		return nil, fmt.Errorf("the server does not take the script: %w", err)
	}
	r := &real{client: client, text: text, ends: map[string]limiter.Instant{}}
	return &Sandbox{script: s, engine: r, undeclared: map[string]bool{}}, nil
}

// around is what stands around a script on a server.
//
//go:embed around.lua
var around string

// oneFunction is the error of a library of several functions.
const oneFunction = "the library registers several functions: check a file with one of them"

// withoutShebang empties the first line of a library of functions.
func withoutShebang(text string) string {
	if strings.HasPrefix(text, "#!") {
		_, rest, _ := strings.Cut(text, "\n")
		return "\n" + rest
	}
	return text
}

// answerIn is how long the server may take for one call.
const answerIn = 10 * time.Second

func (r *real) setClock(at limiter.Instant) error {
	r.now = at
	for k, end := range r.ends {
		if at >= end {
			delete(r.ends, k)
			if _, err := r.do("DEL", k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *real) run(keys, args []string) (any, []Command, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerIn)
	defer cancel()
	argv := []any{int64(r.now) / 1e6, int64(r.now) % 1e6, len(r.ends), len(keys)}
	for k, end := range r.ends { // set within the script, in which no key expires
		argv = append(argv, k, max(int64(end.Sub(r.now)/time.Millisecond), 1))
	}
	for _, a := range slices.Concat(keys, args) {
		argv = append(argv, a)
	}
	begun := time.Now()
	reply, err := redis.NewScript(r.text).EvalSha(ctx, r.client, keys, argv...).Slice()
	if ctx.Err() != nil {
		_ = r.client.ScriptKill(context.Background()).Err()
		return nil, nil, fmt.Errorf("%w: the script was stopped after %s", bench.ErrEndless, answerIn)
	}
	if err != nil || len(reply) != 4 {
		return nil, nil, fmt.Errorf("%w: the server answers %w", bench.ErrMeans, err)
	}
	ran := commands(reply[1])
	r.expiries(reply[0], ran, time.Since(begun))
	if text, failed := reply[2].(string); failed {
		return nil, ran, errors.New(text)
	}
	if list, _ := reply[3].([]any); len(list) > 0 {
		return list[0], ran, nil
	}
	return nil, ran, nil
}

// expiries keeps when keys are to expire. PTTL is asked some time after the script set an expiry, at most the time that the
// call took, long where the server stood still, and tells so much less: the commands that set it say it exactly.
func (r *real) expiries(lives any, ran []Command, took time.Duration) {
	said := r.ends
	for _, c := range ran {
		if key, end, ok := r.expiry(c.Args); ok {
			said[key] = end
		}
	}
	r.ends = map[string]limiter.Instant{}
	list, _ := lives.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		name := fmt.Sprint(list[i])
		left, _ := list[i+1].(int64)
		if left < 0 {
			continue
		}
		end := r.now.Add(time.Duration(left) * time.Millisecond)
		if exact, ok := said[name]; ok && exact.Sub(end) <= took+time.Second {
			end = exact
		}
		r.ends[name] = end
	}
}

func (r *real) expiry(args []string) (key string, end limiter.Instant, ok bool) {
	onlyNew := func(word string) bool { return strings.EqualFold(word, "NX") }
	if len(args) < 3 || r.ends[args[1]] > 0 && slices.ContainsFunc(args[3:], onlyNew) {
		return "", 0, false
	}
	units := map[string]time.Duration{"EXPIRE": time.Second, "SETEX": time.Second, "EX": time.Second,
		"PEXPIRE": time.Millisecond, "PSETEX": time.Millisecond, "PX": time.Millisecond}
	verb, text := strings.ToUpper(args[0]), args[2]
	if verb == "SET" {
		for i := 3; i+1 < len(args); i++ {
			if word := strings.ToUpper(args[i]); word == "EX" || word == "PX" {
				verb, text = word, args[i+1]
			}
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch unit := units[verb]; {
	case err != nil:
		return "", 0, false
	case unit > 0 && n < int64(limiter.MaxWindow/unit):
		return args[1], r.now.Add(time.Duration(n) * unit), true
	case verb == "EXPIREAT":
		return args[1], limiter.Instant(n * 1_000_000), true
	case verb == "PEXPIREAT":
		return args[1], limiter.Instant(n * 1000), true
	}
	return "", 0, false
}

func commands(ran any) (all []Command) {
	list, _ := ran.([]any)
	for _, one := range list {
		words, _ := one.([]any)
		if len(words) > 0 {
			all = append(all, Command{Args: collect.Map(words, func(w any) string { return fmt.Sprint(w) })})
		}
	}
	return all
}

func (r *real) do(args ...string) (any, error) {
	list := collect.Map(args, func(a string) any { return a })
	switch {
	case args[0] == "FLUSHDB":
		clear(r.ends)
	case args[0] == "PTTL": // of a key whose expiry is kept here
		if end, ok := r.ends[args[1]]; ok {
			return int64(end.Sub(r.now) / time.Millisecond), nil
		}
	case args[0] == "PERSIST":
		delete(r.ends, args[1])
	}
	reply, err := r.client.Do(context.Background(), list...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("%w: %w", bench.ErrMeans, err)
	}
	if m, ok := reply.(map[any]any); ok { // RESP 3
		var flat []any
		for k, v := range m {
			flat = append(flat, k, v)
		}
		slices.SortFunc(flat, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return flat, nil
	}
	return reply, nil
}

func (r *real) close() error {
	_, err := r.do("FLUSHDB")
	return errors.Join(err, r.client.Close())
}

// Price is what a request costs the server.
type Price struct {
	Micros   float64 // of the server's time; 0 of a library of functions, which EVAL does not take as it is
	Multiple float64 // of what the script "return 1" takes
	Bytes    []int64 // of all keys after 1, 10, 100 requests
}

// Price measures what a request costs: it sends some thousands in real time, spread over subjects.
func (s *Sandbox) Price(at limiter.Instant) (p Price, err error) {
	r, ok := s.engine.(*real)
	if !ok {
		return p, errors.New("only a real server tells what a script costs: name one with --redis")
	}
	ctx, n := context.Background(), 2000
	if err := s.Reset(); err != nil {
		return p, err
	}
	for i := range 100 {
		if a := s.Admit(at.Add(time.Duration(i)*time.Millisecond), 1); a.Err != nil && !a.Own {
			return p, a.Err
		}
		if i == 0 || i == 9 || i == 99 {
			sum := int64(0)
			for _, k := range s.names() {
				bytes, err := r.client.MemoryUsage(ctx, k).Result()
				if err != nil {
					return p, err
				}
				sum += bytes
			}
			p.Bytes = append(p.Bytes, sum)
		}
	}
	measure := func(text string, keys []string, args []any) (float64, error) {
		script := redis.NewScript(text)
		if err := script.Load(ctx, r.client).Err(); err != nil {
			return 0, err
		}
		before, err := evalMicros(ctx, r.client)
		if err != nil {
			return 0, err
		}
		for range n {
			err := script.EvalSha(ctx, r.client, keys, args...).Err()
			if reply := redis.Error(nil); err != nil && !errors.As(err, &reply) { // an error may be its denial
				return 0, err
			}
		}
		after, err := evalMicros(ctx, r.client)
		return (after - before) / float64(n), err
	}
	keys, args := s.call(at, 1)
	list := collect.Map(args, func(a string) any { return a })
	if strings.HasPrefix(s.script.Text, "#!") {
		return p, s.Reset()
	}
	nothing, err := measure("return 1", nil, nil)
	if err == nil {
		p.Micros, err = measure(s.script.Text, keys, list)
	}
	if nothing > 0 {
		p.Multiple = p.Micros / nothing
	}
	return p, errors.Join(err, s.Reset())
}

// evalMicros is how long the server took for scripts so far.
func evalMicros(ctx context.Context, client redis.UniversalClient) (float64, error) {
	info, err := client.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(info, "cmdstat_evalsha:")
	_, rest, _ = strings.Cut(rest, "usec=")
	text, _, _ := strings.Cut(rest, ",")
	if !found {
		return 0, nil
	}
	return strconv.ParseFloat(text, 64)
}
