package keys

import (
	"ratescope/model"
)

// Join makes one table of those of several servers. Each screen lists the keys of all; the one that is
// shown is that of the selected key's server.
func Join(screens ...*Screen) {
	var all []*table
	for _, d := range screens {
		all = append(all, &d.table)
	}
	for _, d := range screens {
		d.table.peers = all
	}
}

// merge brings the rows of all servers into one order: that of this one's.
func (t *table) merge() {
	if t.peers == nil {
		return
	}
	left := make([][]*model.Watched, len(t.peers))
	n := 0
	for i, p := range t.peers {
		p.s.Rows.Like(t.s.Rows)
		left[i] = p.s.Rows.Rows()
		n += len(left[i])
	}
	t.merged = t.merged[:0]
	for len(t.merged) < n {
		first := -1
		for i, rows := range left {
			if len(rows) > 0 && (first < 0 || t.peers[i].s.Rows.Compare(rows[0], t.peers[first].s.Rows, left[first][0]) < 0) {
				first = i
			}
		}
		t.merged = append(t.merged, line{key: left[first][0], table: t.peers[first]})
		left[first] = left[first][1:]
	}
}

// mergedLine returns the line of a key of a server, or -1.
func (t *table) mergedLine(of *table, key string) int {
	for i, l := range t.merged {
		if l.table == of && l.key.Reading.Key == key {
			return i
		}
	}
	return -1
}

// follow shows the server of the first row, until a person has chosen a key.
func (t *table) follow() {
	if t.peers == nil || t.groups.on || t.s.Selection.Chosen() || len(t.merged) == 0 {
		return
	}
	if first := t.merged[0].table; first != t {
		first.top = 0
		first.s.Shell.Group.Front(t.s.Shell)
	}
}

// pick selects a key of the table's server for a person, and shows that server.
func (t *table) pick(key string) {
	t.groups.at = ""
	for _, p := range t.peers {
		if p != t && p.shown() {
			t.top = p.top
		}
	}
	t.s.Selection.Pick(key)
	t.s.Shell.Group.Front(t.s.Shell)
}

// shown reports whether the screen of the table's server is the one that is shown.
func (t *table) shown() bool { return t.s.Shell.Group.Shows(t.s.Shell) }

// seeMerged tells each source which of its keys are on screen.
func (t *table) seeMerged(from, to int) {
	for _, p := range t.peers {
		var keys []string
		for i := max(from, 0); i < min(to, len(t.merged)); i++ {
			if t.merged[i].table == p {
				keys = append(keys, t.merged[i].key.Reading.Key)
			}
		}
		p.s.Selection.SeeKeys(keys)
	}
}

// serverWidth is how many cells the names of the servers take; 0 where there is one alone.
func (t *table) serverWidth() int {
	widest := 0
	for _, p := range t.peers {
		widest = max(widest, len(p.s.Options.Target))
	}
	return min(widest, mostServer)
}

// mostServer is how many cells the column of the servers has at most.
const mostServer = 12

// keyCount is how many keys the table lists, or has in its groups.
func (t *table) keyCount() int {
	if t.peers != nil && !t.groups.on {
		return len(t.merged)
	}
	return len(t.s.Rows.Rows())
}

// watched is how many keys are watched on all servers.
func (t *table) watched() (n int) {
	for _, p := range t.peers {
		n += p.s.Shown.Live().Len()
	}
	return max(n, t.s.Shown.Live().Len())
}
