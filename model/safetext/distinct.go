package safetext

import "unicode/utf8"

// Distinct shortens clean names to cells cells, as Shorten does, and lets those that would come out
// alike keep what tells them apart: of names that begin alike the beginning goes, up to the word in
// which they differ.
func (f *Families) Distinct(names []string, cells int, mark string) []string {
	short := make([]string, len(names))
	alike := map[string][]int{}
	for i, name := range names {
		short[i] = f.Shorten(name, cells, mark)
		if short[i] != name {
			alike[short[i]] = append(alike[short[i]], i)
		}
	}
	for _, list := range alike {
		shared := names[list[0]]
		for _, i := range list[1:] {
			shared = shared[:SharedWords(shared, names[i])]
		}
		if shared == "" || len(list) == 1 || len(shared) == len(names[list[0]]) {
			continue
		}
		for _, i := range list {
			short[i] = mark + Shorten(names[i][len(shared):], cells-Width(mark), mark)
		}
	}
	return short
}

// SharedWords returns how many bytes two names begin with alike, up to the word in which they
// differ; all of them where they are the same.
func SharedWords(a, b string) int {
	n, words := 0, 0
	for n < len(a) && n < len(b) {
		r, size := utf8.DecodeRuneInString(a[n:])
		if other, _ := utf8.DecodeRuneInString(b[n:]); other != r {
			return words
		}
		if n += size; separates(r) {
			words = n
		}
	}
	if len(a) == len(b) {
		return n
	}
	return words
}
