// Package sandbox runs a limiter script of the user at instants of the caller's choosing, on an empty
// embedded Redis, or on a real one where expiries and TIME are made to follow the caller's clock. It is
// what a bench asks: see model/bench.
package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratescope/feed/script"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/bench"
	"ratescope/model/collect"
	"ratescope/model/lab"
)

// Script is a limiter script and how it is called.
type Script struct {
	Text  string
	Call  script.Call
	Limit limiter.Limit // what the script is told
}

// Command is one command that the script ran, and what the server answered.
type Command struct {
	Line   int // of the script's text, from 1; 0 where it is not known
	Args   []string
	Answer string
}

// engine is where the script runs, and whose keys are looked at. Its clock stands where it was set.
type engine interface {
	setClock(at limiter.Instant) error
	run(keys, args []string) (reply any, ran []Command, err error)
	do(args ...string) (any, error)
	close() error
}

// Sandbox is a bench.Store made of a script. It is for one goroutine.
type Sandbox struct {
	script Script
	engine engine

	id            int // of the last request since Reset
	client, clock time.Duration
	persist       bool
	ran           []Command
	undeclared    map[string]bool // whether each is in the slot of a key that is declared
}

// New returns a script on an embedded Redis of its own.
func New(s Script) (*Sandbox, error) {
	e, err := newEmbedded(s.Text)
	if err != nil {
		return nil, err
	}
	return &Sandbox{script: s, engine: e, undeclared: map[string]bool{}}, nil
}

// Told makes the script be told another limit from the next request on.
func (s *Sandbox) Told(l limiter.Limit) { s.script.Limit = l }

// Close ends the embedded server, or the connection.
func (s *Sandbox) Close() error { return s.engine.close() }

// Reset implements bench.Subject.
func (s *Sandbox) Reset() error {
	s.id, s.client, s.clock = 0, 0, 0
	clear(s.undeclared)
	_, err := s.engine.do("FLUSHDB")
	return err
}

// Admit implements bench.Subject.
func (s *Sandbox) Admit(at limiter.Instant, cost int64) bench.Answer {
	keys, args := s.call(at, cost)
	if err := s.engine.setClock(at.Add(s.clock)); err != nil {
		return bench.Answer{Err: err}
	}
	reply, ran, err := s.engine.run(keys, args)
	s.ran = ran
	s.note(keys)
	if err != nil {
		if _, unlike := s.script.Call.Admitted.Admits(err); unlike == nil && s.returned(err) {
			return bench.Answer{}
		}
		return bench.Answer{Err: err, Own: s.own(err)}
	}
	admitted, err := s.script.Call.Admitted.Admits(reply)
	if err != nil {
		return bench.Answer{Err: fmt.Errorf("%w: %w", bench.ErrMeans, err)}
	}
	if s.persist { // a script may look whether a key has an expiry
		for _, k := range s.names() {
			if left, _ := s.engine.do("PTTL", k); left == int64(-1) {
				continue
			}
			if _, err = s.engine.do("PEXPIRE", k, "3000000000000"); err != nil {
				break
			}
		}
	}
	return bench.Answer{Admitted: admitted, Err: err}
}

// raised stands before the text of an error that was raised, and not returned.
var raised = collect.Regexp(`^(ERR )?\S*script:\d+: `)

// returned reports whether the script returned an error that no command gave it.
func (s *Sandbox) returned(err error) bool {
	return !raised().MatchString(err.Error()) && !slices.ContainsFunc(s.ran, func(c Command) bool { return c.Answer == err.Error() })
}

// own reports whether an error begins as a text in quotes does in the script.
func (s *Sandbox) own(err error) bool {
	const told = 8 // letters that no other error begins with
	text := raised().ReplaceAllString(err.Error(), "")
	text = strings.TrimPrefix(text, "ERR ")
	text = text[:min(len(text), told)]
	for _, quote := range []string{`"`, "'", `"ERR `, "'ERR ", `"-`, "'-"} {
		if text != "" && strings.Contains(s.script.Text, quote+text) {
			return true
		}
	}
	return false
}

