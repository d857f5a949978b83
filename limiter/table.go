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
	many    [][]Entry // the room of a log that has had more of them
	long    []string  // keys that do not fit into a cell
	blocked []Instant
}

// cell is the state of one key, packed: a State has room for every algorithm.
type cell struct {
	hash       uint64
	until      Instant // may go from then on
	w, x, y, z int64
	key        [shortKey]byte
	form       uint8 // what holds the key: 0 nothing, n+1 the n bytes above, longKey the table
}

// logCell is the state of a key with a log: beside its cell the requests, while they are
// few, so that both are on one page.
type logCell struct {
	cell
	few [few]mark
}

const (
	few      = 16 // requests, which fill a line of the cache
	shortKey = 15 // bytes, as many as an IPv4 address has
	longKey  = 255
)

// places returns how many cells there are, taken or not.
func (t *table) places() int { return len(t.cells) + len(t.logs) }

func (t *table) at(i int) *cell {
	if len(t.logs) > 0 {
		return &t.logs[i].cell
	}
	return &t.cells[i]
}

// home is where the search for a hash begins. The lowest bits are the same in a shard.
func (t *table) home(hash uint64) int { return int(hash>>6) & (t.places() - 1) }

// find returns the number of the key's cell, or -1.
func (t *table) find(key string, hash uint64) int {
	if t.places() == 0 {
		return -1
	}
	for i := t.home(hash); ; i = (i + 1) & (t.places() - 1) {
		c := t.at(i)
		if c.hash == hash && t.holds(i, key) {
			return i
		}
		if c.form == 0 {
			return -1
		}
	}
}

// holds says that a cell is that of the key.
func (t *table) holds(i int, key string) bool {
	c := t.at(i)
	if c.form == longKey {
		return t.long[i] == key
	}
	return int(c.form) == len(key)+1 && string(c.key[:len(key)]) == key
}

// put gives a key that is not in the table a cell, and returns its number.
func (t *table) put(key string, hash uint64, logs, blocks bool) int {
	if 8*(t.n+1) > 5*t.places() {
		t.resize(max(8, 2*t.places()), logs)
	}
	if blocks && t.blocked == nil {
		t.blocked = make([]Instant, t.places())
	}
	i := t.room(hash)
	c := t.at(i)
	c.hash = hash
	if len(key) <= shortKey {
		copy(c.key[:], key)
		c.form = uint8(len(key) + 1)
	} else {
		if t.long == nil {
			t.long = make([]string, t.places())
		}
		t.long[i], c.form = strings.Clone(key), longKey // not what it may be cut from
	}
	t.n++
	return i
}

// room is the place for a hash that is not in the table.
func (t *table) room(hash uint64) int {
	i := t.home(hash)
	for t.at(i).form != 0 {
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
	if old.many != nil {
		t.many = make([][]Entry, places)
	}
	if old.long != nil {
		t.long = make([]string, places)
	}
	if old.blocked != nil {
		t.blocked = make([]Instant, places)
	}
	for i := range old.places() {
		if c := old.at(i); c.form != 0 {
			t.copy(t.room(c.hash), &old, i)
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
	if t.many != nil {
		t.many[i] = from.many[j]
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
	for j := (i + 1) & mask; t.at(j).form != 0; j = (j + 1) & mask {
		if home := t.home(t.at(j).hash); (j-home)&mask >= (j-i)&mask {
			t.copy(i, t, j)
			i = j
		}
	}
	t.clear(i)
	t.n--
}

func (t *table) clear(i int) {
	*t.at(i) = cell{}
	if t.many != nil {
		t.many[i] = nil
	}
	if t.long != nil {
		t.long[i] = ""
	}
	if t.blocked != nil {
		t.blocked[i] = 0
	}
}
