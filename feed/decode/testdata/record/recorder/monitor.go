package recorder

import (
	"bufio"
	"crypto/sha1"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
)

// monitor reads the MONITOR stream of a server and sorts the commands by database.
type monitor struct {
	mu    sync.Mutex
	wake  *sync.Cond
	lines map[int][]line
	own   map[string]bool // addresses of the recorder's own connections
	err   error
}

type line struct {
	from  string
	words []Text
}

func startMonitor(addr string) (*monitor, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprint(c, "MONITOR\r\n"); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(c, 1<<20)
	if ok, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(ok, "+OK") {
		return nil, fmt.Errorf("MONITOR answered %q: %v", ok, err)
	}
	m := &monitor{lines: map[int][]line{}, own: map[string]bool{}}
	m.wake = sync.NewCond(&m.mu)
	go m.read(r)
	return m, nil
}

func (m *monitor) read(r *bufio.Reader) {
	for {
		s, err := r.ReadString('\n')
		if err != nil {
			m.mu.Lock()
			m.err = err
			m.wake.Broadcast()
			m.mu.Unlock()
			return
		}
		db, l, ok := parse(s)
		if !ok {
			continue
		}
		m.mu.Lock()
		m.lines[db] = append(m.lines[db], l)
		m.wake.Broadcast()
		m.mu.Unlock()
	}
}

// parse reads a line such as: +1795169489.577 [3 127.0.0.1:4711] "GET" "key".
func parse(s string) (db int, l line, ok bool) {
	_, rest, ok := strings.Cut(s, " [")
	if !ok {
		return 0, line{}, false
	}
	head, words, ok := strings.Cut(rest, "] ")
	if !ok {
		return 0, line{}, false
	}
	number, from, _ := strings.Cut(head, " ")
	db, err := strconv.Atoi(number)
	if err != nil {
		return 0, line{}, false
	}
	return db, line{from: from, words: unquote(strings.TrimRight(words, "\r\n"))}, true
}

func unquote(s string) []Text {
	var words []Text
	for {
		start := strings.IndexByte(s, '"')
		if start < 0 {
			return words
		}
		end := start + 1
		for end < len(s) && s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(s) {
			return words
		}
		word, err := strconv.Unquote(s[start : end+1])
		if err != nil {
			word = s[start+1 : end]
		}
		words = append(words, Text(word))
		s = s[end+1:]
	}
}

// until returns the commands of a database that others sent before the mark, and forgets them.
func (m *monitor) until(db int, mark Text) ([][]Text, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		for i, l := range m.lines[db] {
			if len(l.words) == 2 && l.words[1] == mark {
				commands := m.others(m.lines[db][:i])
				m.lines[db] = m.lines[db][i+1:]
				return commands, nil
			}
		}
		if m.err != nil {
			return nil, m.err
		}
		m.wake.Wait()
	}
}

// others leaves out the recorder's own commands and those that set a connection up, and
// names scripts by their SHA-1, because their text belongs to their authors.
func (m *monitor) others(lines []line) [][]Text {
	commands := [][]Text{}
	for _, l := range lines {
		if m.own[l.from] || len(l.words) == 0 {
			continue
		}
		words := append([]Text(nil), l.words...)
		switch strings.ToUpper(string(words[0])) {
		case "HELLO", "CLIENT", "AUTH", "SELECT", "PING", "SCRIPT", "INFO", "COMMAND", "CLUSTER", "MONITOR":
			continue
		case "EVAL":
			words[0], words[1] = "EVALSHA", Text(fmt.Sprintf("%x", sha1.Sum([]byte(words[1]))))
		}
		commands = append(commands, words)
	}
	return commands
}
