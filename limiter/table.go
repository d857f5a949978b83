package limiter

// table finds the cell of a key. It is a hash table of numbers with open addressing, so
// that the hash which chose the shard is not computed again and a look at a key that is
// known touches one slot and its cell. The zero table is empty.
type table struct {
	slots []slot // its length is a power of two, or 0; at most three quarters are taken
	n     int
}

// slot is a place in a table.
type slot struct {
	tag  uint32 // the upper half of the hash
	cell uint32 // the number of the cell, from 1; 0 is a free slot
}

// home is where the search for a hash begins. The lowest bits are the same in a shard.
func (t *table) home(hash uint64) int { return int(hash>>6) & (len(t.slots) - 1) }

// find returns the number of the key's cell.
func (t *table) find(cells []cell, key string, hash uint64) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for i := t.home(hash); ; i = (i + 1) & (len(t.slots) - 1) {
		s := t.slots[i]
		if s.cell == 0 {
			return 0, false
		}
		if s.tag == uint32(hash>>32) && cells[s.cell-1].key == key {
			return s.cell - 1, true
		}
	}
}

// put adds a cell whose key is not in the table.
func (t *table) put(cells []cell, number uint32) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.grow(cells)
	}
	t.place(cells[number].hash, number)
	t.n++
}

func (t *table) place(hash uint64, number uint32) {
	i := t.home(hash)
	for t.slots[i].cell != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = slot{tag: uint32(hash >> 32), cell: number + 1}
}

func (t *table) grow(cells []cell) {
	old := t.slots
	t.slots = make([]slot, max(8, 2*len(old)))
	for _, s := range old {
		if s.cell != 0 {
			t.place(cells[s.cell-1].hash, s.cell-1)
		}
	}
}

// remove takes a cell out and moves up those that it had pushed away from their homes.
func (t *table) remove(cells []cell, number uint32) {
	mask := len(t.slots) - 1
	i := t.home(cells[number].hash)
	for t.slots[i].cell != number+1 {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; t.slots[j].cell != 0; j = (j + 1) & mask {
		home := t.home(cells[t.slots[j].cell-1].hash)
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
	t.n--
}
