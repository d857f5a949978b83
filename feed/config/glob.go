package config

// MatchGlob says whether name fits pattern by the rules of Redis (KEYS, SCAN MATCH): * any
// bytes, ? one byte, [abc], [a-c], [^x], and \ before a byte that means itself. It
// compares bytes and never takes more than len(pattern) × len(name) steps.
func MatchGlob(pattern, name string) bool {
	p, n := 0, 0
	star, resume := -1, 0
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, resume = p, n
				p++
				continue
			}
			if ok, next := matchByte(pattern, p, name[n]); ok {
				p, n = next, n+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		resume++
		p, n = star+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchByte matches one byte against the element of pattern at p, and returns where
// the next element begins.
func matchByte(pattern string, p int, b byte) (ok bool, next int) {
	switch pattern[p] {
	case '?':
		return true, p + 1
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	case '[':
		return matchClass(pattern, p+1, b)
	}
	return pattern[p] == b, p + 1
}

// matchClass matches what stands between brackets; like Redis it takes the end of the
// pattern for a missing bracket.
func matchClass(pattern string, p int, b byte) (ok bool, next int) {
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	for p < len(pattern) && pattern[p] != ']' {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			ok = ok || pattern[p] == b
			p++
		case p+2 < len(pattern) && pattern[p+1] == '-':
			lo, hi := min(pattern[p], pattern[p+2]), max(pattern[p], pattern[p+2])
			ok = ok || lo <= b && b <= hi
			p += 3
		default:
			ok = ok || pattern[p] == b
			p++
		}
	}
	if p < len(pattern) {
		p++
	}
	return ok != negated, p
}
