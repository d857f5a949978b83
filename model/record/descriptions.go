package record

import (
	"bytes"
	"encoding/json"

	"ratescope/model"
)

// descriptions are descriptions of keys as lines have them, and what they say: every frame describes
// every key, mostly as the frame before did, and to take the text apart is most of the work where a
// reader begins. A nil map keeps nothing.
type descriptions map[string]*model.Reading

// Bounds of what is kept.
const (
	maxDescriptions = 2 * maxIDs
	maxDescription  = 2 << 10 // bytes of one
)

// read takes the text of a description apart, or returns what it said before. The result must not
// be written to.
func (d descriptions) read(text []byte) (*model.Reading, bool) {
	if r := d[string(text)]; r != nil {
		return r, true
	}
	var k key
	r := &model.Reading{}
	if json.Unmarshal(text, &k) != nil || k.into(r) != nil {
		return nil, false // unpack says what is wrong
	}
	if d != nil && len(d) < maxDescriptions && len(text) <= maxDescription {
		d[string(text)] = r
	}
	return r, true
}

// described appends a list of named keys to list.
func (s *scanner) described(list []named, known descriptions) []named {
	s.bad = s.bad || !s.skip("[")
	for !s.bad {
		s.bad = !s.skip(`{"id":`)
		n := named{ID: int(s.number())}
		s.bad = s.bad || !s.skip(`,"key":`)
		text := s.object()
		s.bad = s.bad || !s.skip("}")
		if s.bad {
			return list
		}
		reading, ok := known.read(text)
		if !ok {
			s.bad = true
			return list
		}
		n.reading = reading
		list = append(list, n)
		if !s.skip(",") {
			s.bad = !s.skip("]")
			return list
		}
	}
	return list
}

// number takes a whole number that is not negative.
func (s *scanner) number() (v int64) {
	i := 0
	for ; i < len(s.rest) && i < 18 && s.rest[i]-'0' <= 9; i++ {
		v = v*10 + int64(s.rest[i]-'0')
	}
	s.bad = s.bad || i == 0
	s.rest = s.rest[i:]
	return v
}

// object takes an object as it stands. Whether it is one inside, its reader finds out.
func (s *scanner) object() []byte {
	if !bytes.HasPrefix(s.rest, []byte("{")) {
		s.bad = true
		return nil
	}
	depth := 0
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			for i++; i < len(s.rest) && s.rest[i] != '"'; i++ {
				if s.rest[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				text := s.rest[:i+1]
				s.rest = s.rest[i+1:]
				return text
			}
		}
	}
	s.bad = true
	return nil
}
