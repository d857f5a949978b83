package lab

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
	"ratescope/model/collect"
	"ratescope/model/format"
)

// key is what the lab's limiter would be called on a server.
const key = "rl:lab"

// Command is one command that a script ran, word for word, and what the server answered.
type Command struct {
	Text, Answer string
	Line         int // of the script, from 1; 0 where it is not known
}

// Verb returns the command's name.
func (c Command) Verb() string {
	verb, _, _ := strings.Cut(c.Text, " ")
	return strings.ToUpper(verb)
}

// readers are the commands of limiters that change nothing.
var readers = strings.Fields(`TIME GET MGET STRLEN GETRANGE EXISTS TYPE TTL PTTL EXPIRETIME PEXPIRETIME
	HGET HMGET HGETALL HLEN HEXISTS HKEYS HVALS LLEN LINDEX LRANGE SCARD SISMEMBER SMEMBERS
	ZCOUNT ZCARD ZSCORE ZRANK ZREVRANK ZRANGE ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE XLEN XRANGE XREVRANGE`)

// Writes reports whether the command changes something.
func (c Command) Writes() bool {
	return !slices.Contains(readers, c.Verb())
}

// Redis runs scripts on a server of its own, so that what a step does there is read and not told. Those of
// several screens may run at once.
type Redis interface {
	// Run runs a script, the words of an EVAL, at an instant on a server that holds what other commands write and nothing
	// else, and returns the commands that it ran.
	Run(at limiter.Instant, held [][]string, script []string) ([]Command, error)
}

// Commands returns what the script of the candidate runs on a server to decide, in this order: of a script of the
// user's what it ran.
func (m Moment) Commands(on Redis) ([]Command, error) {
	if m.script != nil {
		return m.script.ran, nil
	}
	words, err := m.scriptWords()
	switch {
	case err != nil:
		return nil, err
	case on == nil:
		return nil, errors.New("what it runs is not known without a Redis to run it on")
	}
	list, err := on.Run(m.Arrival.At, m.Held(key), words)
	trim := slices.IndexFunc(list, func(c Command) bool { return c.Verb() == "ZCARD" })
	if trim >= 0 && !trims(m.Arrival.At, m.Arrival.Cost) {
		n := 1
		for n < len(list)-trim && (strings.HasPrefix(list[trim+n].Text, "ZRANGE "+key+" 0 ") || list[trim+n].Verb() == "ZREMRANGEBYRANK") {
			n++
		}
		list = slices.Delete(list, trim, trim+n)
	}
	return list, err
}

// CommandLines writes commands for people, and under them what they come to where that is not plain; see Commands.
func (m Moment) CommandLines(on Redis) []string {
	if m.script != nil {
		return m.script.lines()
	}
	list, err := m.Commands(on)
	if err != nil {
		return []string{"# " + err.Error()}
	}
	lines := collect.Map(list, Command.String)
	if !slices.ContainsFunc(list, Command.Writes) {
		lines = append(lines, "# nothing is written")
	}
	return lines
}

// String is the command with what the server answered.
func (c Command) String() string {
	return collect.If(c.Answer == "", c.Text, c.Text+"  → "+c.Answer)
}

// CommandSummary names the commands of a step, as "3 commands: TIME, GET, SET"; see Commands.
func (m Moment) CommandSummary(on Redis) string {
	list, err := m.Commands(on)
	if err != nil || len(list) == 0 {
		return "no command"
	}
	verbs := collect.Map(list, Command.Verb)
	return format.Plural(len(list), "command") + ": " + strings.Join(verbs, ", ")
}

// Script returns the whole command of a step, EVAL with the script's text, quoted so that
// it can be pasted into a shell behind the word redis-cli. The instant is an argument of
// it, so that it decides there as it did here. A fault is not for use, and not every
// variant is one that Redis can keep: then it returns an error.
func (m Moment) Script() (string, error) {
	switch c := m.Candidate; {
	case c.Yours():
		return "", errors.New("the script is the file that you gave")
	case c.Scripted():
		return "", fmt.Errorf("%s is several limiters: take the script of one", c)
	case c.Fault == CollidingMembers || c.Fault == SecondsAsMillis:
		return "", fmt.Errorf("%s is a fault: no script of this program has it", faultNames[c.Fault])
	}
	m.Arrival.At = clockOf(m.Candidate, m.Arrival.At, m.Number, m.setup)
	m.Candidate.Fault, m.Number = ClientClock, 0 // the instant is given
	words, err := m.scriptWords()
	if err != nil {
		return "", err
	}
	words[1] = strings.ReplaceAll(words[1], "'", `"`) // Lua takes either, a shell less kindly
	for i, word := range words {
		if strings.Trim(word, plain) != "" {
			words[i] = "'" + word + "'"
		}
	}
	return strings.Join(words, " "), nil
}