func (s *Sandbox) call(at limiter.Instant, cost int64) (keys, args []string) {
	s.id++
	return s.script.Call.Expand(script.Values{Who: who, Limit: s.script.Limit, Now: at.Add(s.client), Cost: cost, ID: strconv.Itoa(s.id)})
}

// who is the subject that is limited.
const who = "alice"

// Ran returns what the last request ran.
func (s *Sandbox) Ran() []Command { return s.ran }

// Commands returns how many commands the last request ran; it implements bench.Store.
func (s *Sandbox) Commands() int { return len(s.ran) }

// Traffic returns the words of the last request's commands, to compare what two requests did.
func (s *Sandbox) Traffic() string {
	text := ""
	for _, c := range s.ran {
		text += fmt.Sprintln(c.Args)
	}
	return text
}

// Drift implements bench.Store.
func (s *Sandbox) Drift(client, clock time.Duration) { s.client, s.clock = client, clock }

// Persist implements bench.Store.
func (s *Sandbox) Persist(on bool) { s.persist = on }

// Undeclared implements bench.Store.
func (s *Sandbox) Undeclared() (keys []string, near bool) {
	return slices.Sorted(maps.Keys(s.undeclared)), !slices.Contains(slices.Collect(maps.Values(s.undeclared)), false)
}

// note keeps the keys that commands touched and KEYS does not hold.
func (s *Sandbox) note(keys []string) {
	for _, c := range s.ran {
		for _, k := range keysOf(c.Args) {
			if !slices.Contains(keys, k) {
				s.undeclared[k] = slices.ContainsFunc(keys, func(own string) bool {
					return strings.Contains(k, "{") && model.HashSlot(own) == model.HashSlot(k)
				})
			}
		}
	}
}

func (s *Sandbox) names() []string {
	reply, err := s.engine.do("KEYS", "*")
	list, _ := reply.([]any)
	if err != nil {
		return nil
	}
	names := collect.Map(list, func(k any) string { return fmt.Sprint(k) })
	slices.Sort(names)
	return names
}

// sizes are the commands that tell how many elements a key has, and what they are.
var sizes = map[string][2][]string{
	"string": {{"STRLEN"}, {"GET"}},
	"hash":   {{"HLEN"}, {"HGETALL"}},
	"list":   {{"LLEN"}, {"LRANGE", "0", "-1"}},
	"set":    {{"SCARD"}, {"SMEMBERS"}},
	"zset":   {{"ZCARD"}, {"ZRANGE", "0", "-1", "WITHSCORES"}},
	"stream": {{"XLEN"}, {"XRANGE", "-", "+"}},
}

// Keys implements bench.Store.
func (s *Sandbox) Keys() (all []bench.Key, err error) {
	do := func(args ...string) (reply any) { // nothing after an error
		if err == nil {
			reply, err = s.engine.do(args...)
		}
		return reply
	}
	for _, name := range s.names() {
		k := bench.Key{Name: name, Type: fmt.Sprint(do("TYPE", name)), Expires: -1}
		ask, known := sizes[k.Type]
		if !known {
			continue
		}
		k.Size, _ = do(ask[0][0], name).(int64)
		k.Value = do(append([]string{ask[1][0], name}, ask[1][1:]...)...)
		if ms, _ := do("PTTL", name).(int64); ms >= 0 {
			k.Expires = time.Duration(ms) * time.Millisecond
		}
		all = append(all, k)
	}
	return all, err
}

// mostStaged is how many scripts a stage keeps ready.
const mostStaged = 16

// Stage is a lab.Redis: it runs scripts that it is given, each on an embedded Redis. The zero Stage is ready. It is safe
// for concurrent use.
type Stage struct {
	mu    sync.Mutex
	ready map[string]*embedded // by text
}

