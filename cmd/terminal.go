package cmd

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"ratescope/tui/session"
)

// asciiOnly reports whether the locale says that the terminal has no UTF-8. One that says
// nothing is taken for one that has it, as most terminals today.
func asciiOnly() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// lines reports whether what happens is told in lines of text: when that was said, and on a
// terminal that can do nothing else.
func (p *program) lines() bool { return p.linesOn(term.IsTerminal(os.Stdout.Fd())) }

func (p *program) linesOn(terminal bool) bool {
	return p.plain || terminal && os.Getenv("TERM") == "dumb"
}

// question returns what asks the person at the terminal; nil where input or messages are no
// terminal.
func question() func(string) (string, error) {
	if !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stderr.Fd()) {
		return nil
	}
	answers := bufio.NewReader(os.Stdin)
	return func(question string) (string, error) {
		fmt.Fprint(os.Stderr, question)
		text, err := answers.ReadString('\n')
		return strings.TrimSpace(text), err
	}
}

// notifying reads --notify.
func (p *program) notifying() (session.Notify, error) {
	switch p.notify {
	case "none":
		return session.NotifyNot, nil
	case "bell":
		return session.NotifyBell, nil
	case "desktop":
		return session.NotifyDesktop, nil
	}
	return 0, usagef("--notify does not take %q: give none, bell or desktop", p.notify)
}
