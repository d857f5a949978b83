package model

import "time"

// Health is one look at the server behind the keys: what it says about itself, with rates
// over the time since the look before. Rates are 0 at the first look, which Over 0 says.
type Health struct {
	At   time.Time     // this machine's clock
	Over time.Duration // the time that the rates cover; 0 at the first look
	Node string        // address, where there are several nodes

	Uptime    time.Duration
	Memory    Memory
	Traffic   Traffic
	CPU       CPU
	Clients   Clients
	Peers     Peers
	Disk      Disk
	Scripts   []Command // EVALSHA, EVAL, FCALL and their kin, the dearest first
	Commands  []Command // the commands that take most of the server's time, the dearest first
	Errors    []Errors  // by prefix (NOSCRIPT, OOM, READONLY, …), the most frequent first
	Slow      []Slow    // the newest first; nil when it may not be read
	Latencies []Spike   // events of LATENCY LATEST
	Missing   []string  // what this user may not see, one sentence each, with the remedy
}

// Memory is how much room the server has.
type Memory struct {
	Used, Peak, RSS int64 // bytes
	Limit           int64 // maxmemory; 0 none
	Policy          string
	Fragmentation   float64
	Evicted         int64   // keys, since the server started
	EvictedRate     float64 // a second
	ExpiredRate     float64
	ScriptCache     int64 // scripts in the cache
	ScriptMemory    int64 // bytes
}

// Traffic is what goes through the server.
type Traffic struct {
	Ops                 float64 // commands a second
	In, Out             float64 // bytes a second
	HitRate             float64 // of key lookups, 0..1; meaningful when Lookups > 0
	Lookups             float64 // a second
	Rejected            int64   // connections refused for maxclients, since the server started
	Keys, KeysWithLimit int64   // in all databases; with an expiry
}

// CPU is the processor time of the server, in cores (1 is one core fully used).
type CPU struct{ User, System, Main float64 }

// Clients are the connections.
type Clients struct{ Connected, Blocked, Most int64 }

// Peers is the replication.
type Peers struct {
	Role     string // "master" or "replica"
	Replicas int64
	LinkUp   bool  // a replica's link to its master
	Lag      int64 // bytes behind the master; -1 unknown
	LastIO   time.Duration
}

// Disk is the persistence.
type Disk struct {
	Loading, Saving, Rewriting bool
	LastSaveOK, LastRewriteOK  bool
	Unsaved                    int64 // changes since the last save
}

// Command is the work of one command.
type Command struct {
	Name          string
	Rate          float64 // calls a second
	PerCall       time.Duration
	Share         float64 // of the server's time, 0..1
	Failed        float64 // a second
	P50, P99, Max time.Duration
}

// Errors counts the error replies of one kind.
type Errors struct {
	Kind  string
	Count int64   // since the server started
	Rate  float64 // a second
}

// Slow is an entry of the slow log. Command is raw and may hold secrets and hostile bytes.
type Slow struct {
	ID      int64
	At      time.Time
	Took    time.Duration
	Command []string
	Client  string
}

// Spike is an event of the latency monitor.
type Spike struct {
	Event       string
	At          time.Time
	Latest, Max time.Duration
}
