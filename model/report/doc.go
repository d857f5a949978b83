// Package report prints what is known about keys for programs and for people who
// have no screen: the JSON of snapshot and peek, which other programs rely on,
// and the same facts as text in columns.
//
// In the JSON a number that is not known is null, never 0; times are whole
// milliseconds, rounded up so that waiting that long is enough. In the text it is a
// dash. Whatever bytes a key's name holds, the JSON is valid, and neither form carries
// a byte that a terminal would obey.
package report
