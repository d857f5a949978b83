package session

import (
	"strings"

	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// headerTips explain the figures of the header, by a word in them.
var headerTips = []struct{ word, says string }{
	{"throttled", "Keys that deny the next request of cost 1. f in the table folds them into prefixes; 5 lists since when."},
	{"near limit", "Keys that have used 80 % of their limit, or more, and still admit."},
	{"stale", "Keys that seem at ease by a reading that is more than five seconds old."},
	{"unreadable", "Keys whose value is not what their limiter writes: /state:unreadable lists them."},
	{"sick", "Keys that cannot be read, never expire or hold what is no time: /state:sick lists them."},
	{"unknown", "Keys whose limit, or what is used of it, is not known: give it with --limit or a rule."},
	{"likely", "Keys of which nothing but the form says that they are limiters; they are counted nowhere else. Of very many that are named alike only some are looked at."},
	{"longest", "The denied key that waits longest until a request is admitted; a click selects it."},
	{"admitted", "Admitted requests a second of all keys, over the window of each."},
	{"not recorded", "None of the stores watched records what it denies."},
	{"denied", "Denied requests a second of the keys whose store records them, over the window of each."},
	{"searched", "The first search for limiters is not over: keys that it has not come by may be missing."},
	{"server: up to", "What watching may take of a core: more for the first search while nobody else uses the server, the budget while others do."},
	{"watching costs", "The share of the server's time that ratescope's own reads take, over about ten seconds."},
	{"reads", "Commands a second that ratescope sends; none of them writes."},
	{"rtt", "The time of one round trip to the server and back."},
	{"clock", "How far the server's clock is from this machine's; times on screen are the server's."},
	{"read-only", "Nothing can be fired here: reading never writes."},
	{"armed", "Requests can be fired at the selected key; x stops everything."},
	{"press 4", "Something is wrong with the server: screen 4 says what it means."},
	{" ok", "Keys below 80 % of their limit."},
}

// tips adds explanations to the two rows of the header.
func (h header) tips(r cell.Rect) {
	h.c.Tip(r, func(x, y int) string {
		said := segmentAt(h.c, x, y)
		for _, t := range headerTips {
			if strings.Contains(said, t.word) {
				return t.says
			}
		}
		return ""
	})
}

// segmentAt returns the text around a cell, in lower case, up to two blanks or a dot between figures.
func segmentAt(p *widget.Canvas, x, y int) string {
	at := func(x int) rune { return p.Buffer.At(x, y).R }
	ends := func(x int) bool { return at(x) == '·' || at(x) == ' ' && (at(x+1) == ' ' || at(x+1) == 0) }
	from, to := x, x
	for from > 0 && !ends(from-1) {
		from--
	}
	for to < p.Buffer.W && !ends(to) {
		to++
	}
	var b strings.Builder
	for i := from; i < to; i++ {
		if r := at(i); r != 0 {
			b.WriteRune(r)
		}
	}
	return strings.ToLower(b.String())
}