// Run implements lab.Redis.
func (s *Stage) Run(at limiter.Instant, held [][]string, script []string) ([]lab.Command, error) {
	const fixed = 3 // EVAL, the text, and how many keys there are
	if len(script) < fixed {
		return nil, errors.New("there is no script")
	}
	keys, err := strconv.Atoi(script[2])
	if err != nil || fixed+keys > len(script) {
		return nil, errors.New("there are fewer keys than the script has")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.ready[script[1]]
	if !ok {
		if e, err = newEmbedded(script[1]); err != nil {
			return nil, err
		}
		if len(s.ready) >= mostStaged {
			s.drop()
		}
		collect.Put(&s.ready, script[1], e)
	}
	if err := e.setClock(at); err != nil {
		return nil, err
	}
	for _, words := range append([][]string{{"FLUSHDB"}}, held...) {
		if _, err := e.do(words...); err != nil {
			return nil, err
		}
	}
	_, ran, err := e.run(script[fixed:fixed+keys], script[fixed+keys:])
	return Commands(ran), err
}

// Close ends the servers.
func (s *Stage) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

func (s *Stage) drop() {
	for _, e := range s.ready {
		_ = e.close()
	}
	clear(s.ready)
}

// Commands returns commands as the lab lists them.
func Commands(ran []Command) []lab.Command {
	return collect.Map(ran, func(c Command) lab.Command {
		return lab.Command{Text: strings.Join(c.Args, " "), Answer: c.Answer, Line: c.Line}
	})
}

// keyless are commands without a key, which a limiter may run.
const keyless = " TIME PING ECHO PUBLISH SPUBLISH RANDOMKEY DBSIZE INFO KEYS SCAN SELECT SCRIPT LOLWUT WAIT COMMAND FUNCTION "

// places say where the keys of commands stand whose first argument is not their one key: from, step, and
// how many arguments at the end are none.
var places = map[string]struct{ from, step, rest int }{
	"MGET": {1, 1, 0}, "DEL": {1, 1, 0}, "UNLINK": {1, 1, 0}, "EXISTS": {1, 1, 0}, "TOUCH": {1, 1, 0}, "WATCH": {1, 1, 0},
	"MSET": {1, 2, 0}, "MSETNX": {1, 2, 0}, "RENAME": {1, 1, 0}, "RENAMENX": {1, 1, 0}, "COPY": {1, 1, 0},
	"SUNION": {1, 1, 0}, "SINTER": {1, 1, 0}, "SDIFF": {1, 1, 0}, "RPOPLPUSH": {1, 1, 0}, "PFCOUNT": {1, 1, 0},
	"BLPOP": {1, 1, 1}, "BRPOP": {1, 1, 1}, "OBJECT": {2, 9, 0}, "XGROUP": {2, 9, 0}, "XINFO": {2, 9, 0}, "BITOP": {2, 1, 0},
}

func keysOf(args []string) []string {
	verb := strings.ToUpper(args[0])
	switch {
	case len(args) < 2 || strings.Contains(keyless, " "+verb+" "):
		return nil
	case strings.HasPrefix(verb, "Z") && strings.HasSuffix(verb, "STORE") && verb != "ZRANGESTORE":
		return append(counted(args[2:]), args[1])
	case verb == "ZUNION" || verb == "ZINTER" || verb == "ZDIFF" || verb == "ZINTERCARD" || verb == "SINTERCARD":
		return counted(args[1:])
	}
	at, known := places[verb]
	if !known {
		return args[1:2]
	}
	var keys []string
	for i := at.from; i < len(args)-at.rest; i += at.step {
		keys = append(keys, args[i])
	}
	return keys
}

// counted returns keys behind their number.
func counted(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n >= len(args) {
		return nil
	}
	return append([]string(nil), args[1:1+n]...)
}
