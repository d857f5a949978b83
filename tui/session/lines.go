package session

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// CopyLines puts the redis-cli lines that would free or reset the selected key on the
// clipboard. Nothing is run.
func (s *Session) CopyLines() tea.Cmd {
	k := s.Current()
	switch {
	case k == nil:
		return nil
	case s.Mask:
		s.Warn("The lines would name the key in full, which --mask hides.")
		return nil
	case s.Board().Server.Embedded:
		s.Warn("The embedded Redis has no address for redis-cli: fire at it, or press q.")
		return nil
	}
	s.Say("Copied: the redis-cli lines for " + s.Name(k.Reading.Key) + ". Read them before you run them.")
	return tea.SetClipboard(Lines(k, s.Board().Server))
}

// Lines returns the redis-cli lines that take the oldest request back, where the key's form has
// one, and that reset the key, with comments, for a shell such as bash. Whatever a name holds
// stays one argument.
func Lines(k *model.Watched, server model.Server) string {
	cli := "redis-cli"
	target := server.Target
	if scheme, _, ok := strings.Cut(target, "://"); ok && (scheme == "redis" || scheme == "rediss") && !strings.ContainsAny(target, ", ") {
		cli += " -u " + ShellQuote(target)
	}
	if server.Role == "cluster" {
		cli += " -c"
	}
	keys := k.Reading.Members
	if len(keys) == 0 {
		keys = []string{k.Reading.Key}
	}
	var b strings.Builder
	if k.Reading.Type == "zset" && len(keys) == 1 {
		fmt.Fprintf(&b, "# frees one slot: takes the oldest request out of the log\n%s ZPOPMIN %s\n", cli, ShellQuote(keys[0]))
	}
	b.WriteString("# resets the limit: everybody has a full budget again\n")
	if server.Role == "cluster" { // the keys may be in several slots
		for _, key := range keys {
			fmt.Fprintf(&b, "%s UNLINK %s\n", cli, ShellQuote(key))
		}
		return b.String()
	}
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = ShellQuote(key)
	}
	fmt.Fprintf(&b, "%s UNLINK %s\n", cli, strings.Join(quoted, " "))
	return b.String()
}

// ShellQuote returns a string as one word of bash: between single quotes, or, where it holds
// bytes that a terminal may obey or lose, with escapes between $' and '.
func ShellQuote(s string) string {
	printable := true
	for i := range len(s) {
		printable = printable && s[i] >= ' ' && s[i] <= '~'
	}
	if printable {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "\\%03o", c) // three digits always: what follows cannot join them
		}
	}
	return b.String() + "'"
}