// ScriptLine is a line of a script, with the commands that it ran in a step.
type ScriptLine struct {
	Text string
	Ran  []Command
}

// ScriptRun returns the text of the script that runs Commands, with what each line ran.
func (m Moment) ScriptRun(on Redis) ([]ScriptLine, error) {
	words, err := m.scriptWords()
	if err != nil {
		return nil, err
	}
	ran, err := m.Commands(on)
	if err != nil {
		return nil, err
	}
	var lines []ScriptLine
	number := 0
	for text := range strings.Lines(words[1]) {
		number++
		line := ScriptLine{Text: strings.TrimRight(text, "\n")}
		for _, one := range ran {
			if one.Line == number {
				line.Ran = append(line.Ran, one)
			}
		}
		if strings.TrimSpace(text) != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

//go:embed faults/*.lua
var faultScripts embed.FS

// scriptWords returns the EVAL that decides a step: with a fault, the script that has it.
func (m Moment) scriptWords() ([]string, error) {
	c, s := m.Candidate, m.setup
	terms := c.Convention(s.Convention)
	options := []redisstore.Option{redisstore.WithPrefix(""), redisstore.WithConvention(terms)}
	switch c.Fault {
	case CollidingMembers, SecondsAsMillis:
		text, err := faultScripts.ReadFile("faults/" + faultNames[c.Fault] + ".lua")
		if err != nil {
			return nil, err
		}
		open, need, denied := collect.If(terms.Edge == convention.Closed, "", "("), m.Arrival.Cost, ""
		if terms.Rule == convention.Below {
			need = 1
		}
		if terms.Denied == convention.Charged {
			denied = "charged"
		}
		return []string{"EVAL", string(text), "1", key, fmt.Sprint(s.Limit.Window.Milliseconds()), fmt.Sprint(s.Limit.Count),
			fmt.Sprint(need), open, denied}, nil
	case ClientClock:
		options = append(options, redisstore.WithClock(func() limiter.Instant { return clockOf(c, m.Arrival.At, m.Number, s) }))
	}
	if c.Bursts() && s.Limit.Count == 0 {
		return nil, errors.New("limit 0: nothing is limited, so nothing is listed")
	}
	return redisstore.Call(c.Algorithm, key, s.Limit, m.Arrival.Cost, options...)
}

// plain is what a shell takes as it stands.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:"

// Held returns the commands that make a server hold under a key what it holds before the moment.
func (m Moment) Held(key string) (list [][]string) {
	c, s := m.Candidate, m.setup
	run := func(words ...any) {
		text := collect.Map(words, func(word any) string { return fmt.Sprint(word) })
		list = append(list, text)
	}
	state, stored := m.Before, m.Stored
	given := c.Fault == ClientClock // expiries wait then, for the instant may be any
	keep := func(name string, gone limiter.Instant) {
		if given {
			gone = gone.Add(slack)
		}
		run("PEXPIREAT", name, gone.Millis()-1)
	}
	for _, k := range stored.Counters {
		count, gone := collect.If(k.Start == state.Start, state.Current, state.Previous), k.Expires
		name := counterName(key, c, s.Limit, s.Convention, k.Start)
		if name == key { // the window that begins with the first request ends when its key has gone
			gone = gone.Add(edgeOf(c.Convention(s.Convention)) - time.Millisecond)
		}
		if given || m.Arrival.At < gone {
			run("SET", name, count)
			keep(name, gone)
			if name == key && given {
				run("SET", layout.EndsKey(key), int64(gone))
			}
		}
	}
	if stored.Expires == 0 || !given && m.Arrival.At >= stored.Expires {
		return list
	}
	switch describe.KindOf(c.Algorithm) {
	case describe.Log:
		if c.Algorithm == limiter.StreamCounter {
			total := m.Total
			for _, e := range state.Log {
				total -= e.Count
			}
			for _, e := range state.Log {
				total += e.Count
				// The id: its millisecond, and its microsecond plus one before the running total.
				run("XADD", key, fmt.Sprintf("%d-%d%015d", e.At.Millis(), int64(e.At)%1000+1, total), "count", e.Count, "total", total)
			}
			break
		}
		run(append([]any{"ZADD", key}, m.members()...)...)
	case describe.Arrival:
		run("SET", key, instantText(state.TAT, state.Part, state.Parts, s.Limit.Window))
	case describe.Bucket:
		filled := instantText(state.Filled, state.Part, state.Parts, s.Limit.Window)
		run("HSET", key, LevelName(c.Algorithm), Number(state.Level), "at", filled)
	}
	keep(key, stored.Expires)
	return list
}

// slack is how much longer keys live under a script that is given the time.
const slack = time.Hour

// members returns the scores and the members of a sorted set. Those that no longer count come before all others, each at
// an instant of its own.
func (m Moment) members() (list []any) {
	at, left := map[limiter.Instant]int64{}, m.Stored.Units
	first := m.Arrival.At.Add(-m.Candidate.Reach(m.setup.Limit) - time.Millisecond)
	for _, e := range slices.Backward(m.Before.Log) {
		first = min(first, e.At)
		for range min(e.Count, left) {
			left--
			at[e.At]++
			score, member := int64(e.At), fmt.Sprint(int64(e.At))
			switch {
			case m.Candidate.Fault == CollidingMembers:
				score, member = e.At.Millis(), fmt.Sprint(e.At.Millis())
			case m.Candidate.Fault == SecondsAsMillis:
				score, member = score/1_000_000, fmt.Sprint(int64(e.At)-at[e.At]) // a server's clock tells them apart
			case at[e.At] > 1 || m.Arrival.Cost != 1:
				member += fmt.Sprintf("-%d", at[e.At])
			}
			list = append(list, score, member)
		}
	}
	for range left {
		first--
		list = append(list, int64(first), int64(first))
	}
	return list
}

// KeptBefore lists what the candidate holds about the key before the request, line by line: its state, as far as it is
// stored. KeptAfter does so of what it holds after it.
func (m Moment) KeptBefore() []string { return m.kept(m.Before, m.Stored) }
func (m Moment) KeptAfter() []string  { return m.kept(m.After, m.Left) }

func (m Moment) kept(state limiter.State, stored Stored) []string {
	c, s, at := m.Candidate, m.setup, m.Arrival.At
	switch {
	case c.Scripted():
		return []string{"what the lines below say"}
	case stored.Bytes(c, state, at, *s) == 0:
		return []string{"nothing"}
	}
	switch describe.KindOf(c.Algorithm) {
	case describe.Window:
		return []string{fmt.Sprintf("a counter: %d in the window from %s", state.Current, s.clock(state.Start))}
	case describe.Weighted:
		return []string{fmt.Sprintf("previous: %d", state.Previous),
			fmt.Sprintf("current: %d in the window from %s", state.Current, s.clock(state.Start))}
	case describe.Arrival:
		if state.TAT < at {
			return []string{fmt.Sprintf("TAT: %s, passed %s ago", s.clock(state.TAT), Seconds(at.Sub(state.TAT)))}
		}
		return []string{fmt.Sprintf("TAT: %s, %s from now", s.clock(state.TAT), Seconds(state.TAT.Sub(at)))}
	case describe.Bucket:
		return []string{fmt.Sprintf("%s: %s at %s", LevelName(c.Algorithm), Number(state.Level), s.clock(state.Filled))}
	}
	return keepsLog(state.Log, stored.Entries(at), s)
}

// shownEntries is how many entries of a log are listed.
const shownEntries = 4

// keepsLog lists the newest of n entries, of which a log may have forgotten the oldest.
func keepsLog(log []limiter.Entry, n int64, s *Setup) []string {
	lines := []string{"a log of 1 entry:"}
	if n > 1 {
		lines[0] = fmt.Sprintf("a log of %d entries, the newest:", n)
	}
	for i := len(log) - 1; i >= 0 && n > 0 && len(lines) <= shownEntries; i-- {
		line := s.clock(log[i].At)
		if log[i].Count != 1 {
			line += fmt.Sprintf(" × %d", log[i].Count)
		}
		lines, n = append(lines, line), n-log[i].Count
	}
	return lines
}
