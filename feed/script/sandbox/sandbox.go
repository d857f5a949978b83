// Package sandbox runs a limiter script of the user at instants of the caller's choosing, on an empty
// embedded Redis, or on a real one where expiries and TIME are made to follow the caller's clock. It is
// what a bench asks: see model/bench.
package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/script"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/bench"
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
		return bench.Answer{Err: err}
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

// call is what the script is given.
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
					return strings.Contains(own, "{") && model.HashSlot(own) == model.HashSlot(k)
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
	var names []string
	for _, k := range list {
		names = append(names, fmt.Sprint(k))
	}
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
func (s *Sandbox) Keys() ([]bench.Key, error) {
	var all []bench.Key
	for _, name := range s.names() {
		kind, err := s.engine.do("TYPE", name)
		if err != nil {
			return nil, err
		}
		k := bench.Key{Name: name, Type: fmt.Sprint(kind), Expires: -1}
		ask, known := sizes[k.Type]
		if !known {
			continue
		}
		size, err := s.engine.do(ask[0][0], name)
		if err != nil {
			return nil, err
		}
		k.Size, _ = size.(int64)
		value, err := s.engine.do(append([]string{ask[1][0], name}, ask[1][1:]...)...)
		if err != nil {
			return nil, err
		}
		k.Value = value
		if ttl, err := s.engine.do("PTTL", name); err != nil {
			return nil, err
		} else if ms, _ := ttl.(int64); ms >= 0 {
			k.Expires = time.Duration(ms) * time.Millisecond
		}
		all = append(all, k)
	}
	return all, nil
}
