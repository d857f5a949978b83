package record

import "bytes"

// read reads the line of a pack as encoding/json would, in a tenth of the time: there are
// thousands of numbers a second. ok is false where a line is not as a Writer writes it, which
// encoding/json may understand all the same. Lists are of p's own, used again for the next line.
func (p *pack) read(line []byte) (ok bool) {
	*p = pack{IDs: p.IDs[:0], Times: p.Times[:0], Log: p.Log[:0], Counts: p.Counts[:0], Arrivals: p.Arrivals[:0], Columns: p.Columns,
		Keys: p.Keys[:0], buffer: p.buffer[:0], Levels: p.Levels[:0], descriptions: p.descriptions}
	if p.Columns == nil {
		p.Columns = make(map[string][]int64, fields+1)
	}
	clear(p.Columns)
	s := scanner{rest: line}
	if !s.skip(`{"p":{`) {
		return false
	}
	for {
		name := s.name()
		switch string(name) {
		case "ids":
			p.IDs = s.numbers(p.IDs)
		case "times":
			p.Times = s.numbers(p.Times)
		case "log":
			p.Log = s.numbers(p.Log)
		case "counts":
			p.Counts = s.numbers(p.Counts)
		case "arrivals":
			p.Arrivals = s.numbers(p.Arrivals)
		case "held":
			p.Held = true
			s.skip("true")
		case "keys":
			p.Keys = s.described(p.Keys, p.descriptions)
		case "levels":
			p.Levels = s.reals(p.Levels)
		case "cols":
			p.readColumns(&s)
		default:
			return false
		}
		if !s.skip(",") {
			return !s.bad && s.skip("}}") && len(s.rest) == 0
		}
	}
}

// readColumns reads the object of the columns.
func (p *pack) readColumns(s *scanner) {
	if !s.skip("{") {
		s.bad = true
	}
	for !s.bad {
		name := s.name()
		begin := len(p.buffer)
		p.buffer = s.numbers(p.buffer)
		p.Columns[columnName(name)] = p.buffer[begin:len(p.buffer):len(p.buffer)]
		if !s.skip(",") {
			s.bad = s.bad || !s.skip("}")
			return
		}
	}
}

// columnName returns the name of a column, without making a string where it is known.
func columnName(name []byte) string {
	for _, known := range fieldNames {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

// scanner goes through JSON that has no space in it.
type scanner struct {
	rest []byte
	bad  bool
}

// skip takes what comes next, if it is that.
func (s *scanner) skip(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// name takes the name of a field, without escapes, and what parts it from its value.
func (s *scanner) name() []byte {
	if !s.skip(`"`) {
		s.bad = true
		return nil
	}
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 {
		s.bad = true
		return nil
	}
	name := s.rest[:end]
	s.rest = s.rest[end+1:]
	s.bad = s.bad || !s.skip(":")
	return name
}

// numbers appends a list of whole numbers to list.
func (s *scanner) numbers(list []int64) []int64 {
	b := s.rest
	if len(b) < 3 || b[0] != '[' { // a Writer writes no empty list
		s.bad = true
		return list
	}
	i := 1
	for {
		negative := b[i] == '-'
		if negative {
			i++
		}
		begin, v := i, int64(0)
		for i < len(b) && b[i]-'0' <= 9 {
			v = v*10 + int64(b[i]-'0')
			i++
		}
		if n := i - begin; n == 0 || n > 18 || i == len(b) { // longer ones may not fit
			s.bad = true
			return list
		}
		if negative {
			v = -v
		}
		list = append(list, v)
		switch b[i] {
		case ',':
			if i++; i == len(b) {
				s.bad = true
				return list
			}
		case ']':
			s.rest = b[i+1:]
			return list
		default:
			s.bad = true
			return list
		}
	}
}

// reals appends a list of numbers to list.
func (s *scanner) reals(list []real) []real {
	end := bytes.IndexByte(s.rest, ']')
	if !s.skip("[") || end < 0 {
		s.bad = true
		return list
	}
	for part := range bytes.SplitSeq(s.rest[:end-1], []byte(",")) {
		var v real
		if err := v.UnmarshalJSON(part); err != nil {
			s.bad = true
		}
		list = append(list, v)
	}
	s.rest = s.rest[end:]
	return list
}
