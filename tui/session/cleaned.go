package session

// cleaned keeps the names of keys as the terminal may show them: every picture has those of all its
// rows, and to clean a long one takes tens of microseconds. The zero value is ready.
type cleaned struct {
	names map[string]string
	bytes int // of keys and names
}

// Bounds of cleaned: names that are shorter than longName are cleaned in less than it takes to look
// them up; of more than mostCleaned bytes all are forgotten and cleaned again as they are shown.
const (
	longName    = 48
	mostCleaned = 4 << 20
)

// of returns a key's name, cleaned by clean where it is not known.
func (c *cleaned) of(key string, clean func(string) string) string {
	if len(key) < longName {
		return clean(key)
	}
	if name, known := c.names[key]; known {
		return name
	}
	name := clean(key)
	if c.bytes += len(key) + len(name); c.names == nil || c.bytes > mostCleaned {
		c.names, c.bytes = map[string]string{}, len(key)+len(name)
	}
	c.names[key] = name
	return name
}
