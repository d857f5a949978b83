package model

import (
	"encoding/binary"
	"slices"
)

// chunkBins is the number of bins that are packed together, a quarter of a window.
const chunkBins = BinsPerWindow / 4

// chunk holds the bins of a range that is still written to.
type chunk struct {
	number int64 // absolute: bin index / bins of a chunk
	shared bool  // with a frozen timeline: not to be written to
	bins   []Bin
}

// packed holds the bins of a past range, column by column: a bin takes 40 bytes while it is written to
// and about one byte when packed. It is immutable, so that timelines share it. nil holds empty bins.
//
// A column is runs of equal values: the difference to the run before as a varint, and the length of the
// run in a byte.
type packed []byte

// binColumns is the number of columns.
const binColumns = 6

// column returns the value of b in a column.
func (b *Bin) column(c int) int64 {
	switch c {
	case 0:
		return b.Admitted
	case 1:
		return b.Denied
	case 2:
		return int64(b.InjectedAdmitted)
	case 3:
		return int64(b.InjectedDenied)
	case 4:
		return b.Used
	}
	flags := int64(0)
	if b.UsedKnown {
		flags = 1
	}
	if b.Watched {
		flags |= 2
	}
	return flags
}

// setColumn is the inverse of column.
func (b *Bin) setColumn(c int, v int64) {
	switch c {
	case 0:
		b.Admitted = v
	case 1:
		b.Denied = v
	case 2:
		b.InjectedAdmitted = int32(v)
	case 3:
		b.InjectedDenied = int32(v)
	case 4:
		b.Used = v
	default:
		b.UsedKnown, b.Watched = v&1 != 0, v&2 != 0
	}
}

// pack packs the bins of a chunk.
func pack(bins []Bin) packed {
	if !slices.ContainsFunc(bins, func(b Bin) bool { return b != Bin{} }) {
		return nil
	}
	var room [binColumns * chunkBins * (binary.MaxVarintLen64 + 1)]byte
	p := room[:0]
	for c := range binColumns {
		last := int64(0)
		for i := 0; i < len(bins); {
			begin, v := i, bins[i].column(c)
			for i < len(bins) && bins[i].column(c) == v {
				i++
			}
			p = append(binary.AppendVarint(p, v-last), byte(i-begin))
			last = v
		}
	}
	return slices.Clone(p)
}

// unpack writes the packed bins to bins, whose length must be the number of packed bins.
func (p packed) unpack(bins []Bin) {
	clear(bins)
	if p == nil {
		return
	}
	for c := range binColumns {
		v := int64(0)
		for i := 0; i < len(bins); {
			d, n := binary.Varint(p)
			v += d
			end := i + int(p[n])
			p = p[n+1:]
			for ; i < end; i++ {
				bins[i].setColumn(c, v)
			}
		}
	}
}
