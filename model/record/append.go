package record

import (
	"encoding/json"
	"strconv"
)

// append writes the line of a reading behind b, as encoding/json would in a tenth of the
// time: there are thousands of them a second. The error is of what has no JSON.
func (r *reading) append(b []byte) ([]byte, error) {
	b = append(b, `{"r":{"id":`...)
	b = strconv.AppendInt(b, int64(r.ID), 10)
	for _, part := range [...]struct {
		name  string
		value any
		set   bool
	}{{`,"key":`, r.Key, r.Key != nil}, {`,"level":`, r.Level, r.Level != 0}} {
		if !part.set {
			continue
		}
		text, err := json.Marshal(part.value)
		if err != nil {
			return b, err
		}
		b = append(append(b, part.name...), text...)
	}
	b = append(b, `,"at":`...)
	b = strconv.AppendInt(b, int64(r.At), 10)
	for _, field := range [...]struct {
		name  string
		value int64
	}{
		{`,"since":`, int64(r.Since)}, {`,"flags":`, int64(r.Flags)}, {`,"start":`, int64(r.Start)}, {`,"previous":`, r.Previous}, {`,"current":`, r.Current},
		{`,"before":`, int64(r.Before)}, {`,"tat":`, int64(r.TAT)}, {`,"filled":`, int64(r.Filled)}, {`,"part":`, r.Part}, {`,"parts":`, r.Parts},
		{`,"blocked":`, int64(r.Blocked)}, {`,"ends":`, int64(r.Ends)}, {`,"drop":`, int64(r.Drop)}, {`,"keep":`, int64(r.Keep)}, {`,"ttl":`, r.TTL},
	} {
		if field.value != 0 {
			b = strconv.AppendInt(append(b, field.name...), field.value, 10)
		}
	}
	for _, field := range [...]struct {
		name string
		list []int64
	}{{`,"log":`, r.Log}, {`,"arrivals":`, r.Arrivals}, {`,"trace":`, r.Trace}} {
		if len(field.list) == 0 {
			continue
		}
		b = append(b, field.name...)
		separator := byte('[')
		for _, v := range field.list {
			b = strconv.AppendInt(append(b, separator), v, 10)
			separator = ','
		}
		b = append(b, ']')
	}
	if r.Denied != nil {
		b = strconv.AppendInt(append(b, `,"denied":`...), *r.Denied, 10)
	}
	return append(b, '}', '}', '\n'), nil
}
