package limiter

import "strings"

// table keeps the states of keys. It is a hash table with open addressing whose places are
// the cells themselves, so that a look at a key that is known touches one line of the
// processor's cache, for which a decision on one of many keys waits. What only some limiters
// or some keys need lies beside the cells, at the same number, and is nil until it is
// needed. No cell holds a pointer, so the garbage collector passes them by. The zero table
// is empty.
type table struct {
	cells   []cell    // as many as a power of two, or none; at most five eighths are taken
	logs    []logCell // the same, where logs are kept; one of the two is empty
	n       int
	large   []largeLog // of logs that have had more than a few requests
	long    []string   // keys that do not fit into a cell
	blocked []Instant
}

// cell is the state of one key, packed: a State has room for every algorithm.
type cell struct {
	key   shortName // zero in a free cell
	until Instant   // from then on the cell may be freed
	state packed
}

// logCell is the state of a key with a log: beside its cell the requests, while they are
// few, so that both are on one page.
type logCell struct {
	cell
	small [smallLog]mark
}

const smallLog = 16 // requests, which fill a line of the cache

// places returns how many cells there are, taken or not.
func (t *table) places() int { return len(t.cells) + len(t.logs) }

func (t *table) at(i int) *cell {
	if len(t.logs) > 0 {
		return &t.logs[i].cell
	}
	return &t.cells[i]
}

// home is where the search for a name begins.
func (t *table) home(tag uint64) int { return int(tag>>lenBits) & (t.places() - 1) }

// find returns the number of the key's cell and the cell, or -1.
func (t *table) find(q *request) (int, *cell) {
	if i, c := t.seek(t.home(q.name.tag), q.name); i < 0 || !q.name.long() {
		return i, c
	}
	return t.findLong(q)
}

// findLong is find for a key that its name does not tell apart from every other.
func (t *table) findLong(q *request) (int, *cell) {
	i, c := t.seek(t.home(q.name.tag), q.name)
	for i >= 0 && t.long[i] != q.key {
		i, c = t.seek(i+1, q.name)
	}
	return i, c
}

// seek returns the first cell from i on with a name, or -1. It is small enough for the
// compiler to inline it.
func (t *table) seek(i int, n shortName) (int, *cell) {
	mask := t.places() - 1
	for mask >= 0 {
		c := t.at(i & mask)
		if c.key == n {
			return i & mask, c
		}
		if c.key.tag == 0 {
			break
		}
		i++
	}
	return -1, nil
}

// put gives a key that is not in the table a cell.
func (t *table) put(q *request) (int, *cell) {
	if 8*(t.n+1) > 5*t.places() {
		t.resize(max(8, 2*t.places()), q.logs)
	}
	if q.c.Block > 0 && t.blocked == nil {
		t.blocked = make([]Instant, t.places())
	}
	i := t.room(q.name.tag)
	c := t.at(i)
	c.key = q.name
	if q.name.long() {
		if t.long == nil {
			t.long = make([]string, t.places())
		}
		t.long[i] = strings.Clone(q.key) // not what it may be cut from
	}
	t.n++
	return i, c
}

// room is the place for a name that is not in the table.
func (t *table) room(tag uint64) int {
	i := t.home(tag)
	for t.at(i).key.tag != 0 {
		i = (i + 1) & (t.places() - 1)
	}
	return i
}

// resize makes a table of so many places.
func (t *table) resize(places int, logs bool) {
	old := *t
	*t = table{n: old.n}
	if logs {
		t.logs = make([]logCell, places)
	} else {
		t.cells = make([]cell, places)
	}
	if old.large != nil {
		t.large = make([]largeLog, places)
	}
	if old.long != nil {
		t.long = make([]string, places)
	}
	if old.blocked != nil {
		t.blocked = make([]Instant, places)
	}
	for i := range old.places() {
		if c := old.at(i); c.key.tag != 0 {
			t.copy(t.room(c.key.tag), &old, i)
		}
	}
}

// copy copies what a table knows about a key to the place i.
func (t *table) copy(i int, from *table, j int) {
	if len(t.logs) > 0 {
		t.logs[i] = from.logs[j]
	} else {
		t.cells[i] = from.cells[j]
	}
	if t.large != nil {
		t.large[i] = from.large[j]
	}
	if t.long != nil {
		t.long[i] = from.long[j]
	}
	if t.blocked != nil {
		t.blocked[i] = from.blocked[j]
	}
}

// remove frees a cell and moves up those that it had pushed away from their homes.
func (t *table) remove(i int) {
	mask := t.places() - 1
	for j := (i + 1) & mask; t.at(j).key.tag != 0; j = (j + 1) & mask {
		if home := t.home(t.at(j).key.tag); (j-home)&mask >= (j-i)&mask {
			t.copy(i, t, j)
			i = j
		}
	}
	t.clear(i)
	t.n--
}

func (t *table) clear(i int) {
	*t.at(i) = cell{}
	if t.large != nil {
		t.large[i] = largeLog{}
	}
	if t.long != nil {
		t.long[i] = ""
	}
	if t.blocked != nil {
		t.blocked[i] = 0
	}
}
