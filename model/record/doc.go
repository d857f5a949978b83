// Package record keeps what a source reported in a file, and reads it back: batch by
// batch, in the order and with the instants in which it was seen.
//
// # The file
//
// A recording is lines of JSON, each an object with one field, in UTF-8; or the same,
// compressed with gzip, which Reader tells by the content. Instants are microseconds
// since the epoch on the server's clock, lengths of time are microseconds, and a string
// that is not valid UTF-8 is an object {"b64":"…"} with its bytes in base64. A field that
// is missing was zero, unknown or, where so said below, as before.
//
//	{"recording":{"version":2,"by":"ratescope 1.2","at":…,"server":{…},"watch":["rl:*"],"rules":["rl:* 100/1m0s"]}}
//	    the first line; at is the instant at which the recording begins
//	{"anew":N}
//	    a frame: nothing after it refers to a line before it. N counts frames from 0. In a
//	    compressed file a frame begins a gzip member of its own, so that one can begin to
//	    read there
//	{"r":{"id":3,"key":{…},"at":…,"log":[…],…}}
//	    a reading; key describes the key and its limit, and is missing when it is as in the
//	    reading of that id before. A log is what it was in that reading, less the first
//	    "drop" entries and kept for "keep" of them, followed by pairs: microseconds since
//	    the entry before (since at, negative, for the first of all), and the count
//	{"p":{"ids":[3,1,4],"times":[…],"keys":[{"id":3,"key":{…}}],"cols":{"current":[0,2]},"log":[…]}}
//	    a pack: many readings, field by field. Each column has, of one field, how the values
//	    differ from what the reading before of the key leads to expect, as pairs: how many
//	    readings are passed over, and the difference; see row.expected, row.ttl and
//	    row.arrivals. ids are differences, as are times; new entries of logs are as in "r",
//	    with their counts apart. Of version 2, as is
//	{"held":{"at":…,…}}
//	    closes the packs with "held" at the beginning of every frame but the first: the latest
//	    reading of every key again, with no arrivals, for who begins to read there
//	{"b":{"at":…,"local":…,"link":1,…}}
//	    closes a batch: the readings since the batch before are its readings. server and
//	    sweep are missing when they are as before; fired has the requests that were fired.
//	    The figures of hot keys are rounded to three digits
//	{"end":{"batches":N}}
//	    the recording was finished; a file that ends without it was cut off
//
// Version 1 had readings on lines of their own only. It is read as ever; a program that knows
// version 1 alone says that it cannot read version 2.
//
// An hour of 1,000 keys with 500 requests a second takes 19 MB compressed, and where everything
// stood at any moment of it is read in tens of milliseconds: see BenchmarkHour. Readings on lines of
// their own would take 3.5 times as much with gzip, and 2.9 to 3.7 times with zstd at any of its levels.
//
// A batch without its closing line is not one, so a file that was cut off anywhere is
// whole up to the batch before. A line in the middle that cannot be read costs what was seen
// from there to the next frame. A Writer flushes at every batch, or when it compresses
// once a second. No line is longer than MaxLine.
//
// Nothing here reads a clock or starts a goroutine. What is read is held to what a
// source may say (see model.Batch) as far as memory and the range of every named value go;
// a file is hostile input.
package record
