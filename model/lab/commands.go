package lab

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// key is what the lab's limiter would be called on a server.
const key = "rl:lab"

// Command is one command that a script runs, word for word, and what the server answers;
// "" where the answer is not used.
type Command struct {
	Text, Answer string
	in           string // part of the line of the script that runs it, where several could have
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

// Commands returns what the script of a candidate runs on a server to decide a step, in
// this order. A fault is listed as a script that has it would run it.
func Commands(c Candidate, m Moment, s Setup) []Command {
	return steps(c, m, s, c.Fault == ClientClock, 0)
}

// GivenCommands returns what the script runs that Script returns, which is given the
// instant and whose keys live an hour longer.
func GivenCommands(c Candidate, m Moment, s Setup) []Command { return steps(c, m, s, true, slack) }

// slack is how many milliseconds longer keys live under a script that is given the time.
const slack = 3_600_000

func steps(c Candidate, m Moment, s Setup, given bool, slack int64) []Command {
	e := newExplainer(c, m, s)
	w := wording{explainer: e, n: m.Arrival.Cost, given: given, slack: slack, charge: charged(m.Decision, e.terms) && m.Arrival.Cost > 0}
	if w.c.Bursts() && s.Limit.Count == 0 || c.Algorithm == limiter.SlidingWindow && e.terms.Alignment == limiter.AlignFirstRequest {
		return nil
	}
	if !given && c.Fault == NoFault {
		w.run(fmt.Sprintf("%d, %d", int64(e.at)/1_000_000, int64(e.at)%1_000_000), "TIME")
	}
	if c.Fault == CollidingMembers || c.Fault == SecondsAsMillis {
		w.faulty()
	} else if kept := keptBy[c.Algorithm]; kept.commands != nil {
		kept.commands(&w)
	}
	return w.list
}

// CommandLines writes commands for people, and under them what they come to where that is
// not plain.
func CommandLines(c Candidate, m Moment, s Setup) []string {
	if m.script != nil {
		return m.script.lines()
	}
	list := Commands(c, m, s)
	switch {
	case c.Algorithm == limiter.SlidingWindow && c.Convention(s.Convention).Alignment == limiter.AlignFirstRequest:
		return []string{"# windows from the first request on lie apart: no server keeps them, only memory"}
	case len(list) == 0:
		return []string{"# limit 0: nothing is limited, so nothing is listed"}
	}
	var lines []string
	for _, one := range list {
		text := one.Text
		if one.Answer != "" {
			text += "  → " + one.Answer
		}
		lines = append(lines, text)
	}
	if !slices.ContainsFunc(list, Command.Writes) {
		lines = append(lines, "# nothing is written")
	}
	return lines
}

// CommandSummary names the commands of a step, as "3 commands: TIME, GET, SET".
func CommandSummary(c Candidate, m Moment, s Setup) string {
	list := Commands(c, m, s)
	if m.script != nil {
		list = m.script.ran
	}
	if len(list) == 0 {
		return "no command"
	}
	verbs := make([]string, len(list))
	for i, one := range list {
		verbs[i] = one.Verb()
	}
	what := "commands"
	if len(list) == 1 {
		what = "command"
	}
	return fmt.Sprintf("%d %s: %s", len(list), what, strings.Join(verbs, ", "))
}

// Script returns the whole command of a step, EVAL with the script's text, quoted so that
// it can be pasted into a shell behind the word redis-cli. The instant is an argument of
// it, so that it decides there as it did here. A fault has no script here, and not every
// variant is one that Redis can keep: then it returns an error.
func Script(c Candidate, m Moment, s Setup) (string, error) {
	e := newExplainer(c, m, s)
	words, err := scriptWords(c, m, s, redisstore.WithClock(func() limiter.Instant { return e.at }))
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

// ScriptText returns the text of the script that runs Commands on a server.
func ScriptText(c Candidate, m Moment, s Setup) (string, error) {
	words, err := scriptWords(c, m, s)
	if err != nil {
		return "", err
	}
	return words[1], nil
}

// ScriptLine is a line of a script. Ran is the command that it ran in a step, nil where it
// ran none or the line was passed by.
type ScriptLine struct {
	Text string
	Ran  *Command
}

// scriptCall finds the commands in a line of a script, with those of their words that stand there as names or texts.
var scriptCall = regexp.MustCompile(`p?call\('([A-Z]+)'((?:, (?:'[^'%]*'|[\w\[\]]+))*)`)

// ranIn reports whether a line of a script can have run the command: it holds a call of it with no other texts among
// its words.
func (c Command) ranIn(line string) bool {
	words := strings.Fields(c.Text)
	return strings.Contains(line, c.in) && slices.ContainsFunc(scriptCall.FindAllStringSubmatch(line, -1), func(call []string) bool {
		for i, arg := range strings.Split(call[2], ", ") {
			text, is := strings.CutPrefix(arg, "'")
			if is && (i >= len(words) || strings.TrimSuffix(text, "'") != words[i]) {
				return false
			}
		}
		return call[1] == c.Verb()
	})
}

// ScriptRun returns the text of the script that runs Commands, with each command at the line
// that ran it: they are in the order of the script, except in its one loop.
func ScriptRun(c Candidate, m Moment, s Setup) ([]ScriptLine, error) {
	text, err := ScriptText(c, m, s)
	if err != nil {
		return nil, err
	}
	var lines []ScriptLine
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, ScriptLine{Text: line})
		}
	}
	at := 0
	for _, one := range Commands(c, m, s) {
		for i := range lines {
			k := (at + i) % len(lines) // a loop goes back
			if lines[k].Ran == nil && one.ranIn(lines[k].Text) {
				lines[k].Ran, at = &one, k+1
				break
			}
		}
	}
	return lines, nil
}

func scriptWords(c Candidate, m Moment, s Setup, options ...redisstore.Option) ([]string, error) {
	if c.Scripted() {
		return nil, errors.New("the script is the file that you gave")
	}
	if c.Fault == CollidingMembers || c.Fault == SecondsAsMillis {
		return nil, fmt.Errorf("%s is a fault: no script of this program has it", faultNames[c.Fault])
	}
	return redisstore.Call(c.Algorithm, key, s.Limit, m.Arrival.Cost, append(options, redisstore.WithPrefix(""), redisstore.WithConvention(c.Convention(s.Convention)))...)
}

// plain is what a shell takes as it stands.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:"
