package model

// Packed is what a timeline keeps of a stretch of bins.
func Packed(bins []Bin) string { return string(pack(bins)) }

// PackAndUnpack returns what is left of bins that were packed.
func PackAndUnpack(bins []Bin) []Bin {
	out := make([]Bin, len(bins))
	pack(bins).unpack(out)
	return out
}
