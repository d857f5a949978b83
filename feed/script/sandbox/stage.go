package sandbox

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"ratescope/limiter"
	"ratescope/model/lab"
)

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
		if s.ready == nil {
			s.ready = map[string]*embedded{}
		}
		s.ready[script[1]] = e
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
func Commands(ran []Command) (list []lab.Command) {
	for _, c := range ran {
		list = append(list, lab.Command{Text: strings.Join(c.Args, " "), Answer: c.Answer, Line: c.Line})
	}
	return list
}
