package model

import (
	"encoding/binary"
	"math/bits"
)

// chunkBins is the number of bins that are packed together, a quarter of a window.
const chunkBins = BinsPerWindow / 4

// chunk holds the bins of a range that is still written to.
type chunk struct {
	number int64 // absolute: bin index / bins of a chunk
	shared bool  // with a frozen timeline: not to be written to
	bins   []Bin
}

// packed holds the bins of a past range, in as few bits as its largest values need: a bin takes 40 bytes
// while it is written to and about one byte when packed. It is immutable, so that timelines share it.
// The zero value holds empty bins.
//
// The first three bytes contain the widths of the fields and the kind of the flags. The lowest Used
// follows as a varint, then the flags if they differ from bin to bin, then each field that is not 0
// in all bins, bin by bin, the least significant bit first.
type packed string

// Kinds of the flags of a packed range.
const (
	flagsNone  = iota // no bin was watched, nor its level known
	flagsAll          // every one was
	flagsMixed        // two bits a bin
)

// width returns the number of bits that values up to v need, rounded up to a power of two and coded as
// 1 for 1 bit to 7 for 64 bits; 0 is no bits.
func width(v uint64) int {
	n := bits.Len64(v)
	if n == 0 {
		return 0
	}
	return bits.Len(uint(n-1)) + 1
}

// fields of a bin in the order in which they are packed.
const packedFields = 5

func (b *Bin) field(f int) uint64 {
	switch f {
	case 0:
		return uint64(b.Admitted)
	case 1:
		return uint64(b.Denied)
	case 2:
		return uint64(uint32(b.InjectedAdmitted))
	case 3:
		return uint64(uint32(b.InjectedDenied))
	}
	return uint64(b.Used)
}

func (b *Bin) setField(f int, v uint64) {
	switch f {
	case 0:
		b.Admitted = int64(v)
	case 1:
		b.Denied = int64(v)
	case 2:
		b.InjectedAdmitted = int32(v)
	case 3:
		b.InjectedDenied = int32(v)
	default:
		b.Used = int64(v)
	}
}

// pack packs bins.
func pack(bins []Bin) packed {
	var widths [packedFields]int
	base, known, watched := int64(0), 0, 0
	for i := range bins {
		b := &bins[i]
		if b.UsedKnown {
			if known++; known == 1 || b.Used < base {
				base = b.Used
			}
		}
		if b.Watched {
			watched++
		}
	}
	flags := flagsMixed
	switch {
	case known == len(bins) && watched == len(bins):
		flags = flagsAll
	case known+watched == 0:
		flags = flagsNone
	}
	for i := range bins {
		for f := range widths {
			widths[f] = max(widths[f], width(bins[i].packedField(f, base)))
		}
	}
	if flags == flagsNone && widths == [packedFields]int{} {
		return ""
	}
	var room [chunkBins*(8*packedFields+1) + 24]byte
	b := append(room[:0], byte(widths[0]|widths[1]<<3|flags<<6), byte(widths[2]|widths[3]<<3), byte(widths[4]))
	b = binary.AppendVarint(b, base)
	if flags == flagsMixed {
		begin := len(b)
		b = room[:begin+(2*len(bins)+7)/8]
		for i := range bins {
			if bins[i].UsedKnown {
				b[begin+i/4] |= 1 << (i % 4 * 2)
			}
			if bins[i].Watched {
				b[begin+i/4] |= 2 << (i % 4 * 2)
			}
		}
	}
	for f, w := range widths {
		if w == 0 {
			continue
		}
		n, begin := 1<<(w-1), len(b)
		b = room[:begin+(n*len(bins)+7)/8]
		for i := range bins {
			v := bins[i].packedField(f, base)
			if n < 8 {
				b[begin+i*n/8] |= byte(v) << (i * n % 8)
				continue
			}
			for j := range n / 8 {
				b[begin+i*n/8+j] = byte(v >> (8 * j))
			}
		}
	}
	return packed(b)
}

// packedField returns the value that is packed for a field: of Used, the difference to base.
func (b *Bin) packedField(f int, base int64) uint64 {
	v := b.field(f)
	if f == packedFields-1 {
		if !b.UsedKnown {
			return 0
		}
		v -= uint64(base)
	}
	return v
}

// unpack writes the packed bins to bins, whose length must be the number of packed bins.
func (p packed) unpack(bins []Bin) {
	clear(bins)
	if p == "" {
		return
	}
	widths := [packedFields]int{int(p[0]) & 7, int(p[0]) >> 3 & 7, int(p[1]) & 7, int(p[1]) >> 3 & 7, int(p[2]) & 7}
	base, at := p.varint(3)
	switch p[0] >> 6 {
	case flagsAll:
		for i := range bins {
			bins[i].UsedKnown, bins[i].Watched = true, true
		}
	case flagsMixed:
		for i := range bins {
			f := p[at+i/4] >> (i % 4 * 2)
			bins[i].UsedKnown, bins[i].Watched = f&1 != 0, f&2 != 0
		}
		at += (2*len(bins) + 7) / 8
	}
	for f, w := range widths {
		if w == 0 {
			continue
		}
		n := 1 << (w - 1)
		p[at:].field(bins, f, n)
		at += (n*len(bins) + 7) / 8
	}
	if base != 0 {
		for i := range bins {
			if bins[i].UsedKnown {
				bins[i].Used += base
			}
		}
	}
}

// field reads field f of all bins, which has n bits in each bin.
func (p packed) field(bins []Bin, f, n int) {
	if n < 8 {
		mask, per := byte(1)<<n-1, 8/n
		for i := range bins {
			if v := p[i/per] >> (i % per * n) & mask; v != 0 {
				bins[i].setField(f, uint64(v))
			}
		}
		return
	}
	for i := range bins {
		var v uint64
		for j := range n / 8 {
			v |= uint64(p[i*n/8+j]) << (8 * j)
		}
		bins[i].setField(f, v)
	}
}

// varint reads a signed number at an offset, and returns the offset after it.
func (p packed) varint(at int) (int64, int) {
	var v uint64
	for shift := 0; ; shift += 7 {
		c := p[at]
		at++
		if v |= uint64(c&0x7f) << shift; c < 0x80 {
			return int64(v>>1) ^ -int64(v&1), at
		}
	}
}
