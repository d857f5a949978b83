// Package relay hands what one process watches to dashboards on other machines, so that
// fifty people who look cost the server what one does. A Hub is the end of the exporter, a
// Source that of a dashboard.
//
// # The stream
//
// GET /v1/frames of an exporter answers with a recording that does not end: lines of JSON
// in the format of package record, uncompressed. The first batch tells where everything
// stands, the latest reading of every key without its arrivals; each batch after it is what
// the exporter's source reported at one refresh. In the middle of the stream another first
// line and frame may come, when another client has joined; nothing after a frame refers to
// what is before it. A client that does not read is let go when maxQueued bytes wait for it.
//
// # What a Source believes
//
// An exporter is another program, and what it says is untrusted: a line, a batch and the logs
// are bounded as those of a recording are, and beside them the keys and their names, the
// bytes between two batches and the batches a second. Nothing is ever fired through it.
//
// Several exporters that share the keys of one server by --shard are put together: a key
// belongs to the exporter that told of it last. What is of the whole server is taken from the
// first exporter that answers. One that is away is named as a node of a cluster is, and its
// keys stay as they were last seen.
package relay

// Path is where an exporter answers with the stream.
const Path = "/v1/frames"
